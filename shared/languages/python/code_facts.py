"""Reads facts off a command's code."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from shared.languages.python.mypy_messages import checkers_column
from shared.languages.python.python_code import last_part
from shared.languages.python.stubs import target_names

if TYPE_CHECKING:
    from shared.languages.language_tools import Diagnostic


@dataclass(frozen=True, slots=True)
class ImportedName:
    """Represent what a command's name means: a module, or `attribute` of a module."""

    module: str
    attribute: str | None = None


def imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ImportedName]]:
    """Yield each name that an import binds, with the module or attribute that it means."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for each in names:
                    root = each.name.split(".", 1)[0]
                    yield each.asname or root, ImportedName(each.name if each.asname else root)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for each in names:
                    yield each.asname or each.name, ImportedName(module, each.name)
            case _:
                pass


def value_bindings(node: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    """Yield the names that a node binds, with the node of the value that they come from."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield set(target_names(target)), value
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
            | ast.For(target=target, iter=value)
            | ast.AsyncFor(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
            | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
        ):
            yield set(target_names(target)), value
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield {name}, node
        case _:
            return


def bound_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.ClassDef(name=name):
                yield name
                yield "__class__"
            case ast.alias(name=name, asname=asname):
                yield asname or name.split(".", 1)[0]
            case ast.arg(arg=name) | ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                # Of a function, a handler, a pattern; of a type parameter, since 3.12.
                other = getattr(node, "name", None)
                if isinstance(other, str):
                    yield other


