"""Holds a place in a command's code, what is known there, and what the checker is asked.

Python lets a name, a list or a dict hold anything, whatever it held before. Where the checker
objects to such a store, its later complaints about the same name are about values that the name
does not have.

The checker infers a type variable from the first value that it sees, but a `Stack` that was made
from a number may take a text next. A complaint about both readings is certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from shared.errors import quoted
from shared.files.strict_documents import FieldPath, at
from shared.languages.planned_code import DOUBT, Fault, Verdict, declared_by
from shared.languages.python.code_facts import CodeFacts, Spot, mentions
from shared.languages.python.conformance_probe import type_variables
from shared.languages.python.merge_stubs import after_future_imports
from shared.languages.python.module_views import unparsed
from shared.languages.python.mypy_messages import Mistake, MypyComplaint
from shared.languages.python.name_backing import DATA_ATTRIBUTES, BackedNames, Certainty
from shared.languages.python.python_code import NAME, name_behind, parse_code
from shared.languages.python.stubs import FunctionNode, targets_of, type_parameters
from shared.languages.python.type_text import CONTAINERS
from shared.languages.read_commands import Code, CodeRun

if TYPE_CHECKING:
    from shared.languages.python.module_views import Module, ModuleView
    from shared.languages.python.planned_python import PlannedOrder, PlannedProject


@dataclass(frozen=True, slots=True)
class Scene:
    """Hold one command's code, and what is known at the point where it runs.

    `derived` are the names whose values come from the project, and `loose` those of them that come
    from a file which an order may change without declaring how. `stored` are the names that the
    command itself binds to, or fills with, values of another type than the checker assumes.
    """

    question: CodeInQuestion
    facts: CodeFacts
    names: BackedNames
    derived: frozenset[str]
    loose: frozenset[str]
    stored: frozenset[str]


@dataclass(frozen=True)
class ComplaintPlace:
    """Represent a place in a command's code that a complaint is about."""

    spot: Spot
    scene: Scene

    @property
    def names(self) -> BackedNames:
        return self.scene.names

    @cached_property
    def types(self) -> Certainty:
        return Certainty(self.scene.names, self.scene.facts.local_classes)

    def is_own(self) -> bool:
        return any(mentions(each, self.scene.derived) for each in self.spot.near)

    def is_loose(self) -> bool:
        """Say whether the values here may become others, since an order may change their code."""
        nodes = [node for each in self.spot.near for node in ast.walk(each)]
        named = {each.attr for each in nodes if isinstance(each, ast.Attribute)}
        is_made_loosely = any(mentions(each, self.scene.loose) for each in self.spot.near)
        return is_made_loosely or not self.names.loose_members.isdisjoint(named)

    def misuse(self, *, certain: bool) -> Verdict:
        """Return the verdict on a misused value: an error where the misuse is `certain`.

        A value that does not come from the project is never an error.
        """
        return Verdict("E214") if certain and self.is_own() else DOUBT

    def declared_by(self, name: str, owner: str | None = None) -> str:
        """Return which order declares a function or class, or a member of `owner`, and where."""
        top, qualified = owner or name, f"{owner}.{name}" if owner else name
        project, position = self.scene.question.project, self.scene.question.planned.position
        for each in self.names.owners(top):
            path = each.module.path
            by = project.history.declared_by(path, qualified, position)
            return f"in {path}" if by is None else declared_by(project.chain.source(by), path)
        return ""


_ABSTRACT: Final = frozenset({"MutableMapping", "MutableSequence", "MutableSet"})
_STANDARD: Final = frozenset({"deque", "Counter", "OrderedDict", "defaultdict"})


def stored_names(complaints: Iterable[tuple[MypyComplaint, Spot]]) -> frozenset[str]:
    """Return the root name of each place to which a command stores a value of a wrong type."""
    return frozenset(name for each in complaints for name in _stored(*each))


def _stored(complaint: MypyComplaint, spot: Spot) -> Iterator[str]:
    match complaint.mistake:
        case Mistake.STORE:
            yield from _bound_around(spot)
        case Mistake.RETURN:
            yield from _function_around(spot)
        case Mistake.ELEMENT | Mistake.ARGUMENT | Mistake.NO_VARIANT | Mistake.INDEX:
            is_in_call = spot.call_with_argument is not None or isinstance(spot.node, ast.Call)
            if is_in_call and not isinstance(spot.statement, ast.AnnAssign):
                yield from _filled(complaint, spot)
            else:
                yield from _bound_around(spot)
        case _:
            return


def _bound_around(spot: Spot) -> Iterator[str]:
    """Yield the names that the statement around a place stores to."""
    for target in targets_of(spot.statement):
        yield from _roots(target)
    for node in spot.near:
        if isinstance(node, ast.NamedExpr):
            yield node.target.id


def _roots(target: ast.expr) -> Iterator[str]:
    """Yield the names that a store to `target` changes; a store to an attribute changes none."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=inner):
            yield from _root(inner)
        case ast.Starred(value=inner):
            yield from _roots(inner)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for each in elements:
                yield from _roots(each)
        case _:
            return


def _root(value: ast.expr) -> Iterator[str]:
    """Yield the name that a chain of attributes, items and calls begins with."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner):
            yield from _root(inner)
        case _:
            return


def _function_around(spot: Spot) -> Iterator[str]:
    for each in spot.around:
        if isinstance(each, FunctionNode):
            yield each.name
            return


