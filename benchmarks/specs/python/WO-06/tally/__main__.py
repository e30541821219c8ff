"""The command line: `python -m tally COMMAND FILE`."""

from __future__ import annotations

import sys

from tally.journal import Journal, parse_journal
from tally.report import balance_lines, settle_lines, summary_lines

USAGE = "usage: python -m tally balance|settle|summary|check FILE"


def check_lines(journal: Journal) -> list[str]:
    return ["ok"]


COMMANDS = {
    "balance": balance_lines,
    "settle": settle_lines,
    "summary": summary_lines,
    "check": check_lines,
}


def main(arguments: list[str]) -> int:
    """Run a command and return the exit code."""
    if len(arguments) != 2 or arguments[0] not in COMMANDS:
        print(USAGE, file=sys.stderr)
        return 2
    command, path = arguments
    try:
        journal = parse_journal(_read(path))
    except (OSError, ValueError):
        print(f"cannot read {path}", file=sys.stderr)
        return 2
    if journal.errors:
        print("\n".join(journal.errors), file=sys.stderr)
        return 1
    print("\n".join(COMMANDS[command](journal)))
    return 0


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.buffer.read().decode("utf-8")
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
