"""Makes `docs/rules.md` from the catalogues: `python -m tests.rules_page`."""

from __future__ import annotations

import sys
from pathlib import Path

from llmch.answers.codes import CODES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules.md"


def render_page() -> str:
    """Return the page: a table of all codes, then for each why, examples and the remedy."""
    parts = [
        "# Rules",
        "Made from the catalogues by `python -m tests.rules_page`. An `E` refuses a plan, a `W` "
        "does not. `llmch explain CODE` prints what this page says of a code.",
        _render_table(),
        "The examples below show a plan, or the fields of one order that matter. Those of E310 to "
        "E316 show a reply to the plan in `follows`, with the ids of its orders that `landed`.",
    ]
    for rule in CODES.values():
        parts += [
            f"## {rule.code}: {rule.title}",
            rule.why,
            f"Bad:\n\n```json\n{rule.bad.strip()}\n```",
            f"Good:\n\n```json\n{rule.good.strip()}\n```",
            f"Remedy: {rule.remedy}",
        ]
    return "\n\n".join(parts) + "\n"


def _render_table() -> str:
    rows = (f"| {rule.code} | {rule.title} |" for rule in CODES.values())
    return "\n".join(("| code | |", "|---|---|", *rows))


def main() -> int:
    """Write the page."""
    PAGE.write_text(render_page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
