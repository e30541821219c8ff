"""Reads what code says around a place that the compiler complains about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import text_of, walk
from shared.languages.ecmascript.ecmascript_syntax import arguments_of, string_value, tree_of
from shared.languages.ecmascript.imports import Kind, imports_of, local_names, resolve
from shared.languages.planned_code import DOUBT, Verdict

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.ecmascript.compiler_view import View
    from shared.languages.ecmascript.contract_history import History, Moment
    from shared.languages.ecmascript.typescript_compiler import TscComplaint


def pattern_names(pattern: Node | None) -> Iterator[str]:
    """Yield the names that a pattern binds: `a`, or those of `{ a, b: c }` and `[d]`."""
    if pattern is None:
        return
    if pattern.type == "identifier":
        yield text_of(pattern)
    elif pattern.type in {"object_pattern", "array_pattern", "pair_pattern", "rest_pattern",
                          "assignment_pattern", "object_assignment_pattern"}:  # fmt: skip
        for each in pattern.named_children:
            if each.type == "shorthand_property_identifier_pattern":
                yield text_of(each)
            elif each.type != "property_identifier":
                yield from pattern_names(each)


_CALLS: Final = frozenset({"call_expression", "new_expression"})
_GUARDS: Final = frozenset({"throws", "rejects", "throwsAsync", "catch"})
_GUARDED_CHAIN = re.compile(r"\)\.(?:\w+\.)*(?:toThrow\w*|throws?|rejects|rejected\w*)\b")
_MOCKS = re.compile(r"\b(?:spyOn|mock|mocked|doMock|unstable_mockModule|sinon|stub|proxyquire)\b")
_WRAPS: Final = {
    "member_expression": "object",
    "subscript_expression": "object",
    "call_expression": "function",
    "new_expression": "constructor",
}
_BINDINGS: Final = {"variable_declarator": ("name", "value"), "for_in_statement": ("left", "right")}
_STORES: Final = {**_BINDINGS, "assignment_expression": ("left", "right")}
_LITERALS: Final = frozenset({"object", "array", "pair"})
_TRANSPARENT: Final = frozenset(
    {"parenthesized_expression", "await_expression", "non_null_expression"}
)
_CASTS: Final = frozenset({"as_expression", "satisfies_expression", "type_assertion"})
_MAX_ROUNDS: Final = 20  # of following values from name to name


class Question:
    """Hold the text of a command or a test file with what it says of its names."""

    def __init__(self, path: str, text: str, moment: Moment) -> None:
        self.path = path
        self.text = text
        self._moment = moment
        self.root = tree_of(path, text)

    def node_at(self, line: int, column: int) -> Node | None:
        """Return the smallest node at a place; both numbers count from 1, columns in UTF-16."""
        lines = self._lines
        if self.root is None or not 1 <= line <= len(lines):
            return None
        units = lines[line - 1].encode("utf-16-le")[: 2 * (column - 1)]
        offset = len(units.decode("utf-16-le", "replace").encode())
        point = (line - 1, offset)
        return self.root.named_descendant_for_point_range(point, (line - 1, offset + 1))

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").split("\n")

    @cached_property
    def _nodes(self) -> list[Node]:
        return list(walk(self.root)) if self.root is not None else []

    @cached_property
    def origins(self) -> Mapping[str, frozenset[str]]:
        """Return, by name, the files of the project that a name's value comes from."""
        found = dict(self._imported)
        pairs = list(self._bindings())
        for _ in range(_MAX_ROUNDS):
            changed = False
            for names, value in pairs:
                files = frozenset().union(*(found.get(each, frozenset()) for each in value))
                for name in names if files else ():
                    if not files <= found.get(name, frozenset()):
                        found[name] = found.get(name, frozenset()) | files
                        changed = True
            if not changed:
                break
        return found

    @cached_property
    def _imported(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for node in self._nodes:
            if node.type == "import_statement":
                file = self._file_of(node.child_by_field_name("source"))
                for name in local_names(node) if file else ():
                    found[name] = frozenset({file})
            elif node.type == "variable_declarator":
                file = self._loaded(node.child_by_field_name("value"))
                for name in pattern_names(node.child_by_field_name("name")) if file else ():
                    found[name] = frozenset({file})
        return found

    def _loaded(self, value: Node | None) -> str:
        """Return the file that `require("./a")` or `await import("./a")` loads; else ""."""
        while value is not None and value.type in {*_TRANSPARENT, "member_expression"}:
            value = value.named_children[0] if value.named_children else None
        if value is None or value.type != "call_expression":
            return ""
        if text_of(value.child_by_field_name("function")) not in {"require", "import"}:
            return ""
        arguments = value.child_by_field_name("arguments")
        return self._file_of(next(iter(arguments.named_children), None)) if arguments else ""

    def _file_of(self, source: Node | None) -> str:
        specifier = string_value(source)
        target = resolve(self._moment, self.path, specifier) if specifier else None
        return target.name if target is not None and target.kind is Kind.FILE else ""

    def _bindings(self) -> Iterator[tuple[list[str], frozenset[str]]]:
        """Yield the names of each declaration with the names that its value mentions."""
        for node in self._nodes:
            if node.type not in _STORES:
                continue
            target, value = (node.child_by_field_name(each) for each in _STORES[node.type])
            if value is not None and value.type not in {"arrow_function", "function_expression"}:
                names = {text_of(each) for each in walk(value) if each.type == "identifier"}
                yield list(pattern_names(target)), frozenset(names)

    @cached_property
    def reassigned(self) -> frozenset[str]:
        """Return the names that are assigned after their declaration, or declared twice."""
        seen: Counter[str] = Counter()
        for node in self._nodes:
            if node.type == "variable_declarator":
                if node.child_by_field_name("value") is not None:
                    seen.update(pattern_names(node.child_by_field_name("name")))
            elif node.type in {"assignment_expression", "augmented_assignment_expression"}:
                seen.update(pattern_names(node.child_by_field_name("left")))
        return frozenset(name for name, count in seen.items() if count > 1)

    @cached_property
    def set_members(self) -> frozenset[str]:
        """Return the names of members that the code itself assigns."""
        return frozenset(
            text_of(left.child_by_field_name("property"))
            for node in self._nodes
            if node.type == "assignment_expression"
            and (left := node.child_by_field_name("left")) is not None
            and left.type == "member_expression"
        )

    @property
    def uses_mocks(self) -> bool:
        """Return whether the code replaces functions of the project, as far as its words say."""
        return _MOCKS.search(self.text) is not None

    @cached_property
    def mocked(self) -> frozenset[str]:
        found = imports_of(self.root) if self.root is not None else ()
        mocked = [each for each in found if each.is_mocked]
        targets = [resolve(self._moment, self.path, each.specifier) for each in mocked]
        return frozenset(each.name for each in targets if each.kind is Kind.FILE)

    @cached_property
    def _values(self) -> Mapping[str, Node]:
        """Return the value of each name that is bound once."""
        found: dict[str, Node] = {}
        for node in self._nodes:
            if node.type in _BINDINGS:
                target, value = (node.child_by_field_name(each) for each in _BINDINGS[node.type])
                if value is not None:
                    names = (e for e in pattern_names(target) if e not in self.reassigned)
                    found.update(dict.fromkeys(names, value))
        return found

    def origin_of(self, node: Node | None) -> frozenset[str]:
        """Return the files that the value of an expression surely comes from; else nothing.

        A value that is cast, and one whose name is assigned twice, comes from nowhere certain.
        """
        for _ in range(_MAX_ROUNDS):
            name, files = self._origin_within(node)
            if files or not name or name in self.reassigned:
                return files
            if name in self._imported:
                return self._imported[name]
            node = self._values.get(name)
        return frozenset()

    def _origin_within(self, node: Node | None) -> tuple[str, frozenset[str]]:
        """Return the name that an expression begins with, or the files that it loads itself."""
        while node is not None:
            if node.type in _CASTS:
                return "", frozenset()
            if node.type in _TRANSPARENT:
                node = node.named_children[0] if node.named_children else None
            elif node.type in _WRAPS:
                loaded = self._loaded(node)
                if loaded:
                    return "", frozenset({loaded})
                node = node.child_by_field_name(_WRAPS[node.type])
            else:
                break
        is_name = node is not None and node.type == "identifier"
        return text_of(node) if is_name else "", frozenset()

    def mentions_project(self, node: Node) -> bool:
        """Return whether a value that comes from the project is used within a node."""
        return any(e.type == "identifier" and text_of(e) in self.origins for e in walk(node))

    def call_around(self, node: Node, count: int | None = None) -> Node | None:
        """Return the nearest call around a node, with `count` arguments where that is given."""
        each: Node | None = node
        while each is not None:
            if each.type in _CALLS and (count is None or len(arguments_of(each)) == count):
                return each
            each = each.parent
        return None

    def call_with_argument(self, node: Node) -> Node | None:
        """Return the call that a node is in an argument of, through literals only."""
        each: Node | None = node
        while each is not None and each.parent is not None:
            if each.parent.type == "arguments":
                return each.parent.parent
            if each.type in {"statement_block", "program"}:
                return None
            each = each.parent
        return None

    def call_with_literal(self, node: Node) -> Node | None:
        """Return the call that has, as an argument, the object or array that a node is part of."""
        each = node
        while each.parent is not None and (each.parent.type in _LITERALS or each is node):
            each = each.parent
        above = each.parent
        is_argument = each.type in _LITERALS and above is not None and above.type == "arguments"
        return above.parent if is_argument and above is not None else None

    def is_guarded(self, node: Node) -> bool:
        """Return whether the code expects a failure at a place."""
        inner, above = node, node.parent
        while above is not None:
            if above.type == "try_statement":
                body = above.child_by_field_name("body")
                handler = above.child_by_field_name("handler")
                if handler is not None and body is not None and body.id == inner.id:
                    return True
            if above.type == "call_expression":
                function = above.child_by_field_name("function")
                in_arguments = function is not None and function.id != inner.id
                called = text_of(function)
                if in_arguments and called.rpartition(".")[2] in _GUARDS:
                    return True
                if _is_chain_guarded(above, inner):
                    return True
            inner, above = above, above.parent
        return False


def _is_chain_guarded(call: Node, inner: Node) -> bool:
    """Say whether a call is `expect(...).toThrow()` or `load().catch(...)` around `inner`."""
    function = call.child_by_field_name("function")
    if function is None or function.id != inner.id:
        return False
    called = text_of(function)
    return bool(_GUARDED_CHAIN.search(called)) or called.endswith(").catch")


def callee_of(call: Node) -> Node | None:
    return call.child_by_field_name("function") or call.child_by_field_name("constructor")


# Complaints that may be right, and concern what a program does not need to keep.
_DOUBTFUL: Final = frozenset(
    {2306, 2339, 2341, 2345, 2353, 2365, 2367, 2445, 2511, 2540, 2559, 2561, 2673, 2674, 2739, 2740,
     2741, 2769, 2349, 2351, 2350, 2488, 2461, 2554, 2555, 2575, 2551, 2576, 2362, 2363}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a complaint with the part of the code that it is about, and what is known there."""

    complaint: TscComplaint
    node: Node
    question: Question
    view: View
    history: History
    position: int


def other_verdict(place: Place) -> Verdict | None:
    """Return a doubt where a complaint concerns what the project declares; else `None`."""
    is_own = place.question.mentions_project(_around(place.node))
    return DOUBT if place.complaint.code in _DOUBTFUL and is_own else None


def _around(node: Node) -> Node:
    """Return the expression around a node that says what is done with it."""
    for _ in range(3):
        if node.parent is None or node.parent.type.endswith(("_statement", "program", "_block")):
            break
        node = node.parent
    return node


def is_backed(place: Place, origins: frozenset[str]) -> bool:
    """Say whether all that is known of a value's type comes from contracts."""
    return origins <= place.view.contracts - place.view.open - place.question.mocked


def where_declared(place: Place, origins: frozenset[str], name: str = "") -> str:
    """Return the words that say where a value comes from; empty if it is unknown."""
    for file in sorted(origins):
        by = place.history.declared_by(file, name, place.position) if name else None
        if by is not None:
            return f"declared by {place.history.chain.source(by)} in {file}"
        return f"in {file}"
    return ""


def holder_of(node: Node) -> Node | None:
    """Return the expression whose member is read at a place, or which a pattern takes apart."""
    above = node.parent
    is_member = above is not None and above.type == "member_expression"
    if above is not None and is_member and node.type == "property_identifier":
        return above.child_by_field_name("object")
    each: Node | None = node
    while each is not None and each.type != "variable_declarator":
        each = each.parent
    return each.child_by_field_name("value") if each is not None else node
