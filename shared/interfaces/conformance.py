"""Does code keep the interfaces that were declared of it? Told without running any of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.interfaces.annotate import annotate
from shared.interfaces.checker import Checker, Diagnostic, TypeChecker
from shared.interfaces.declarations import Declaration, declarations, plain_declarations
from shared.interfaces.merge import merge
from shared.interfaces.probe import (
    Probe,
    ProbeModule,
    absolute_imports,
    base_names,
    build_probe,
    constructor_of,
    type_variables,
)
from shared.interfaces.signatures import normal, shown, surely_incompatible
from shared.interfaces.stubs import Stub, parse_stub
from shared.interfaces.type_text import parse_type, surely_differ
from shared.interfaces.views import ROOTS, History, View, reachable
from shared.interfaces.violations import DOES_NOT_PARSE, Violation
from shared.interfaces.worker_process import CheckerFailed
from shared.schemas import Interface

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_PROBES: Final = "llmch_probes/"
_RETURNED = re.compile(r'got "(?P<actual>.+)", expected "(?P<expected>.+)"')
_ELEMENT = re.compile(r'incompatible type "(?P<actual>.+)"; expected "(?P<expected>.+)"')
_ASSIGNED = re.compile(
    r'expression has type "(?P<actual>.+)", variable has type "(?P<expected>.+)"'
)
_STRUCTURAL: Final = frozenset({"Protocol", "TypedDict", "NamedTuple"})
# Bases that bring no names which an interface would declare.
_PLAIN_BASES: Final = frozenset(
    {"object", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "Generic"}
)
# What a stub says of itself rather than of the code.
_OF_THE_STUB: Final = frozenset({"__all__", "__slots__", "__match_args__", "__hash__"})
# A class that makes attributes as it runs.
_DYNAMIC: Final = frozenset({"setattr", "__getattr__", "__dict__", "__slots__", "vars"})


@dataclass(frozen=True, slots=True)
class _Subject:
    """One file with what is declared of it and what it has."""

    path: str
    module: str
    stub: Mapping[str, Declaration]
    imports: tuple[str, ...]
    tree: ast.Module
    had: Mapping[str, Declaration]
    is_open: bool

    @property
    def probe_path(self) -> str:
        return f"{_PROBES}{self.module.replace('.', '__')}.py"


def check_conformance(
    interfaces: Sequence[Interface],
    sources: Mapping[str, str],
    checker: Checker | None = None,
) -> tuple[Violation, ...]:
    """Return what in `sources` contradicts `interfaces`, sorted by file and name.

    `sources` has the texts of the project's Python files; only those that imports lead to are
    asked for. What cannot be told for certain is no violation. Raises `CheckerFailed` where the
    type checker gave no answer, or code is nested too deep: then nothing was judged.
    """
    history = History(sources.keys(), sources, [])
    found: list[Violation] = []
    subjects: list[_Subject] = []
    for path, body in _stubs_by_path(interfaces).items():
        module = history.module(path, 0)
        if module is None:
            found.append(Violation(path, "", "is declared but was not written"))
        elif module.problem is not None and not module.problem.is_syntax:
            raise CheckerFailed(f"{path} cannot be judged: {module.problem.message}")
        elif module.problem is not None:
            found.append(Violation(path, "", f"{DOES_NOT_PARSE}: {module.problem.message}"))
        else:
            tree = ast.Module(list(module.body or ()), [])
            subject = _subject(path, body, tree, is_open=module.is_open)
            subjects.append(subject)
            found += _static(subject)
    told = {(each.path, each.name) for each in found}
    for each in _checked(subjects, history, checker):
        members = {name for path, name in told if path == each.path and f"{each.name}." in name}
        if (each.path, each.name) not in told and not members:
            told.add((each.path, each.name))
            found.append(each)
    return tuple(sorted(found, key=lambda each: (each.path, each.name, each.message)))


def _stubs_by_path(interfaces: Sequence[Interface]) -> dict[str, list[ast.stmt]]:
    """Return the declarations of each file, later ones laid over earlier ones."""
    bodies: dict[str, list[ast.stmt]] = {}
    for each in interfaces:
        stub = parse_stub(each.stub)
        if isinstance(stub, Stub):
            bodies[each.path] = merge(bodies.get(each.path, ()), stub.tree.body)
    return bodies


def _subject(path: str, body: Sequence[ast.stmt], tree: ast.Module, *, is_open: bool) -> _Subject:
    stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
    module = stem.removeprefix(ROOTS[1]).replace("/", ".")
    is_package = path.endswith(("/__init__.py", "/__init__.pyi"))
    package = module.split(".") if is_package else module.split(".")[:-1]
    return _Subject(
        path,
        module,
        plain_declarations(body),
        tuple(absolute_imports(body, package)),
        tree,
        declarations(tree.body),
        is_open,
    )


# What the syntax tree tells


def _static(subject: _Subject) -> Iterator[Violation]:
    for name, declared in subject.stub.items():
        if name in _OF_THE_STUB:
            continue
        had = subject.had.get(name)
        if had is None:
            is_helper = name.startswith("_") or name in type_variables(subject.stub)
            if declared.kind != "import" and not is_helper and not subject.is_open:
                yield Violation(subject.path, name, f"`{shown(declared)}` is declared and missing")
        elif declared.kind == "class" and had.kind == "function":
            yield _unlike(subject, name, declared, had)
        elif declared.kind == had.kind == "function":
            yield from _asynchrony(subject, name, declared, had)
        elif declared.kind == had.kind == "class":
            yield from _members(subject, name, declared, had)


def _members(
    subject: _Subject, name: str, declared: Declaration, had: Declaration
) -> Iterator[Violation]:
    node = had.nodes[-1]
    assert isinstance(node, ast.ClassDef), "the kind says so"
    is_whole = base_names(node) <= _PLAIN_BASES and not node.keywords and not _is_dynamic(node)
    own = {*had.members, *_set_on_self(node)}
    for member, told in declared.members.items():
        here = had.members.get(member)
        if member in _OF_THE_STUB:
            continue
        if here is None:
            missing = is_whole and member not in own and not _is_made(member, node)
            if missing and told.kind in ("function", "variable"):
                message = f"`{shown(told)}` is declared and missing"
                yield Violation(subject.path, f"{name}.{member}", message)
        elif told.kind == here.kind == "function":
            yield from _asynchrony(subject, f"{name}.{member}", told, here)


def _is_made(member: str, node: ast.ClassDef) -> bool:
    """Say whether a decorator may make the member: dataclasses make `__init__`, `__eq__`, ..."""
    is_special = member.startswith("__") and member.endswith("__")
    return is_special and (bool(node.decorator_list) or hasattr(object, member))


def _is_dynamic(node: ast.ClassDef) -> bool:
    names = {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    }
    defined = {each.name for each in node.body if isinstance(each, _FunctionNode)}
    return not _DYNAMIC.isdisjoint(names | defined)


def _set_on_self(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr


def _asynchrony(
    subject: _Subject, name: str, declared: Declaration, had: Declaration
) -> Iterator[Violation]:
    """Tell a coroutine from a function, which only differ by the word `async`."""
    told, here = declared.nodes[-1], had.nodes[-1]
    if isinstance(told, ast.FunctionDef) and isinstance(here, ast.AsyncFunctionDef):
        awaited = ast.unparse(told.returns) if told.returns else ""
        if told.returns is not None and not re.search("Await|Corout|Async|Any", awaited):
            yield _unlike(subject, name, declared, had)
    elif isinstance(told, ast.AsyncFunctionDef) and isinstance(here, ast.FunctionDef):
        returns = any(isinstance(each, ast.Return) and each.value for each in ast.walk(here))
        if not here.decorator_list and not returns:
            yield _unlike(subject, name, declared, had)


def _unlike(subject: _Subject, name: str, declared: Declaration, had: Declaration) -> Violation:
    message = f"is declared as `{shown(declared)}` and written as `{shown(had)}`"
    return Violation(subject.path, name, message)


# What the type checker tells


def _checked(
    subjects: Sequence[_Subject], history: History, checker: Checker | None
) -> Iterator[Violation]:
    if not subjects:
        return
    if checker is None:
        with TypeChecker() as own:
            yield from _checked(subjects, history, own)
            return
    view = reachable(history, [name for each in subjects for name in _needed(each)], 0)
    probes = {each.probe_path: (each, _probe(each)) for each in subjects}
    files = _files(view, subjects)
    files.update({path: probe.text for path, (_, probe) in probes.items()})
    targets = [*probes, *(each.path for each in subjects)]
    by_path = {each.path: each for each in subjects}
    classes = frozenset(_plain_classes(view))
    diagnostics = checker.check(files, sorted(targets), view.roots)
    for each in diagnostics:
        if each.path in probes:
            yield from _probed(each, *probes[each.path], classes)
    for each in diagnostics:
        if each.path in by_path:
            yield from _in_body(each, by_path[each.path], files[each.path])


def _needed(subject: _Subject) -> Iterator[str]:
    yield subject.module
    for text in subject.imports:
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (each.name for each in node.names)


def _files(view: View, subjects: Sequence[_Subject]) -> dict[str, str]:
    files = view.files
    for each in subjects:
        tree = annotate(each.tree, each.stub, each.imports)
        files[each.path] = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return files


def _probe(subject: _Subject) -> ProbeModule:
    return build_probe(subject.module, subject.stub, subject.imports, subject.had.keys())


def _plain_classes(view: View) -> Iterator[str]:
    """Yield the project's classes that no value of another class passes for."""
    for module in view.modules.values():
        for name, each in module.declared.items():
            node = each.nodes[-1]
            if isinstance(node, ast.ClassDef) and base_names(node).isdisjoint(_STRUCTURAL):
                yield name


