"""Makes `docs/rules.md` from the catalogues: `python -m tests.rules_page`."""

from __future__ import annotations

import sys
from pathlib import Path

from llmch.entry.answers import examples_of, rule_codes

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
    for rule in rule_codes().values():
        parts += [f"## {rule.code}: {rule.title}", rule.why]
        for language, each in examples_of(rule).items():
            where = f" in {language}" if language else ""
            parts += [
                f"Bad{where}:\n\n```json\n{each.bad.strip()}\n```",
                f"Good{where}:\n\n```json\n{each.good.strip()}\n```",
            ]
        parts.append(f"Remedy: {rule.remedy}")
    return "\n\n".join(parts) + "\n"


def _render_table() -> str:
    rows = (f"| {rule.code} | {rule.title} |" for rule in rule_codes().values())
    return "\n".join(("| code | |", "|---|---|", *rows))


def main() -> int:
    """Write the page."""
    PAGE.write_text(render_page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
