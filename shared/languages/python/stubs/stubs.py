"""Reads the text of an interface: PEP 484 stub code as a model writes it into a work order."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.python.code import parse_code

# A stub holds signatures. Two of the 700 stubs in typeshed are longer than this.
MAX_STUB_BYTES: Final = 100 * 1024
# The frames that a recursive visitor needs for this depth stay far below Python's limit of 1000.
MAX_DEPTH: Final = 60

_FENCE = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True, slots=True)
class Stub:
    """Hold the code and the syntax tree of a stub that parses.

    The lines of `code` have the same numbers as in the text that it came from.
    """

    code: str
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class StubProblem:
    """Hold the reason why a text is not a stub.

    `line` counts from 1 in that text, and is 0 where the whole text is meant. `excerpt` is the text
    of that line, without its indentation.
    """

    message: str
    line: int = 0
    excerpt: str = ""


def parse_stub(text: str) -> Stub | StubProblem:
    """Return the stub in `text`, or why there is none. Never raises.

    A code fence around the stub is left out.
    """
    code = _without_fence(text)
    if len(code) * 4 > MAX_STUB_BYTES and len(code.encode(errors="replace")) > MAX_STUB_BYTES:
        return StubProblem(f"it is over {MAX_STUB_BYTES} bytes")
    tree = parse_code(code)
    if isinstance(tree, CodeProblem):
        return _located(tree, code)
    if depth_exceeds(tree, MAX_DEPTH):
        return StubProblem("it is nested too deep")
    return Stub(code, tree)


def _without_fence(text: str) -> str:
    """Return the text in a code fence, if there is one, with each line at its old number."""
    body = text.strip()
    fence = _FENCE.match(body)
    opening, newline, rest = body.partition("\n")
    if fence is None or not newline or not rest.endswith(fence[0]):
        return text
    above = text[: text.index(opening)].count("\n") + 1
    return "\n" * above + rest.rstrip(fence[0][0])


def _located(problem: CodeProblem, code: str) -> StubProblem:
    lines = code.splitlines()
    excerpt = lines[problem.line - 1].strip() if 0 < problem.line <= len(lines) else ""
    return StubProblem(problem.message, problem.line, excerpt)


def depth_exceeds(tree: ast.AST, limit: int) -> bool:
    """Return whether anything in `tree` is nested deeper than `limit` nodes."""
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True
