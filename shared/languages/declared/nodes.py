"""Answers what a syntax tree's nodes do not answer themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from shared.languages.declared.model import MAX_BYTES, Fault
from shared.languages.syntax_tree import Grammar, parse

if TYPE_CHECKING:
    from tree_sitter import Node

_WHOLE: Final = ("lifetime", "string_literal", "interpreted_string_literal")
_MAX_EXCERPT: Final = 120
TOO_LONG: Final = Fault(f"it is over {MAX_BYTES} bytes")
UNREADABLE: Final = Fault("it cannot be read")


def read_root(grammar: Grammar, text: str) -> Node | None:
    """Return the root of the syntax tree of a text of bounded size; `None` where there is none."""
    return parse(grammar, text) if len(text) <= 3 * MAX_BYTES else None


class Offsets:
    """Translate the bytes of a UTF-8 text to its characters."""

    def __init__(self, text: str) -> None:
        code = b"" if text.isascii() else text.encode("utf-8", "replace")
        self._inner = [at for at, byte in enumerate(code) if byte & 0xC0 == 0x80]

    def character(self, byte: int) -> int:
        """Return the index of the character at a byte."""
        return byte - bisect_left(self._inner, byte)


def walk(root: Node, *, into: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text; below only where `into` is true."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if into(node):
            pending.extend(reversed(node.children))


def first_fault(root: Node, text: str) -> Fault | None:
    """Return the place of the first fault of syntax; `None` where there is none."""
    if not root.has_error:
        return None
    for node in walk(root, into=lambda each: each.has_error):
        if node.is_missing:
            return fault_at(node, text, f"{_shown(node.type)} is missing")
        if node.is_error:
            return fault_at(node, text, "there is a fault of syntax")
    return Fault("there is a fault of syntax")


def fault_at(node: Node, text: str, message: str) -> Fault:
    """Return a fault at the line where a node begins."""
    line = node.start_point[0] + 1
    lines = text.split("\n")
    excerpt = lines[line - 1].strip()[:_MAX_EXCERPT] if line <= len(lines) else ""
    return Fault(message, line, excerpt)


def tokens_of(node: Node | None) -> str:
    """Return the words and signs of a node with a blank between them, without its comments."""
    if node is None:
        return ""
    nodes = walk(node, into=lambda each: each.type not in _WHOLE and "comment" not in each.type)
    leaves = (
        each
        for each in nodes
        if (not each.children or each.type in _WHOLE) and "comment" not in each.type
    )
    words = ((each.text or b"").decode("utf-8", "replace").strip() for each in leaves)
    return " ".join(word for word in words if word)


def _shown(kind: str) -> str:
    return f"`{kind}`" if not kind.isidentifier() else kind.replace("_", " ")
