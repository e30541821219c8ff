"""Checks whether code keeps its declared interfaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import ContractViolation
from shared.languages.language_tools import (
    Checker,
    CheckerFailed,
    Diagnostic,
    as_far_as_answered,
)
from shared.languages.planned_code import DOES_NOT_PARSE
from shared.languages.python.conformance_probe import (
    ConformanceProbe,
    ProbeBuilder,
    ProbeModule,
    annotate,
    constructor_of,
    type_variables,
)
from shared.languages.python.merge_stubs import merge_stubs
from shared.languages.python.module_views import (
    ModuleHistory,
    ModuleView,
    fills_names,
    reachable,
)
from shared.languages.python.mypy_messages import Mistake, read_complaint
from shared.languages.python.python_code import (
    ROOTS,
    absolute_module,
    base_names,
    decorator_names,
    name_behind,
    package_of,
)
from shared.languages.python.signatures import normal, shown, surely_incompatible
from shared.languages.python.stubs import (
    BoundName,
    FunctionNode,
    bindings,
    declarations,
    flat,
    plain_declarations,
)
from shared.languages.python.type_text import TypeText, surely_differ

if TYPE_CHECKING:
    from shared.work_order.work_order import Interface

_PROBES: Final = "llmch_probes/"


@dataclass(frozen=True)
class Subject:
    """Hold one file with its declared names (`stub`) and the names that it has (`had`).

    `module` is its dotted name, `imports` are the import statements of the stub, made absolute, and
    `tree` is its syntax tree. Where it `is_open`, the file may have names that the tree does not
    show, as by a star import.
    """

    path: str
    module: str
    stub: Mapping[str, BoundName]
    imports: tuple[str, ...]
    tree: ast.Module
    had: Mapping[str, BoundName]
    is_open: bool

    @property
    def probe_path(self) -> str:
        return f"{_PROBES}{self.module.replace('.', '__')}.py"

    @cached_property
    def variables(self) -> frozenset[str]:
        return type_variables(self.stub)

    @cached_property
    def in_passing(self) -> frozenset[str]:
        """Return the names that `:=`, the patterns of `match` and `global` bind anywhere."""
        return frozenset(_bound_in_passing(self.tree))

    @cached_property
    def set_later(self) -> frozenset[str]:
        """Return the attributes that the file sets on something by its name: `Game.play`."""
        return frozenset(
            ast.unparse(each)
            for each in ast.walk(self.tree)
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        )


def subject_of(path: str, body: Sequence[ast.stmt], tree: ast.Module, *, is_open: bool) -> Subject:
    """Return the file at `path`, declared by the statements of `body` and written as `tree`."""
    stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
    module = stem.removeprefix(ROOTS[1]).replace("/", ".")
    return Subject(
        path,
        module,
        plain_declarations(body),
        tuple(_absolute_imports(body, package_of(path, module))),
        tree,
        _bound_at_last(tree.body),
        is_open,
    )


def _bound_at_last(body: Sequence[ast.stmt]) -> Mapping[str, BoundName]:
    """Return the names that a module has once it was imported: none of what never runs."""
    found = dict(declarations([each for each in body if not _never_runs(each)]))
    gone = [(each.lineno, target) for each in body if isinstance(each, ast.Delete)
            for target in each.targets]  # fmt: skip
    for line, target in gone:
        bound = found.get(target.id) if isinstance(target, ast.Name) else None
        if bound is not None and all(node.lineno < line for node in bound.nodes):
            del found[bound.name]
    return found


def _never_runs(statement: ast.stmt) -> bool:
    """Return whether a block that defines something is for type checkers alone, or for nobody."""
    match statement:
        case ast.If(test=ast.Constant(value=value), body=body, orelse=[]) if not value:
            return bool(body)
        case ast.If(test=test, body=body, orelse=[]) if name_behind(test) == "TYPE_CHECKING":
            return not any(isinstance(each, ast.Import | ast.ImportFrom) for each in body)
        case _:
            return False


def _absolute_imports(body: Sequence[ast.stmt], package: Sequence[str]) -> Iterator[str]:
    """Yield the import statements of a stub, with relative imports made absolute by `package`."""
    for statement in body:
        match statement:
            case ast.Import():
                yield ast.unparse(statement)
            case ast.ImportFrom(module=base, names=names, level=level) if base != "__future__":
                if module := absolute_module(package, base, level):
                    yield ast.unparse(ast.ImportFrom(module, names, 0))
            case _:
                continue


# A class inherits no names from these bases that an interface would declare.
_PLAIN_BASES: Final = frozenset(
    {"object", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "Generic"}
)
_PROPERTIES: Final = frozenset({"property", "cached_property", "setter", "getter", "deleter"})
# These names are about the stub itself, and not about the code.
_ABOUT_THE_STUB: Final = frozenset({"__all__", "__slots__", "__match_args__", "__hash__"})
# A class that uses one of these names may make attributes when it runs, methods among them.
_ADDING: Final = frozenset({"setattr", "__setattr__", "__getattr__", "__getattribute__"})
_DYNAMIC: Final = _ADDING | {"__dict__", "__slots__", "vars"}


def missing_names(subject: Subject) -> Iterator[ContractViolation]:
    """Yield a violation for each declared name that is missing, or of another kind."""
    for name, declared in subject.stub.items():
        if name in _ABOUT_THE_STUB:
            continue
        had = subject.had.get(name)
        if had is None:
            is_helper = name.startswith("_") or name in subject.variables
            is_excused = declared.kind == "import" or is_helper or subject.is_open
            if not is_excused and name not in subject.in_passing:
                yield ContractViolation(
                    subject.path, name, f"`{shown(declared)}` is declared and missing"
                )
        elif _is_no_more(declared, had, subject.tree.body):
            if not (subject.is_open or name in subject.in_passing):
                yield _kind_violation(subject, name, declared, had)
        elif declared.kind == had.kind == "function":
            yield from _check_coroutine(subject, name, declared, had)
        elif declared.kind == had.kind == "class":
            yield from _members(subject, name, declared, had)


_VALUES: Final = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda
)  # fmt: skip


def _is_no_more(declared: BoundName, had: BoundName, body: Sequence[ast.stmt]) -> bool:
    """Return whether a class or function is something else that cannot stand for it.

    A variable may be an alias of one, or what a call returns. `body` may bind it in two ways, as
    the branches of a `try` do.
    """
    if declared.kind not in ("class", "function"):
        return False
    if declared.kind == "class" and had.kind == "function":
        return True
    kinds = _VALUES if declared.kind == "class" else _VALUES[:-1]
    if had.kind != "variable" or not all(_is_plain(e, declared.kind, kinds) for e in had.nodes):
        return False
    bound = (each for statement in flat(body) for each in bindings(statement))
    return all(kind == "variable" for name, kind in bound if name == had.name)


def _is_plain(node: ast.stmt, kind: str, kinds: tuple[type[ast.expr], ...]) -> bool:
    """Return whether a statement gives plain values to names, each of them one.

    Where a function is annotated, it is called, and something sets it later.
    """
    match node:
        case ast.Assign(targets=targets, value=value):
            return isinstance(value, kinds) and all(isinstance(e, ast.Name) for e in targets)
        case ast.AnnAssign(value=value):
            return kind == "class" and isinstance(value, kinds)
        case _:
            return False


def _bound_in_passing(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.NamedExpr(target=ast.Name(id=name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Global(names=names):
                yield from names
            case _:
                continue


def _members(
    subject: Subject, name: str, declared: BoundName, had: BoundName
) -> Iterator[ContractViolation]:
    node = had.nodes[-1]
    assert isinstance(node, ast.ClassDef), "the kind says so"
    is_plain = base_names(node) <= _PLAIN_BASES and not node.keywords
    own = {*had.members, *_set_on_self(node), *_bound_in_passing(ast.Module(node.body, []))}
    for member, promised in declared.members.items():
        here = had.members.get(member)
        if member in _ABOUT_THE_STUB:
            continue
        if here is None:
            missing = is_plain and member not in own and not _may_be_unwritten(member, node)
            missing = missing and not _is_dynamic(node, promised)
            missing = missing and f"{name}.{member}" not in subject.set_later
            if missing and promised.kind in ("function", "variable", "class"):
                message = f"`{shown(promised)}` is declared and missing"
                yield ContractViolation(subject.path, f"{name}.{member}", message)
        elif promised.kind == "function" and _is_no_more(promised, here, node.body):
            is_property = _PROPERTIES & decorator_names(promised.nodes[-1])
            is_set = f"{name}.{member}" in subject.set_later or member in _set_on_self(node)
            if not (is_property or is_set or _is_dynamic(node, promised)):
                yield _kind_violation(subject, f"{name}.{member}", promised, here)
        elif promised.kind == here.kind == "function":
            yield from _check_coroutine(subject, f"{name}.{member}", promised, here)
        elif promised.kind == here.kind == "class":
            yield from _members(subject, f"{name}.{member}", promised, here)


def _may_be_unwritten(member: str, node: ast.ClassDef) -> bool:
    """Return whether a class may have the special method `member` without writing it.

    A decorator such as `dataclass` makes `__init__`, `__eq__` and others; `object` has some too.
    """
    is_special = member.startswith("__") and member.endswith("__")
    return is_special and (bool(node.decorator_list) or hasattr(object, member))


def _is_dynamic(node: ast.ClassDef, promised: BoundName) -> bool:
    """Return whether a class may have an attribute that it makes when it runs."""
    defined = {each.name for each in node.body if isinstance(each, FunctionNode)}
    names = {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    }
    if promised.kind == "function":
        fills = any(fills_names(each, _is_of_object) for each in ast.walk(node))
        return fills or not _ADDING.isdisjoint(names | defined)
    return not _DYNAMIC.isdisjoint(names | defined)


def _is_of_object(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars"), args=[_]):
            return True
        case _:
            return False


def _set_on_self(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr


def _check_coroutine(
    subject: Subject, name: str, declared: BoundName, had: BoundName
) -> Iterator[ContractViolation]:
    """Yield a violation where only one of declaration and code is a coroutine function."""
    node, here = declared.nodes[-1], had.nodes[-1]
    if isinstance(node, ast.FunctionDef) and isinstance(here, ast.AsyncFunctionDef):
        awaited = ast.unparse(node.returns) if node.returns else ""
        if node.returns is not None and not re.search("Await|Corout|Async|Any", awaited):
            yield _kind_violation(subject, name, declared, had)
    elif isinstance(node, ast.AsyncFunctionDef) and isinstance(here, ast.FunctionDef):
        returns = any(isinstance(each, ast.Return) and each.value for each in ast.walk(here))
        if not here.decorator_list and not returns:
            yield _kind_violation(subject, name, declared, had)


def _kind_violation(
    subject: Subject, name: str, declared: BoundName, had: BoundName
) -> ContractViolation:
    message = f"is declared as `{shown(declared)}` and written as `{shown(had)}`"
    return ContractViolation(subject.path, name, message)


_STRUCTURAL: Final = frozenset({"Protocol", "TypedDict", "NamedTuple"})


def wrong_types(
    subjects: Sequence[Subject], history: ModuleHistory, checker: Checker
) -> Iterator[ContractViolation]:
    """Yield a violation for each name that surely has another type than was declared.

    Raises `CheckerFailed` if the type checker gave no answer.
    """
    if not subjects:
        return
    # A checker takes a stub beside its module for a second module of the same name.
    beside = {f"{each.path}i" for each in subjects}
    subjects = [each for each in subjects if each.path not in beside]
    view = reachable(history, [name for each in subjects for name in _needed(each)], 0)
    probes: dict[str, tuple[Subject, ProbeModule]] = {}
    for subject in subjects:
        builder = ProbeBuilder(subject.module, subject.stub, subject.imports, subject.had.keys())
        probes[subject.probe_path] = subject, builder.build()
    files = {p: text for p, text in _files(view, subjects).items() if p not in beside}
    files.update({path: probe.text for path, (_, probe) in probes.items()})
    targets = [*probes, *(each.path for each in subjects)]
    by_path = {each.path: each for each in subjects}
    classes = frozenset(_plain_classes(view))
    diagnostics = checker.check(files, sorted(targets), view.roots)
    for each in diagnostics:
        if each.path in probes:
            yield from _probe_violations(each, *probes[each.path], classes)
    for each in diagnostics:
        if each.path in by_path:
            yield from _body_violations(each, by_path[each.path], files[each.path])


def _needed(subject: Subject) -> Iterator[str]:
    yield subject.module
    for text in subject.imports:
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (each.name for each in node.names)


def _files(view: ModuleView, subjects: Sequence[Subject]) -> dict[str, str]:
    files = view.files
    for each in subjects:
        tree = annotate(each.tree, each.stub, each.imports)
        files[each.path] = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return files


def _plain_classes(view: ModuleView) -> Iterator[str]:
    """Yield the names of the project's classes, except protocols, typed dicts and named tuples.

    No value of an unrelated class passes for a value of such a class.
    """
    for module in view.modules.values():
        for name, each in module.declared.items():
            node = each.nodes[-1]
            if isinstance(node, ast.ClassDef) and base_names(node).isdisjoint(_STRUCTURAL):
                yield name


def _probe_violations(
    diagnostic: Diagnostic, subject: Subject, probe: ProbeModule, classes: frozenset[str]
) -> Iterator[ContractViolation]:
    use = probe.probes.get(diagnostic.line)
    if use is None:
        return
    declared, had = _find(subject.stub, use.name), _find(subject.had, use.name)
    if declared is not None and _surely_lacks(diagnostic, use.name, subject):
        message = f"`{shown(declared)}` is declared and missing"
        yield ContractViolation(subject.path, use.name, message)
        return
    if declared is None or not _is_violated(diagnostic, use, declared, had, classes):
        return
    if use.kind == "base" and had is not None:
        yield _kind_violation(subject, use.name, declared, had)
        return
    yield ContractViolation(subject.path, use.name, _difference(declared, had, diagnostic))


def _surely_lacks(diagnostic: Diagnostic, name: str, subject: Subject) -> bool:
    """Return whether a class and all its bases lack a member, as the checker knows them."""
    owner, _, member = name.partition(".")
    had = subject.had.get(owner)
    node = had.nodes[-1] if had is not None and member and member not in had.members else None
    return (
        isinstance(node, ast.ClassDef)
        and read_complaint(diagnostic).mistake is Mistake.VALUE_LACKS
        and f'has no attribute "{member}"' in diagnostic.message
        and not (node.decorator_list or member in _set_on_self(node))
        and not _is_dynamic(node, subject.stub[owner].members[member])
        and f"{owner}.{member}" not in subject.set_later
    )


def _difference(declared: BoundName, had: BoundName | None, diagnostic: Diagnostic) -> str:
    made, makes = constructor_of(declared), constructor_of(had) if had is not None else None
    if made is not None:
        call = f"is declared to be made by `{declared.name}({_call(made)})`"
        return f"{call} and written as `({_call(makes)})`" if makes is not None else call
    if had is None or had.kind == "variable":
        return f"is declared as `{shown(declared)}`: {diagnostic.message}"
    return f"is declared as `{shown(declared)}` and written as `{shown(had)}`"


def _call(init: ast.FunctionDef) -> str:
    return ast.unparse(init.args).partition(", ")[2]


def _is_violated(
    diagnostic: Diagnostic,
    use: ConformanceProbe,
    declared: BoundName,
    had: BoundName | None,
    classes: frozenset[str],
) -> bool:
    complaint = read_complaint(diagnostic)
    match use.kind:
        case "shape" | "base":
            return complaint.mistake is Mistake.STORE
        case "types":
            return had is not None and surely_incompatible(declared, had, classes.__contains__)
        case "attribute" | "value":
            differs = _differ(complaint.actual, complaint.expected)
            return complaint.mistake is Mistake.STORE and differs


def _differ(actual: TypeText, expected: TypeText) -> bool:
    return surely_differ(actual, expected, lambda _: False)


def _spans(node: FunctionNode | ast.Lambda | ast.Return, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _has_return(node: FunctionNode, line: int) -> bool:
    return any(isinstance(each, ast.Return) and _spans(each, line) for each in ast.walk(node))


def _is_nested(node: FunctionNode, line: int) -> bool:
    inside = (each for each in ast.walk(node) if isinstance(each, FunctionNode | ast.Lambda))
    return any(each is not node and _spans(each, line) for each in inside)


def _find(declared: Mapping[str, BoundName], name: str) -> BoundName | None:
    owner, _, member = name.partition(".")
    found = declared.get(owner)
    return found.members.get(member) if found is not None and member else found


def _body_violations(
    diagnostic: Diagnostic, subject: Subject, text: str
) -> Iterator[ContractViolation]:
    """Yield a violation where a function's body returns a value of another type than declared."""
    name, node = _function_at(ast.parse(text), diagnostic.line)
    declared = _find(subject.stub, name) if name else None
    if declared is None or node is None or declared.kind != "function":
        return
    if name.endswith("__init__") or _is_nested(node, diagnostic.line):
        return
    got = _wrongly_returned(diagnostic, node, declared)
    if got is not None:
        message = f"is declared as `{shown(declared)}` and returns {got}"
        yield ContractViolation(subject.path, name, message)


