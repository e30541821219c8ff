"""Finds the tests in a test file, as the common test runners declare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.syntax import string_value
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SUITES: Final = frozenset({"describe", "suite", "context"})
_TESTS: Final = frozenset({"test", "it", "specify"})
_SKIPPED_NAMES: Final = frozenset({"xit", "xtest", "xdescribe", "xcontext", "xspecify"})
_FOCUSED_NAMES: Final = {"fit": "it", "fdescribe": "describe", "ftest": "test"}
_SKIPS: Final = frozenset({"skip", "todo"})
_CONDITIONS: Final = frozenset({"skipIf", "runIf", "each", "for"})
_CONTEXTS: Final = frozenset({"t", "ctx", "context", "this"})
_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function"}
)
_MAX_DEPTH: Final = 60  # of suites and functions within each other


@dataclass(frozen=True, slots=True)
class TestCase:
    """Represent one test. `title` holds those of the suites around it, separated by spaces.

    `title` is `None` where code makes it. `is_skipped` says that the test is never run.
    """

    title: str | None
    is_skipped: bool
    is_focused: bool
    body: Node | None


def cases_of(root: Node) -> tuple[TestCase, ...]:
    """Return the tests of a file in their order; those that a loop makes count as one."""
    return tuple(_below(root, "", is_skipped=False, is_focused=False, depth=_MAX_DEPTH))


def _below(
    node: Node, title: str | None, *, is_skipped: bool, is_focused: bool, depth: int
) -> Iterator[TestCase]:
    for call in _outer_calls(node):
        words = _words(call)
        if not words:
            continue
        name, *modifiers = words
        own = _title(call)
        whole = None if title is None or own is None else f"{title} {own}".strip()
        if {"each", "for"} & set(modifiers):
            whole = None
        body = _body(call)
        skipped = is_skipped or name in _SKIPPED_NAMES or bool(_SKIPS & set(modifiers))
        skipped = skipped or _is_switched_off(call)
        focused = is_focused or "only" in modifiers or name in _FOCUSED_NAMES
        if _plain(name) in _SUITES:
            if body is not None and depth:
                yield from _below(
                    body, whole, is_skipped=skipped, is_focused=focused, depth=depth - 1
                )
            continue
        skipped = skipped or body is None or _skips_itself(body)
        yield TestCase(whole, skipped, focused, body)


def _plain(name: str) -> str:
    if name in _SKIPPED_NAMES:
        return name[1:]
    return _FOCUSED_NAMES.get(name, name)


def _outer_calls(node: Node) -> Iterator[Node]:
    """Yield the calls that declare tests or suites, without those within each other."""
    waiting = list(reversed(node.children))
    while waiting:
        each = waiting.pop()
        if each.type == "call_expression" and _words(each):
            yield each
        else:
            waiting += reversed(each.children)


def _words(call: Node) -> list[str]:
    """Return `["test", "skip"]` of `test.skip(...)`; nothing of any other call."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "call_expression":  # `test.each(...)(...)`
        inner = function.child_by_field_name("function")
        parts = text_of(inner).split(".")
        return parts if len(parts) > 1 and _CONDITIONS & set(parts) and _is_test(parts[0]) else []
    if function is None or function.type not in {"identifier", "member_expression"}:
        return []
    parts = text_of(function).split(".")
    if len(parts) > 1 and parts[-1] in _CONDITIONS:
        return []
    return parts if _is_test(parts[0]) and all(map(_is_modifier, parts[1:])) else []


def _is_test(name: str) -> bool:
    return _plain(name) in _SUITES | _TESTS


def _is_modifier(word: str) -> bool:
    return word in {
        "skip",
        "only",
        "todo",
        "concurrent",
        "sequential",
        "failing",
        "fails",
        "serial",
    }


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return list(arguments.named_children) if arguments is not None else []


def _title(call: Node) -> str | None:
    given = _arguments(call)
    return string_value(given[0]) if given else None


def _body(call: Node) -> Node | None:
    given = [each for each in _arguments(call) if each.type != "comment"]
    functions = [each for each in given if each.type in _FUNCTIONS]
    if functions:
        return functions[-1]
    # A function that is named, or made by a call, may do anything.
    others = [each for each in given[1:] if each.type in {"identifier", "call_expression"}]
    return others[-1] if others else None


def _is_switched_off(call: Node) -> bool:
    """Say whether the options of `node:test` or vitest skip the test whatever happens."""
    for given in _arguments(call):
        for pair in given.named_children if given.type == "object" else ():
            key, value = (pair.child_by_field_name(field) for field in ("key", "value"))
            if text_of(key) in _SKIPS and value is not None:
                return value.type in {"true", "string"} or text_of(value) == "1"
    return False


def _skips_itself(body: Node) -> bool:
    """Say whether a test begins with `t.skip()` or `this.skip()`."""
    block = body.child_by_field_name("body")
    first = next((e for e in block.named_children if e.type != "comment"), None) if block else None
    if first is None or first.type not in {"expression_statement", "return_statement"}:
        return False
    call = first.named_children[0] if first.named_children else None
    called = text_of(call.child_by_field_name("function")) if call else ""
    owner, _, member = called.partition(".")
    return owner in _CONTEXTS and member in _SKIPS