def _filled(complaint: MypyComplaint, spot: Spot) -> Iterator[str]:
    """Yield the name of the list, set or dict that a built-in method puts a value into."""
    owner = complaint.callee.owner if complaint.callee is not None else None
    is_container = owner is not None and owner.head in CONTAINERS | _ABSTRACT | _STANDARD
    if complaint.callee is not None and not is_container:
        return
    is_call = complaint.mistake is Mistake.NO_VARIANT and isinstance(spot.node, ast.Call)
    match spot.node if is_call else spot.call_with_argument:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in DATA_ATTRIBUTES:
            yield from _root(value)
        case _:
            return


_F = TypeVar("_F", ast.FunctionDef, ast.AsyncFunctionDef)
_COMMANDS: Final = "llmch_commands/"


@dataclass(frozen=True, slots=True)
class CodeInQuestion:
    """Hold the code of one command or acceptance file, and its place in the plan.

    `name` tells apart the code of one order. `file` is the path of an acceptance file; empty for a
    command.
    """

    project: PlannedProject
    planned: PlannedOrder
    at: FieldPath
    name: str
    file: str
    source: str
    tree: ast.Module

    @property
    def path(self) -> str:
        return f"{_COMMANDS}{self.name}_{self.planned.position}.py"

    @property
    def subject(self) -> str:
        return quoted(self.file) if self.file else "the code after `-c`"

    def fault(self, code: str, message: str) -> Fault:
        """Return a fault at a place in the code; that of a file is named with its path."""
        shown = f"{quoted(self.file)} {message}" if self.file else message
        return self.whole(code, shown)

    def whole(self, code: str, message: str) -> Fault:
        """Return a fault of the code as a whole, or of the field that holds it."""
        return Fault(code, self.planned.position, self.at, message)

    @property
    def imported(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (each.name for each in names)
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    yield module
                    yield from (f"{module}.{each.name}" for each in names)
                case _:
                    pass


def questions_of(project: PlannedProject, planned: PlannedOrder) -> Iterator[CodeInQuestion]:
    """Yield the code of the order's commands and acceptance files, as far as it parses."""
    codes = [
        *((at("acceptance_commands", n), f"c{n}", "", code) for n, code in _codes(planned)),
        *((test.at, f"t{test.index}", test.path, code) for test, code in planned.tests),
    ]
    for field, name, file, code in codes:
        tree = parse_code(code.source)
        if isinstance(tree, ast.Module):
            yield CodeInQuestion(project, planned, field, name, file, code.source, tree)


def _codes(planned: PlannedOrder) -> Iterator[tuple[int, Code]]:
    """Yield the code of each command whose code compiles and is not cut off by an operator."""
    for index, command in planned.order.commands:
        run = command.run
        if not planned.order.valid or command.language != NAME or not isinstance(run, CodeRun):
            continue
        if run.code.problem is None and (run.quoted or command.operator is None):
            yield index, run.code


_READY_MADE: Final = "AnyStr"
_ANYTHING: Final = "_Anything"
_IMPORT: Final = ast.ImportFrom("typing", [ast.alias("Any", _ANYTHING)], 0)


def without_type_variables(view: ModuleView) -> Mapping[str, str]:
    """Return the text of each file that uses type variables, with `Any` in their place.

    Files are named as in `View.files`; those that use none are left out.
    """
    defined = frozenset().union(*(type_variables(each.declared) for each in view.modules.values()))
    found: dict[str, str] = {}
    for module in view.modules.values():
        names = frozenset(_used(module, defined))
        nodes = (node for each in module.body or () for node in ast.walk(each))
        # Python 3.12 and later allow type parameters in brackets.
        if names or any(map(type_parameters, nodes)):
            found[module.checked_path] = _erased(module, names)
    return found


def _used(module: Module, defined: frozenset[str]) -> Iterator[str]:
    """Yield the names that a module has for the type variables that it defines or imports."""
    yield from type_variables(module.declared)
    for statement in module.body or ():
        if isinstance(statement, ast.ImportFrom):
            for each in statement.names:
                if each.name in defined or each.name == _READY_MADE:
                    yield each.asname or each.name


def _erased(module: Module, names: frozenset[str]) -> str:
    tree = _TypeVariableErasure(names).visit(ast.parse(module.text))
    tree.body.insert(after_future_imports(tree.body), _IMPORT)
    return unparsed(tree.body)


class _TypeVariableErasure(ast.NodeTransformer):
    """Replace type variables by `Any`, so that no class is generic in them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(_ANYTHING, node.ctx) if node.id in self._names else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        return node  # among these are the variables themselves

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        inner = _TypeVariableErasure(self._names | type_parameters(node))
        bases = [_plain(each) for each in node.bases if name_behind(each) != "Generic"]
        node.bases = [inner.visit(each) for each in bases]
        node.body = [inner.visit(each) for each in node.body]
        node.type_params = []  # type: ignore[attr-defined]  # of Python 3.12
        return node

    def visit_FunctionDef(self, node: _F) -> _F:
        inner = _TypeVariableErasure(self._names | type_parameters(node))
        node.type_params = []  # type: ignore[attr-defined]  # of Python 3.12
        inner.generic_visit(node)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # the name is that of `ast`


def _plain(base: ast.expr) -> ast.expr:
    """Return a base class without its parameters where it is a protocol."""
    if isinstance(base, ast.Subscript) and name_behind(base) == "Protocol":
        return base.value
    return base