def _wrongly_returned(
    diagnostic: Diagnostic, node: FunctionNode, declared: BoundName
) -> str | None:
    """Return what a body wrongly returns, in words; `None` if it keeps to its annotation."""
    complaint = read_complaint(diagnostic)
    match complaint.mistake:
        case Mistake.RETURN:
            differs = _differ(complaint.actual, complaint.expected)
        case Mistake.ELEMENT:
            differs = any(_differ(*each) for each in complaint.pairs)
            differs = differs and _has_return(node, diagnostic.line)
        case Mistake.NO_RETURN if _returns_nothing(node) and _must_return(declared):
            return "nothing"
        case _:
            return None
    return f"`{complaint.shown}`" if differs else None


def _function_at(tree: ast.Module, line: int) -> tuple[str, FunctionNode | None]:
    """Return the qualified name and the node of the function or method that has a line.

    The name is empty, and the node is `None`, if the line is in no function.
    """
    for statement in tree.body:
        owner = f"{statement.name}." if isinstance(statement, ast.ClassDef) else ""
        for each in statement.body if isinstance(statement, ast.ClassDef) else [statement]:
            if isinstance(each, FunctionNode) and _spans(each, line):
                return f"{owner}{each.name}", each
    return "", None


def _must_return(declared: BoundName) -> bool:
    node = declared.nodes[-1]
    returns = node.returns if isinstance(node, FunctionNode) else None
    return returns is not None and "None" not in normal(returns).split(" | ")


