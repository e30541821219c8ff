"""Finds the tests of a Rust file, and says which of them a run takes and whether they can fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.nodes import read_root, tokens_of, walk
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST: Final = re.compile(r"#\[\s*(?:\w+\s*::\s*)*test\b[^=]*\]")
_IGNORE: Final = re.compile(r"#\[\s*ignore\b")
_PANICS: Final = re.compile(r"#\[\s*should_panic\b")
_FAILS: Final = re.compile(r"(?:debug_)?assert\w*|panic|unreachable|todo|unimplemented|prop_assert")
_UNWRAPS: Final = frozenset({"unwrap", "expect", "unwrap_err", "expect_err", "exit"})
_MAX_DEPTH: Final = 20  # of modules within each other
_QUIET: Final = frozenset({"println", "print", "eprintln", "eprint", "dbg", "format", "vec"})


@dataclass(frozen=True, slots=True)
class TestFunction:
    """Represent one test, with the modules around it in its name: `tests::scores`."""

    __test__ = False

    name: str
    ignored: bool
    can_fail: bool


@lru_cache(maxsize=64)
def test_functions(text: str) -> tuple[TestFunction, ...] | None:
    """Return the tests of a file in their order.

    They are not known, and the result is `None`, where the file cannot be read or macros may make
    tests.
    """
    import tree_sitter_rust

    root = read_root(tree_sitter_rust.language, text)
    if root is None or root.has_error:
        return None
    if any(_may_make_tests(each) for each in root.named_children):
        return None
    return tuple(_functions(root.named_children, "", _MAX_DEPTH))


def taken(
    tests: Iterable[TestFunction],
    filters: Sequence[str],
    *,
    exact: bool = False,
    only_ignored: bool = False,
    with_ignored: bool = False,
    skip: str = "",
) -> list[TestFunction]:
    """Return the tests that a run takes."""
    return [
        each
        for each in tests
        if (not filters or any(f == each.name if exact else f in each.name for f in filters))
        and not (skip and skip in each.name)
        and (each.ignored if only_ignored else with_ignored or not each.ignored)
    ]


def _may_make_tests(node: Node) -> bool:
    inner = node.named_children[0] if node.type == "expression_statement" else node
    return inner.type == "macro_invocation"


def _functions(nodes: Sequence[Node], around: str, depth: int) -> Iterator[TestFunction]:
    attributes: list[str] = []
    for node in nodes:
        if node.type == "attribute_item":
            attributes.append(text_of(node))
            continue
        if node.type.endswith("comment"):
            continue
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        if node.type == "mod_item" and body is not None and depth:
            yield from _functions(body.named_children, f"{around}{name}::", depth - 1)
        elif node.type == "function_item" and any(map(_TEST.match, attributes)):
            can_fail = any(map(_PANICS.match, attributes)) or _can_fail(node, body)
            yield TestFunction(f"{around}{name}", any(map(_IGNORE.match, attributes)), can_fail)
        attributes = []


def _can_fail(function: Node, body: Node | None) -> bool:
    if body is None:
        return False
    returns = "Result" in tokens_of(function.child_by_field_name("return_type"))
    for node in walk(body):
        if node.type == "macro_invocation":
            name = text_of(node.child_by_field_name("macro")).rpartition("::")[2]
            if _FAILS.fullmatch(name) or name not in _QUIET:
                return True
        elif node.type == "try_expression" and returns:
            return True
        elif node.type == "field_expression":
            if text_of(node.child_by_field_name("field")) in _UNWRAPS:
                return True
        elif node.type == "call_expression":
            # A function of the test file itself, such as `check(...)`, may assert something.
            called = text_of(node.child_by_field_name("function"))
            if re.search(r"(?:assert|check|verify|expect|exit)\w*$", called):
                return True
    return False