def _probed(
    diagnostic: Diagnostic, subject: _Subject, probe: ProbeModule, classes: frozenset[str]
) -> Iterator[Violation]:
    use = probe.probes.get(diagnostic.line)
    if use is None:
        return
    declared, had = _find(subject.stub, use.name), _find(subject.had, use.name)
    if declared is None or not _is_violated(diagnostic, use, declared, had, classes):
        return
    yield Violation(subject.path, use.name, _difference(declared, had, diagnostic))


def _difference(declared: Declaration, had: Declaration | None, diagnostic: Diagnostic) -> str:
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
    use: Probe,
    declared: Declaration,
    had: Declaration | None,
    classes: frozenset[str],
) -> bool:
    match use.kind:
        case "shape":
            return diagnostic.code == "assignment"
        case "types":
            return had is not None and surely_incompatible(declared, had, classes.__contains__)
        case "attribute" | "value":
            found = _ASSIGNED.search(diagnostic.message)
            return diagnostic.code == "assignment" and found is not None and _differ(found)


def _differ(found: re.Match[str]) -> bool:
    actual, expected = parse_type(found["actual"]), parse_type(found["expected"])
    return surely_differ(actual, expected, lambda name: False)


def _find(declared: Mapping[str, Declaration], name: str) -> Declaration | None:
    owner, _, member = name.partition(".")
    found = declared.get(owner)
    return found.members.get(member) if found is not None and member else found


