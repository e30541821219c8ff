"""Finds the tests of a Go file, and says which of them a run takes and whether they can fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.nodes import read_root, walk
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST: Final = re.compile(r"(?:Test|Fuzz|Example)(?![a-z])\w*")
_FAILS: Final = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_SKIPS: Final = frozenset({"Skip", "Skipf", "SkipNow"})
_REPEATS: Final = re.compile(r"[*+{]")
_OUTPUT: Final = re.compile(r"//\s*(?:unordered )?output:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TestFunction:
    """Represent one test. It is `skipped` where its first statement skips it."""

    __test__ = False

    name: str
    skipped: bool
    can_fail: bool


@lru_cache(maxsize=64)
def test_functions(text: str) -> tuple[TestFunction, ...] | None:
    """Return the tests of a file in their order; `None` where the file cannot be read."""
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, text)
    if root is None or root.has_error:
        return None
    return tuple(_functions(root))


def taken(tests: Iterable[TestFunction], run: str | None, skip: str | None) -> list[TestFunction]:
    """Return the tests that `-run` and `-skip` leave; a pattern that is none takes them all."""
    wanted, unwanted = _pattern(run), _pattern(skip)
    return [
        each
        for each in tests
        if (wanted is None or wanted.search(each.name))
        and (unwanted is None or not unwanted.search(each.name))
    ]


def _pattern(written: str | None) -> re.Pattern[str] | None:
    """Return the part of a pattern that is for tests themselves, before a slash."""
    if written is None or "(" in written or len(_REPEATS.findall(written)) > 1:
        return None  # a search for repeated repetitions may take for ever
    try:
        return re.compile(written.split("/")[0])
    except (re.error, RecursionError, OverflowError):
        return None


def _functions(root: Node) -> Iterator[TestFunction]:
    for node in root.named_children:
        if node.type != "function_declaration":
            continue
        name, body = text_of(node.child_by_field_name("name")), node.child_by_field_name("body")
        if name == "TestMain" or not _TEST.fullmatch(name) or body is None:
            continue
        statements = [each for each in walk(body) if each.type.endswith("_statement")]
        first = next((each for each in statements if "block" not in each.type), None)
        skipped = first is not None and first.type == "expression_statement" and _calls(first)
        parameter = _parameter_of(node)
        can_fail = any(_may_fail(each, parameter) for each in walk(body))
        if name.startswith("Example"):
            can_fail = bool(_OUTPUT.search(text_of(body)))
        yield TestFunction(name, bool(skipped), can_fail)


def _calls(statement: Node) -> bool:
    function = statement.named_children[0].child_by_field_name("function")
    return text_of(function).rpartition(".")[2] in _SKIPS


def _parameter_of(node: Node) -> str:
    parameters = node.child_by_field_name("parameters")
    first = parameters.named_children[0] if parameters and parameters.named_children else None
    return text_of(first.child_by_field_name("name")) if first is not None else ""


def _may_fail(node: Node, parameter: str) -> bool:
    """Return whether a call fails a test, or passes the test on to what may fail it."""
    if node.type != "call_expression":
        return False
    function = text_of(node.child_by_field_name("function"))
    arguments = node.child_by_field_name("arguments")
    passed = [text_of(each) for each in arguments.named_children] if arguments else []
    is_own = function in (f"{parameter}.Run", f"{parameter}.Log", f"{parameter}.Logf")
    return (
        function == "panic"
        or function.rpartition(".")[2] in _FAILS
        or (parameter in passed and not is_own)
    )