@dataclass(frozen=True, slots=True)
class Spot:
    """Hold the node that a diagnostic is about, with the nodes around it, innermost first.

    `column` counts from 1, in characters.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    line: int
    column: int

    @property
    def near(self) -> tuple[ast.AST, ...]:
        """Return the node and its parents up to its statement."""
        near: list[ast.AST] = [self.node]
        for each in self.around:
            if isinstance(each, ast.stmt):
                break
            near.append(each)
        return tuple(near)

    @property
    def call(self) -> ast.Call | None:
        """Return the innermost call that the node is, or is a part of."""
        return next((each for each in self.near if isinstance(each, ast.Call)), None)

    @property
    def call_with_argument(self) -> ast.Call | None:
        """Return the innermost call that has the node as, or in, one of its arguments."""
        inner: ast.AST = self.node
        for each in self.around:
            if isinstance(each, ast.stmt):
                return None
            if isinstance(each, ast.Call) and inner is not each.func:
                return each
            inner = each
        return None

    @property
    def is_alone(self) -> bool:
        """Return whether the code around the node's call cannot influence the call's type.

        A checker infers the types of a generic call from the other operand of an `and`, from the
        parameter that its result is passed to, or from the variable that it is assigned to.
        """
        call = self.call_with_argument
        outside = self.around[self.around.index(call) + 1 :] if call is not None else self.around
        for each in outside:
            if isinstance(each, ast.stmt):
                return isinstance(each, ast.Assert | ast.Expr | ast.Assign)
            if not isinstance(each, ast.Compare | ast.Attribute | ast.UnaryOp):
                return False
        return False

    @property
    def is_in_inferred_lambda(self) -> bool:
        """Return whether the node is in a lambda whose parameter types depend on the code around.

        They do where an `and`, an `or` or a conditional expression encloses the lambda.
        """
        around = iter(self.around)
        return any(isinstance(each, ast.Lambda) for each in around) and any(
            isinstance(each, ast.BoolOp | ast.IfExp) for each in around
        )

    @property
    def statement(self) -> ast.stmt | None:
        path = (self.node, *self.around)
        return next((each for each in path if isinstance(each, ast.stmt)), None)


def mentions(node: ast.AST, names: frozenset[str] | set[str]) -> bool:
    return not names.isdisjoint(names_read(node))


def names_read(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


# As context managers, these expect the code in them to raise or warn.
_EXPECTS: Final = frozenset(
    {"raises", "suppress", "assertRaises", "assertRaisesRegex", "warns", "assertWarns"}
)
# As marks of a test, these say that it may fail, or is not run.
_EXPECTED_TO_FAIL: Final = frozenset(
    {"xfail", "skip", "skipif", "skipIf", "skipUnless", "expectedFailure", *_EXPECTS}
)
_FAILS_ANYWAY: Final = frozenset({"xfail", "expectedFailure"})
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

    @cached_property
    def set_attributes(self) -> frozenset[str]:
        found: set[str] = set()
        for node in self._nodes:
            match node:
                case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
                    found.add(name)
                case ast.Call(
                    func=ast.Name(id="setattr" | "delattr"),
                    args=[_, ast.Constant(value=str(name)), *_],
                ):
                    found.add(name)
                case _:
                    pass
        return frozenset(found)

    def binds(self, name: str) -> bool:
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
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                bound = {name for each in node.targets for name in target_names(each)}
                found |= bound if bound & names_read(node.value) else set()
        return frozenset(found)

    @cached_property
    def local_classes(self) -> frozenset[str]:
        return frozenset(node.name for node in self._nodes if isinstance(node, ast.ClassDef))

    def derived(self, is_own: Callable[[ImportedName], bool]) -> frozenset[str]:
        """Return the imported names for which `is_own` holds, and names made from them."""
        return self.made_of(name for name, each in self.imported.items() if is_own(each))

    def made_with(self, attributes: frozenset[str]) -> frozenset[str]:
        """Return the names that are bound to values made with one of the attributes."""
        if not attributes:
            return frozenset()
        return frozenset(
            name
            for node in self._nodes
            for bound, value in value_bindings(node)
            if any(getattr(each, "attr", None) in attributes for each in ast.walk(value))
            for name in bound
        )

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
        """Return the place that a diagnostic is about; `None` if no node starts there."""
        wanted = (diagnostic.line, diagnostic.column)
        ends = (diagnostic.end_line, diagnostic.end_column)
        starting = [node for node in self._nodes if self._start(node) == wanted]
        exact = [node for node in starting if self._end(node) == ends]
        if not starting:
            return None
        # Parents come before children: where both fit exactly, as a statement and its value may,
        # the innermost node is meant.
        return self._spot(exact[-1] if exact else starting[0])

    def _spot(self, node: ast.AST) -> Spot:
        """Return the place of a node that has one in the text."""
        around: list[ast.AST] = []
        while (parent := self._parents.get(around[-1] if around else node)) is not None:
            around.append(parent)
        line: int = node.lineno  # type: ignore[attr-defined]  # it has a place
        before = self._lines[line - 1].encode()[: node.col_offset]  # type: ignore[attr-defined]
        return Spot(node, tuple(around), line, len(before.decode()) + 1)

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
                    calls = (e.context_expr for e in items if isinstance(e.context_expr, ast.Call))
                    if any(last_part(each.func) in _EXPECTS for each in calls):
                        return True
                case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    if self.expects_failure and not _is_test(outer):
                        return True  # it may be called where a failure is expected
                    if _marks(outer) & _FAILS_ANYWAY:
                        return True
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
        names = {node.id for node in self._nodes if isinstance(node, ast.Name)}
        if self.has_star_import or names & _DYNAMIC:
            return
        bound = _BUILTINS | self._bound
        reported: set[str] = set()
        loads = (e for e in self._nodes if isinstance(e, ast.Name) and isinstance(e.ctx, ast.Load))
        for node in sorted(loads, key=lambda each: (each.lineno, each.col_offset)):
            if node.id not in bound | reported and not self.is_guarded(spot := self._spot(node)):
                reported.add(node.id)
                yield node.id, spot.line, spot.column


def _is_test(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether only a test runner calls a function; a mark may say that it is to fail."""
    if isinstance(node, ast.Lambda) or not node.name.startswith("test"):
        return False
    return _EXPECTED_TO_FAIL.isdisjoint(_marks(node))


def _marks(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the last parts of all names in the decorators of a function."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return {last_part(part) for each in decorators for part in ast.walk(each)}


def _asks_for_type(test: ast.expr) -> bool:
    """Say whether a condition depends on a value's type or attributes."""
    return any(
        isinstance(node, ast.Call) and last_part(node.func) in _TYPE_QUESTIONS
        for node in ast.walk(test)
    )
