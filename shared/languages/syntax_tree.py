"""Reads source files as syntax trees, and takes declarations out of them as lines of text.

tree-sitter reads the files. It reads whatever it is given, so a file with faults still shows the
declarations that are whole. Nothing in a file is run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_LINE: Final = 240  # characters of a declaration; the rest of a longer one is cut off
MAX_VALUE: Final = 40  # characters of a constant's value; a longer one is shown as `...`
INDENT: Final = "    "
# 200 KB of code take 0.2 seconds. Text that is not code takes up to fifty times as long, because
# the reader looks for a way to go on at each word. So only such text is ever given up.
_SECONDS_A_BYTE: Final = 5e-6
_LEAST_SECONDS: Final = 0.5
# Each chunk is copied, also where only the text of a short node is asked for.
_CHUNK: Final = 2_048  # bytes

Grammar = Callable[[], object]


def parse(grammar: Grammar, text: str) -> Node | None:
    """Return the root of the syntax tree of `text`; `None` where it cannot be read.

    `grammar` is the function by which a grammar's package gives its language. Reading is given up
    after five times what code of this size takes, in processor time.
    """
    from tree_sitter import Parser

    end = time.thread_time() + seconds_for(text)
    try:
        code = text.encode()
        tree = Parser(_language(grammar)).parse(
            lambda start, _: code[start : start + _CHUNK],
            progress_callback=lambda _, __: time.thread_time() > end,
        )
    except ValueError:  # a lone surrogate, or given up
        return None
    return tree.root_node


def seconds_for(text: str) -> float:
    """Return the processor time after which reading a text is given up: a second for 200 KB."""
    return max(_LEAST_SECONDS, _SECONDS_A_BYTE * len(text))


@cache
def _language(grammar: Grammar) -> Language:
    from tree_sitter import Language

    return Language(grammar())


def lines_or_none(root: Node, lines: Iterable[str]) -> tuple[str, ...] | None:
    """Return the lines, and `None` where there are none because the file could not be read."""
    found = tuple(lines)
    return None if not found and root.has_error else found


def text_of(node: Node | None) -> str:
    """Return the text of a node on one line, whole; the empty string for no node."""
    return _one_line(node.text) if node is not None else ""


def shown(node: Node) -> str:
    """Return the text of a node on one line, cut to `MAX_LINE` characters."""
    return cut(text_of(node))


def head_of(node: Node, body: Node | None) -> str:
    """Return the text of a node on one line, up to its `body` where it has one, cut likewise."""
    if body is None or node.text is None:
        return shown(node)
    return cut(_one_line(node.text[: body.start_byte - node.start_byte]))


def value_of(node: Node | None) -> str:
    """Return a short value as it is written, and `...` for a longer one or for none."""
    text = text_of(node)
    return text if 0 < len(text) <= MAX_VALUE else "..."


def block(head: str, body: Iterable[str], *, close: str = "}") -> Iterator[str]:
    """Yield `head {`, the lines of the body indented, and `}`; one line where there is no body."""
    lines = [f"{INDENT}{each}" for each in body]
    if not lines:
        yield f"{head} {{{close}"
        return
    yield f"{head} {{"
    yield from lines
    yield close


def cut(line: str) -> str:
    """Return the line, cut to `MAX_LINE` characters."""
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 4]} ..."


def _one_line(code: bytes | None) -> str:
    # A cut may fall into a character only where the text was not UTF-8 to begin with.
    text = " ".join((code or b"").decode("utf-8", "replace").split())
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
