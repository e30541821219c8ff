"""What a command's code shows of itself: what it imports, derives, sets, and expects to fail."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from shared.interfaces.checker import Diagnostic
from shared.interfaces.declarations import target_names

# As context managers, these expect what is in them to raise.
_EXPECTS: Final = frozenset(
    {"raises", "suppress", "assertRaises", "assertRaisesRegex", "warns", "assertWarns"}
)
_BUILTINS: Final = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__loader__", "__package__",
    "__annotations__", "exit", "quit",
}  # fmt: skip
# Code that makes names, or attributes, in a way that cannot be read off it.
_DYNAMIC: Final = frozenset({"exec", "eval", "globals", "locals", "vars", "__import__"})
_LINE_END = re.compile(r"\r\n?|\n")
_MOCKS: Final = ("mock", "Mock", "monkeypatch", "patch")


@dataclass(frozen=True, slots=True)
class Imported:
    """What a name of the command stands for: a module, or `attribute` of one."""

    module: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """The node that a diagnostic is about, with what encloses it, innermost first.

    `column` counts from 1, in characters.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    line: int
    column: int

    @property
    def near(self) -> tuple[ast.AST, ...]:
        """The node and its parents up to its statement."""
        near: list[ast.AST] = [self.node]
        for each in self.around:
            if isinstance(each, ast.stmt):
                break
            near.append(each)
        return tuple(near)

    @property
    def call(self) -> ast.Call | None:
        """The innermost call that the node is, or is an argument of."""
        return next((each for each in self.near if isinstance(each, ast.Call)), None)


class CodeFacts:
    """Facts about code that compiles, told from its syntax tree."""

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
        self.imported = dict(_imports(self._nodes))

    @property
    def has_star_import(self) -> bool:
        return any(
            isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in self._nodes
        )

    @property
    def uses_mocks(self) -> bool:
        """Say whether it may put something else in the place of what is declared."""
        return any(
            isinstance(node, ast.Name | ast.Attribute) and _name(node) in _MOCKS
            for node in self._nodes
        ) or any(each.module.endswith("mock") for each in self.imported.values())

    @property
    def expects_failure(self) -> bool:
        """Say whether anything in it is made to raise."""
        return any(
            (isinstance(node, ast.Try) and node.handlers) or _name(node) in _EXPECTS
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

    def local_classes(self) -> frozenset[str]:
        """Return the classes that the command itself defines."""
        return frozenset(node.name for node in self._nodes if isinstance(node, ast.ClassDef))

    def derived(self, is_own: Callable[[Imported], bool]) -> frozenset[str]:
        """Return the names that stand for something own, or for what was made of it."""
        following: dict[str, set[str]] = {}
        for node in self._nodes:
            for names, value in _bindings(node):
                for read in _names_read(value):
                    following.setdefault(read, set()).update(names)
        found: set[str] = set()
        pending = [name for name, each in self.imported.items() if is_own(each)]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += following.get(name, ())
        return frozenset(found)

    def locate(self, diagnostic: Diagnostic) -> Spot | None:
        """Return the node that a diagnostic is about."""
        wanted = (diagnostic.line, diagnostic.column)
        ends = (diagnostic.end_line, diagnostic.end_column)
        starting = [node for node in self._nodes if self._start(node) == wanted]
        exact = [node for node in starting if self._end(node) == ends]
        if not starting:
            return None
        # Parents come before their children: of a statement and its value, the value is meant.
        node = exact[-1] if exact else starting[0]
        around: list[ast.AST] = []
        while (parent := self._parents.get(node if not around else around[-1])) is not None:
            around.append(parent)
        text = self._lines[diagnostic.line - 1]
        before = text.encode()[: node.col_offset]  # type: ignore[attr-defined]  # it has a start
        return Spot(node, tuple(around), diagnostic.line, len(before.decode()) + 1)

    def _start(self, node: ast.AST) -> tuple[int, int] | None:
        line = getattr(node, "lineno", None)
        return None if line is None else (line, self._checkers_column(line, node.col_offset))  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> tuple[int, int]:
        line = node.end_lineno  # type: ignore[attr-defined]  # what has a start has an end
        return line, self._checkers_column(line, node.end_col_offset)  # type: ignore[attr-defined]

    def _checkers_column(self, line: int, offset: int) -> int:
        """Return what mypy 2.4.1 makes of a column that Python counts in bytes.

        It takes the surplus of the bytes over the characters off twice.
        """
        text = self._lines[line - 1]
        if text.isascii():
            return offset
        characters = len(text.encode()[:offset].decode())
        return 2 * characters - offset

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
                    if self.expects_failure:
                        return True  # it may be called where a failure is expected
                case _:
                    pass
        return False

    def undefined_names(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, line and column (from 1) of each name that is bound nowhere, once."""
        names = {node.id for node in self._nodes if isinstance(node, ast.Name)}
        if self.has_star_import or names & _DYNAMIC:
            return
        bound = _BUILTINS | frozenset(_bound_names(self._nodes))
        told: set[str] = set()
        for node in sorted(_loads(self._nodes), key=lambda each: (each.lineno, each.col_offset)):
            if node.id not in bound | told and not self._expects_at(node):
                told.add(node.id)
                before = self._lines[node.lineno - 1].encode()[: node.col_offset]
                yield node.id, node.lineno, len(before.decode()) + 1

    def _expects_at(self, node: ast.AST) -> bool:
        around: list[ast.AST] = []
        current = self._parents.get(node)
        while current is not None:
            around.append(current)
            current = self._parents.get(current)
        return self.is_guarded(Spot(node, tuple(around), 0, 0))


def mentions(node: ast.AST, names: frozenset[str] | set[str]) -> bool:
    """Say whether any of `names` is read in `node`."""
    return not names.isdisjoint(_names_read(node))


def _names_read(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _expects(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and _name(context.func) in _EXPECTS


def _imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, Imported]]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for each in names:
                    if each.asname:
                        yield each.asname, Imported(each.name)
                    else:
                        root = each.name.split(".", 1)[0]
                        yield root, Imported(root)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for each in names:
                    yield each.asname or each.name, Imported(module, each.name)
            case _:
                pass


def _bindings(node: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    """Yield the names that a node binds to what a value gives."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield set(target_names(target)), value
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
        ):
            yield set(target_names(target)), value
        case ast.NamedExpr(target=target, value=value):
            yield set(target_names(target)), value
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield set(target_names(target)), value
        case ast.comprehension(target=target, iter=value):
            yield set(target_names(target)), value
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield set(target_names(target)), value
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield {name}, node
        case _:
            return


def _bound_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
                yield "__class__"
            case ast.arg(arg=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.split(".", 1)[0]
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                other = getattr(node, "name", None)  # of a type parameter, since 3.12
                if isinstance(other, str):
                    yield other


def _loads(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node
