"""Reads facts off a command's code: what it imports, derives, sets, and expects to fail."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Final

from shared.languages.capabilities.checking import Diagnostic
from shared.languages.python.checker.mypy_messages import checkers_column
from shared.languages.python.node_names import last_part
from shared.languages.python.planned.judging.bound_names import (
    Imported,
    bound_names,
    imports,
    loads,
    value_bindings,
)
from shared.languages.python.planned.judging.spots import Spot, names_read
from shared.languages.python.stubs.declarations import target_names

# As context managers, these expect the code in them to raise or warn.
_EXPECTS: Final = frozenset(
    {"raises", "suppress", "assertRaises", "assertRaisesRegex", "warns", "assertWarns"}
)
# As marks of a test, these say that it may fail, or is not run.
_EXPECTED_TO_FAIL: Final = frozenset(
    {"xfail", "skip", "skipif", "skipIf", "skipUnless", "expectedFailure", *_EXPECTS}
)
_TYPE_QUESTIONS: Final = frozenset({"isinstance", "issubclass", "hasattr", "callable", "type"})
_BUILTINS: Final = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__loader__", "__package__",
    "__annotations__", "exit", "quit",
}  # fmt: skip
# Functions that make names, or attributes, in a way that the code does not show.
_DYNAMIC: Final = frozenset({"exec", "eval", "globals", "locals", "vars", "__import__"})
_LINE_END = re.compile(r"\r\n?|\n")
_MOCKS: Final = ("mock", "Mock", "monkeypatch", "patch")


class CodeFacts:
    """Answer questions about code that compiles, from its syntax tree."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._lines = _LINE_END.split(source)
        self._tree = tree
        self._parents: dict[ast.AST, ast.AST] = {}
        self._nodes: list[ast.AST] = []
        pending: list[ast.AST] = [tree]
        while pending:
            node = pending.pop()
            self._nodes.append(node)
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
                pending.append(child)
        self.imported = dict(imports(self._nodes))

    @property
    def has_star_import(self) -> bool:
        return any(
            isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in self._nodes
        )

    @property
    def uses_mocks(self) -> bool:
        """Say whether the code may replace declared things by mocks."""
        return any(
            isinstance(node, ast.Name | ast.Attribute) and last_part(node) in _MOCKS
            for node in self._nodes
        ) or any(each.module.endswith("mock") for each in self.imported.values())

    @property
    def expects_failure(self) -> bool:
        """Say whether the code expects any part of itself to raise."""
        return any(
            (isinstance(node, ast.Try) and node.handlers) or last_part(node) in _EXPECTS
            for node in self._nodes
        )

    def set_attributes(self) -> frozenset[str]:
        """Return the attributes that the command itself sets on anything."""
        found = {
            node.attr
            for node in self._nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        }
        for node in self._nodes:
            match node:
                case ast.Call(
                    func=ast.Name(id="setattr" | "delattr"),
                    args=[_, ast.Constant(value=str(name)), *_],
                ):
                    found.add(name)
                case _:
                    pass
        return frozenset(found)

    def binds(self, name: str) -> bool:
        """Say whether the code binds the name, or may bind it by a star import."""
        return self.has_star_import or name in self._bound

    @cached_property
    def _bound(self) -> frozenset[str]:
        return frozenset(bound_names(self._nodes))

    def swapped_names(self) -> frozenset[str]:
        """Return the names that one statement both reads and binds: `a, b = b, a`.

        mypy 2.4.1 treats the bindings as if they came one after the other.
        """
        found: set[str] = set()
        for node in self._nodes:
            match node:
                case ast.Assign(targets=targets, value=ast.Tuple() as value):
                    bound = {name for each in targets for name in target_names(each)}
                    found |= bound if bound & names_read(value) else set()
                case _:
                    pass
        return frozenset(found)

    def local_classes(self) -> frozenset[str]:
        """Return the classes that the command itself defines."""
        return frozenset(node.name for node in self._nodes if isinstance(node, ast.ClassDef))

    def derived(self, is_own: Callable[[Imported], bool]) -> frozenset[str]:
        """Return the imported names for which `is_own` holds, and names made from them."""
        return self.made_of(name for name, each in self.imported.items() if is_own(each))

    def made_of(self, names: Iterable[str]) -> frozenset[str]:
        """Return `names`, and all names that are bound to values made from them."""
        following: dict[str, set[str]] = {}
        for node in self._nodes:
            for bound, value in value_bindings(node):
                for read in names_read(value):
                    following.setdefault(read, set()).update(bound)
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += following.get(name, ())
        return frozenset(found)

    def locate(self, diagnostic: Diagnostic) -> Spot | None:
        """Return the place that a diagnostic is about; `None` where no node starts there."""
        wanted = (diagnostic.line, diagnostic.column)
        ends = (diagnostic.end_line, diagnostic.end_column)
        starting = [node for node in self._nodes if self._start(node) == wanted]
        exact = [node for node in starting if self._end(node) == ends]
        if not starting:
            return None
        # Parents come before children: where both fit exactly, as a statement and its value may,
        # the innermost node is meant.
        node = exact[-1] if exact else starting[0]
        around: list[ast.AST] = []
        while (parent := self._parents.get(node if not around else around[-1])) is not None:
            around.append(parent)
        text = self._lines[diagnostic.line - 1]
        before = text.encode()[: node.col_offset]  # type: ignore[attr-defined]  # it has a start
        return Spot(node, tuple(around), diagnostic.line, len(before.decode()) + 1)

    def _start(self, node: ast.AST) -> tuple[int, int] | None:
        line = getattr(node, "lineno", None)
        if line is None:
            return None
        return line, checkers_column(self._lines[line - 1], node.col_offset)  # type: ignore[attr-defined]  # it has a line

    def _end(self, node: ast.AST) -> tuple[int, int]:
        line = node.end_lineno  # type: ignore[attr-defined]  # what has a start has an end
        return line, checkers_column(self._lines[line - 1], node.end_col_offset)  # type: ignore[attr-defined]

    def is_guarded(self, spot: Spot) -> bool:
        """Say whether the code expects a failure at this place."""
        path = (spot.node, *spot.around)
        for inner, outer in pairwise(path):
            match outer:
                case ast.Try(body=body, handlers=[_, *_]) if inner in body:
                    return True
                case ast.With(items=items) | ast.AsyncWith(items=items) if inner not in items:
                    if any(_expects(each.context_expr) for each in items):
                        return True
                case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    if self.expects_failure and not _is_test(outer):
                        return True  # it may be called where a failure is expected
                case _:
                    pass
        return False

    def depends_on_type(self, spot: Spot) -> bool:
        """Say whether this place is only reached after a test of a value's type."""
        path = (spot.node, *spot.around)
        for inner, outer in pairwise(path):
            match outer:
                case ast.If(test=test) | ast.IfExp(test=test) if inner is not test:
                    asked = [test]
                case ast.BoolOp(values=values):
                    asked = values[: [each is inner for each in values].index(True)]
                case _:
                    continue
            if any(map(_asks_for_type, asked)):
                return True
        return False

    def undefined_names(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name, line and column (from 1) of each name that is bound nowhere, once."""
        names = {node.id for node in self._nodes if isinstance(node, ast.Name)}
        if self.has_star_import or names & _DYNAMIC:
            return
        bound = _BUILTINS | self._bound
        reported: set[str] = set()
        for node in sorted(loads(self._nodes), key=lambda each: (each.lineno, each.col_offset)):
            if node.id not in bound | reported and not self._expects_at(node):
                reported.add(node.id)
                before = self._lines[node.lineno - 1].encode()[: node.col_offset]
                yield node.id, node.lineno, len(before.decode()) + 1

    def _expects_at(self, node: ast.AST) -> bool:
        around: list[ast.AST] = []
        current = self._parents.get(node)
        while current is not None:
            around.append(current)
            current = self._parents.get(current)
        return self.is_guarded(Spot(node, tuple(around), 0, 0))


def _is_test(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether only a test runner calls a function; a mark may say that it is to fail."""
    if isinstance(node, ast.Lambda) or not node.name.startswith("test"):
        return False
    marks = {last_part(part) for each in node.decorator_list for part in ast.walk(each)}
    return marks.isdisjoint(_EXPECTED_TO_FAIL)


def _asks_for_type(test: ast.expr) -> bool:
    """Say whether a condition depends on a value's type or attributes."""
    return any(
        isinstance(node, ast.Call) and last_part(node.func) in _TYPE_QUESTIONS
        for node in ast.walk(test)
    )


def _expects(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and last_part(context.func) in _EXPECTS
