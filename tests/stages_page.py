"""Makes the tables of `docs/stages.md` from their source: `python -m tests.stages_page`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from factory.orders.stages import ATTEMPT_STAGE_TEXTS, STAGE_TEXTS

PAGE = Path(__file__).parents[1] / "docs" / "stages.md"
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def render_page(text: str) -> str:
    """Return the page with its two tables as the texts have them."""
    tables = iter((_attempt_table(), _failure_table()))
    return _TABLE.sub(lambda _: next(tables), text)


def _attempt_table() -> str:
    head = "| stage | what happens |\n|---|---|\n"
    return head + "".join(f"| `{each}` | {text} |\n" for each, text in ATTEMPT_STAGE_TEXTS.items())


def _failure_table() -> str:
    head = (
        "| stage | what happened | what follows | what you can do | another attempt |\n"
        "|---|---|---|---|---|\n"
    )
    return head + "".join(
        f"| `{each.stage}` | {each.happened} | {each.consequence} | {each.remedy} | "
        f"{'yes' if each.stage.retryable else 'no'} |\n"
        for each in STAGE_TEXTS
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(render_page(PAGE.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