def _returns_nothing(node: FunctionNode) -> bool:
    """Return whether a function has no `return` with a value, no `yield` and no `raise`."""
    inside = list(ast.walk(node))
    kinds = (ast.Yield, ast.YieldFrom, ast.Raise)
    has_value = any(isinstance(each, ast.Return) and each.value is not None for each in inside)
    return not has_value and not any(isinstance(each, kinds) for each in inside)


def check_conformance(
    interfaces: Sequence[Interface], sources: Mapping[str, str], checker: Checker
) -> tuple[ContractViolation, ...]:
    """Return what in `sources` contradicts `interfaces`, sorted by file and name.

    `sources` has the texts of the project's Python files by path. Only declared files and those
    that imports lead to are looked up. A difference that is not certain is not a violation. Raises
    `CheckerFailed` if the type checker gave no answer and the text shows no violation, or if a
    declared file cannot be parsed for a reason other than its syntax.
    """
    history = ModuleHistory(sources.keys(), sources, [])
    found: list[ContractViolation] = []
    subjects: list[Subject] = []
    for path, body in merge_stubs(interfaces).items():
        module = history.module(path, 0)
        if module is None:
            found.append(ContractViolation(path, "", "is declared but was not written"))
        elif module.problem is not None and not module.problem.is_syntax:
            raise CheckerFailed(f"{path} cannot be judged: {module.problem.message}")
        elif module.problem is not None:
            found.append(ContractViolation(path, "", f"{DOES_NOT_PARSE}: {module.problem.message}"))
        else:
            tree = ast.Module(list(module.body or ()), [])
            subject = subject_of(path, body, tree, is_open=module.is_open)
            subjects.append(subject)
            found += missing_names(subject)
    reported = {(each.path, each.name) for each in found}
    for each in as_far_as_answered(found, wrong_types(subjects, history, checker)):
        members = {name for path, name in reported if path == each.path and f"{each.name}." in name}
        if (each.path, each.name) not in reported and not members:
            reported.add((each.path, each.name))
            found.append(each)
    return tuple(sorted(found, key=lambda each: (each.path, each.name, each.message)))