def _in_body(diagnostic: Diagnostic, subject: _Subject, text: str) -> Iterator[Violation]:
    """Tell a body that returns what its declared type is not."""
    name, node = _function_at(ast.parse(text), diagnostic.line)
    declared = _find(subject.stub, name) if name else None
    if declared is None or node is None or declared.kind != "function":
        return
    if name.endswith("__init__") or _is_nested(node, diagnostic.line):
        return
    found = _RETURNED.search(diagnostic.message)
    if found is None and diagnostic.code in {"list-item", "dict-item"}:
        found = _ELEMENT.search(diagnostic.message) if _in_return(node, diagnostic.line) else None
    wrong = diagnostic.code != "return" and found is not None and _differ(found)
    nothing = diagnostic.code == "return" and _returns_nothing(node) and _must_return(declared)
    if wrong or nothing:
        got = f"`{found['actual']}`" if found else "nothing"
        message = f"is declared as `{shown(declared)}` and returns {got}"
        yield Violation(subject.path, name, message)


def _function_at(tree: ast.Module, line: int) -> tuple[str, _FunctionNode | None]:
    """Return the declared function that a line belongs to, with its qualified name."""
    for statement in tree.body:
        if isinstance(statement, _FunctionNode) and _spans(statement, line):
            return statement.name, statement
        if isinstance(statement, ast.ClassDef):
            for member in statement.body:
                if isinstance(member, _FunctionNode) and _spans(member, line):
                    return f"{statement.name}.{member.name}", member
    return "", None


def _spans(node: _FunctionNode, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_nested(node: _FunctionNode, line: int) -> bool:
    """Say whether a line is in a function inside of this one."""
    return any(
        isinstance(each, _FunctionNode | ast.Lambda)
        and each is not node
        and each.lineno <= line <= (each.end_lineno or line)
        for each in ast.walk(node)
    )


def _must_return(declared: Declaration) -> bool:
    node = declared.nodes[-1]
    returns = node.returns if isinstance(node, _FunctionNode) else None
    return returns is not None and "None" not in normal(returns).split(" | ")


def _in_return(node: _FunctionNode, line: int) -> bool:
    return any(
        isinstance(each, ast.Return) and each.lineno <= line <= (each.end_lineno or line)
        for each in ast.walk(node)
    )


def _returns_nothing(node: _FunctionNode) -> bool:
    """Say whether a body returns without a value, whatever way it takes, and is not empty."""
    inside = list(ast.walk(node))
    kinds = (ast.Yield, ast.YieldFrom, ast.Raise)
    has_value = any(isinstance(each, ast.Return) and each.value is not None for each in inside)
    return not has_value and not any(isinstance(each, kinds) for each in inside)
