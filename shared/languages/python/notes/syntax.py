"""Names the line of a file that does not parse."""

from __future__ import annotations

from typing import Final

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.fault_words import file_does_not_parse
from shared.languages.python.code import parse_code

_MAX_SHOWN: Final = 120


def note_syntax(path: str, source: str) -> str:
    """Return a sentence that quotes the line that does not parse; empty where all does.

    It does not repeat the message of the parser, which differs between versions of Python.
    """
    problem = parse_code(source)
    if not isinstance(problem, CodeProblem):
        return ""
    lines = source.splitlines()
    if not 0 < problem.line <= len(lines):
        return file_does_not_parse(path)
    shown = lines[problem.line - 1].strip()[:_MAX_SHOWN]
    return file_does_not_parse(path, problem.line, shown)
