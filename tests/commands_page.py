"""Makes the table of exit codes in `docs/commands.md`: `python -m tests.commands_page`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from shared.errors import EXIT_CODE_MEANINGS

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
_TABLE = re.compile(r"\| code \| name \| when \|\n(?:\|.*\n)+")


def render_page(text: str) -> str:
    """Return the page with its table of exit codes as the program has them."""
    return _TABLE.sub(lambda _: _table(), text)


def _table() -> str:
    rows = (
        f"| {code.value} | {code.name} | {when} |\n" for code, when in EXIT_CODE_MEANINGS.items()
    )
    return "| code | name | when |\n|---|---|---|\n" + "".join(rows)


def main() -> int:
    """Write the page."""
    PAGE.write_text(render_page(PAGE.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
