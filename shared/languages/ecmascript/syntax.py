"""Reads JavaScript and TypeScript as syntax trees, and says where a text does not parse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.files import is_typed
from shared.languages.syntax_tree import parse

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_BYTES: Final = 400_000  # of one text; a larger one is generated, and stays unread
_MAX_SHOWN: Final = 40  # characters of the code at a fault


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """Say where a text stops being code; `line` and `column` count from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


def tree_of(path: str, text: str) -> Node | None:
    """Return the root of the syntax tree of a file; `None` where it cannot be read at all.

    The suffix of `path` chooses between JavaScript, TypeScript, and TypeScript with JSX.
    """
    if len(text) > MAX_BYTES:
        return None
    return parse(_grammar(path), text)


def _grammar(path: str) -> Callable[[], object]:
    if not is_typed(path):
        import tree_sitter_javascript

        return tree_sitter_javascript.language
    import tree_sitter_typescript

    if path.endswith(".tsx"):
        return tree_sitter_typescript.language_tsx
    return tree_sitter_typescript.language_typescript


def find_fault(root: Node) -> SyntaxFault | None:
    """Return the first place where the text does not parse; `None` where all of it does."""
    node = root
    if not node.has_error:
        return None
    while not (node.is_error or node.is_missing):
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None:
            break
        node = inner
    line, column = node.start_point.row + 1, node.start_point.column + 1
    if node.is_missing:
        return SyntaxFault(line, column, f"{node.type!r} is missing")
    shown = _one_line(node.text or b"")
    return SyntaxFault(line, column, f"{shown!r} is not expected here" if shown else "unfinished")


def _one_line(code: bytes) -> str:
    text = " ".join(code[: 4 * _MAX_SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 4]} ..."


def walk(root: Node) -> Iterator[Node]:
    """Yield all nodes below `root`, and `root` itself, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def string_value(node: Node | None) -> str | None:
    """Return what a string literal says; `None` for any other expression.

    A template counts where nothing is inserted into it. Escapes are left as they are written.
    """
    if node is None or node.type not in {"string", "template_string"} or node.text is None:
        return None
    if any(each.type == "template_substitution" for each in node.children):
        return None
    return node.text.decode("utf-8", "replace")[1:-1]
