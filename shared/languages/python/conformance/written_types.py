"""Checks with the type checker whether names of a file surely have other types than declared."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.languages.capabilities.checking import Checker, Diagnostic
from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.python.checker.checker import TypeChecker
from shared.languages.python.checker.complaints import (
    NoReturn,
    WrongElement,
    WrongReturn,
    WrongStore,
)
from shared.languages.python.checker.mypy_messages import read_complaint
from shared.languages.python.conformance.annotate import annotate
from shared.languages.python.conformance.constructors import constructor_of
from shared.languages.python.conformance.probe import Probe, ProbeModule, build_probe
from shared.languages.python.conformance.subject import Subject
from shared.languages.python.node_names import base_names
from shared.languages.python.stubs.declarations import Declaration
from shared.languages.python.stubs.signatures import normal, shown, surely_incompatible
from shared.languages.python.stubs.type_text import TypeText, surely_differ
from shared.languages.python.views.views import ModuleHistory, View, reachable

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_STRUCTURAL: Final = frozenset({"Protocol", "TypedDict", "NamedTuple"})


def wrong_types(
    subjects: Sequence[Subject], history: ModuleHistory, checker: Checker | None
) -> Iterator[ContractViolation]:
    """Yield a violation for each name that surely has another type than was declared.

    Without a `checker`, a new one is opened and closed. Raises `CheckerFailed` where the type
    checker gave no answer.
    """
    if not subjects:
        return
    if checker is None:
        with TypeChecker() as own:
            yield from wrong_types(subjects, history, own)
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


def _files(view: View, subjects: Sequence[Subject]) -> dict[str, str]:
    files = view.files
    for each in subjects:
        tree = annotate(each.tree, each.stub, each.imports)
        files[each.path] = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return files


def _probe(subject: Subject) -> ProbeModule:
    return build_probe(subject.module, subject.stub, subject.imports, subject.had.keys())


def _plain_classes(view: View) -> Iterator[str]:
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
    if declared is None or not _is_violated(diagnostic, use, declared, had, classes):
        return
    yield ContractViolation(subject.path, use.name, _difference(declared, had, diagnostic))


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
    complaint = read_complaint(diagnostic)
    match use.kind:
        case "shape":
            return isinstance(complaint, WrongStore)
        case "types":
            return had is not None and surely_incompatible(declared, had, classes.__contains__)
        case "attribute" | "value":
            return (
                isinstance(complaint, WrongStore)
                and complaint.actual is not None
                and complaint.expected is not None
                and _differ(complaint.actual, complaint.expected)
            )


def _differ(actual: TypeText, expected: TypeText) -> bool:
    return surely_differ(actual, expected, lambda _: False)


def _find(declared: Mapping[str, Declaration], name: str) -> Declaration | None:
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
    diagnostic: Diagnostic, node: _FunctionNode, declared: Declaration
) -> str | None:
    """Return what a body wrongly returns, in words; `None` where it keeps to its annotation."""
    match read_complaint(diagnostic):
        case WrongReturn(actual, expected, text) if _differ(actual, expected):
            return f"`{text}`"
        case WrongElement(pairs, text) if _in_return(node, diagnostic.line):
            return f"`{text}`" if any(_differ(*each) for each in pairs) else None
        case NoReturn() if _returns_nothing(node) and _must_return(declared):
            return "nothing"
        case _:
            return None


def _function_at(tree: ast.Module, line: int) -> tuple[str, _FunctionNode | None]:
    """Return the qualified name and the node of the function or method that has a line.

    The name is empty, and the node is `None`, where the line is in no function.
    """
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
    """Return whether a line is in a function inside this function."""
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
    """Return whether a function has no `return` with a value, no `yield` and no `raise`."""
    inside = list(ast.walk(node))
    kinds = (ast.Yield, ast.YieldFrom, ast.Raise)
    has_value = any(isinstance(each, ast.Return) and each.value is not None for each in inside)
    return not has_value and not any(isinstance(each, kinds) for each in inside)
