"""Makes `docs/rules.md` and the README's table of codes: `python -m tests.rules_page`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from llmch.answers.codes import CODES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules.md"
README = ROOT / "README.md"
_TABLE = re.compile(r"\| code \| \|\n\|---\|---\|\n(?:\| [EW]\d+ \|.*\n)+")


def render_page() -> str:
    """Return the page with every rule: why, a bad and a good example, the remedy."""
    parts = [
        "# Rules",
        "Made from the catalogues by `python -m tests.rules_page`. An `E` refuses a plan, a `W` "
        "does not. Examples show a plan, or the fields of one order that matter.",
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


def render_readme(text: str) -> str:
    """Return the README with the table of codes as the catalogue has them."""
    rows = "".join(f"| {rule.code} | {rule.title} |\n" for rule in CODES.values())
    return _TABLE.sub(lambda _: f"| code | |\n|---|---|\n{rows}", text)


def main() -> int:
    """Write both files anew."""
    PAGE.write_text(render_page(), "utf-8")
    README.write_text(render_readme(README.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE}\n{README}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
