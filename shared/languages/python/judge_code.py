"""Judges the Python of a planned chain by the type checker.

An error must be right. So a diagnostic is an error only at a place where the code does not expect
a failure, and where the command has not replaced the declared things that it uses.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from shared.files.strict_documents import at
from shared.languages.declared.declarations import normal_changes
from shared.languages.language_tools import Checker, CheckerFailed, Diagnostic, Tools
from shared.languages.planned_code import (
    DOUBT,
    AcceptanceText,
    Chain,
    Fault,
    Need,
    TextFault,
    Verdict,
    at_place,
    file_cannot_be_read,
    files_without_interface,
    not_defined,
    stub_contradicts,
    stub_does_not_parse,
    stub_uses_undefined,
)
from shared.languages.python.code_facts import CodeFacts, Spot, mentions
from shared.languages.python.complaint_scene import (
    CodeInQuestion,
    ComplaintPlace,
    Scene,
    questions_of,
    stored_names,
    without_type_variables,
)
from shared.languages.python.complaint_verdicts import judge_complaint
from shared.languages.python.merge_stubs import is_meant, merge
from shared.languages.python.module_views import ANYTHING, ModuleView, reachable
from shared.languages.python.mypy_messages import (
    Mistake,
    MypyComplaint,
    read_complaint,
    stops_for_standard_name,
)
from shared.languages.python.name_backing import BackedNames
from shared.languages.python.planned_python import (
    Layout,
    PlacedCode,
    PlannedOrder,
    PlannedProject,
    import_roots,
    layout_of,
    read_project,
    unmet_import,
    unmet_module_run,
)
from shared.languages.python.python_code import NAME, ROOTS, has_names_to_declare
from shared.languages.python.signatures import conflicts, undefined_names
from shared.languages.python.stubs import depth_exceeds
from shared.languages.python.type_checker import FileBlocked, TypeChecker
from shared.languages.read_commands import CodeRun, Command, ModuleRun, Weakness

# These complaints are about the call itself; the others are about one of its arguments.
_OF_THE_CALL: Final = (Mistake.ARITY, Mistake.ABSTRACT)


# Errors and doubts about the type that a value has now, which an order may change.
_OF_VALUES: Final = frozenset({"E213", "E214", "W222"})


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Represent a finding in the making.

    `about` tells faults apart: a second complaint about the same thing is not a second fault.
    `call` is the faulty call, where there is one: where the number of its arguments is wrong, the
    type of one argument is not a second fault.
    """

    code: str
    about: tuple[str, object]
    message: str
    call: ast.Call | None = None


def diagnose(diagnostic: Diagnostic, scene: Scene) -> Diagnosis | None:
    spot = scene.facts.locate(diagnostic)
    if spot is None or scene.facts.is_guarded(spot) or scene.facts.depends_on_type(spot):
        return None
    complaint = read_complaint(diagnostic)
    place = ComplaintPlace(spot, scene)
    found = judge_complaint(complaint, place)
    if found is not None and found.code in _OF_VALUES and place.is_loose():
        return None
    if found is not None and found != DOUBT:
        found = _unless_replaced(found, complaint, spot, scene)
    if found is None:
        return None
    message = at_place(diagnostic.message, spot.line, spot.column, found.addition)
    call = spot.call if complaint.mistake in _OF_THE_CALL else spot.call_with_argument
    return Diagnosis(found.code, _about(diagnostic, complaint, spot), message, call)


def _unless_replaced(
    found: Verdict, complaint: MypyComplaint, spot: Spot, scene: Scene
) -> Verdict | None:
    """Return the error `found`, or less where the command may have replaced declared values.

    The result is `None` if the place uses a name that holds another type than the checker
    assumes. It is a doubt where a mock, a starred argument, an attribute that the command sets or
    an inferred lambda may explain the complaint.
    """
    if any(mentions(each, scene.stored) for each in spot.near):
        return None
    if complaint.mistake is Mistake.READ_ONLY:
        return found
    nodes = [node for each in spot.near for node in ast.walk(each)]
    attributes = {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    uncertain = (
        scene.facts.uses_mocks
        or _has_star(spot)
        or bool(attributes & scene.facts.set_attributes)
        or spot.is_in_inferred_lambda
        or any(each.startswith("__") for each in scene.facts.set_attributes)
    )
    return DOUBT if uncertain else found


def _about(diagnostic: Diagnostic, complaint: MypyComplaint, spot: Spot) -> tuple[str, object]:
    if complaint.mistake is Mistake.ELEMENT:
        return "container", spot.around[0]
    if complaint.mistake is Mistake.VALUE_LACKS and "__" in complaint.name:
        return "protocol", spot.node  # `__enter__` and `__exit__` are missing together
    return "message", diagnostic.message


def _has_star(spot: Spot) -> bool:
    calls = [each for each in (spot.call, spot.call_with_argument) if each is not None]
    return any(
        any(isinstance(each, ast.Starred) for each in call.args)
        or any(each.arg is None for each in call.keywords)
        for call in calls
    )


# Deeper code ends the checker's process instead of being judged.
_MAX_DEPTH: Final = 200
# Files that stop the checker are hidden from it one by one; after this many, it has failed.
_MAX_BLOCKED: Final = 8
# A hundred orders with ten commands each. A hundred times that takes a quarter of an hour.
_MAX_ASKED: Final = 1000
# Errors about types, which the checker may have inferred for a type variable.
_INFERRED: Final = frozenset({"E213", "E214"})


def judge_types(project: PlannedProject, tools: Tools) -> Iterator[Fault]:
    """Yield the faults of the Python in the plan's commands and acceptance files.

    Undefined names need no type checker, and neither does a command that imports no known module
    of the project. The checker is only used where a command needs it.
    """
    questions: list[CodeInQuestion] = []
    for planned in project.orders:
        for question in questions_of(project, planned):
            if depth_exceeds(question.tree, _MAX_DEPTH):
                message = f"{question.subject} cannot be judged: it is nested too deep"
                yield question.whole("E215", message)
                continue
            questions.append(question)
            yield from _undefined(question)
    views = [(each, _view(each)) for each in questions]
    yield from _unreadable_files(view for _, view in views)
    asked = [(each, view) for each, view in views if view.is_known]
    if asked:
        yield from _ask_all(asked, tools.checker(NAME, TypeChecker))


def _undefined(question: CodeInQuestion) -> Iterator[Fault]:
    facts = CodeFacts(question.source, question.tree)
    for name, line, column in facts.undefined_names():
        yield question.fault("E216", not_defined(name, line, column))


def _view(question: CodeInQuestion) -> ModuleView:
    project, position = question.project, question.planned.position
    if project.chain.is_blind(position):
        return ModuleView({}, ())
    return reachable(project.history, question.imported, position)


def _unreadable_files(views: Iterable[ModuleView]) -> Iterator[Fault]:
    reported: set[str] = set()
    for view in views:
        for module in view.modules.values():
            if module.problem is not None and module.path not in reported:
                reported.add(module.path)
                yield file_cannot_be_read(module.path, module.problem.message)


def _ask_all(
    asked: Sequence[tuple[CodeInQuestion, ModuleView]], checker: Checker
) -> Iterator[Fault]:
    """Ask order by order, so that the checker's files change as the project will."""
    if len(asked) > _MAX_ASKED:
        message = f"over {_MAX_ASKED} commands use the project's Python: none of them was judged"
        yield Fault("E299", 0, at(), message)
        return
    groups: dict[tuple[int, tuple[str, ...]], list[tuple[CodeInQuestion, ModuleView]]] = {}
    for question, view in asked:
        groups.setdefault((question.planned.position, view.roots), []).append((question, view))
    for group in groups.values():
        try:
            yield from _ask(group, checker)
        except CheckerFailed as failed:
            message = f"no command from here on was judged: {failed.message}"
            position = group[0][0].planned.position
            yield Fault("E299", position, at("acceptance_commands"), message)
            return


def _ask(group: Sequence[tuple[CodeInQuestion, ModuleView]], checker: Checker) -> Iterator[Fault]:
    """Ask about the commands of one order; a file that stops the checker is reported and hidden."""
    roots = group[0][1].roots
    view = ModuleView(
        {name: each for _, part in group for name, each in part.modules.items()}, roots
    )
    files = {**view.files, **{each.path: each.source for each, _ in group}}
    targets = {each.path: each for each, _ in group}
    for _ in range(_MAX_BLOCKED):
        try:
            diagnostics = checker.check(files, sorted(targets), roots)
        except FileBlocked as blocked:
            fault = _take_out(blocked, files, targets, view)
            if fault is None:
                raise
            yield fault
        else:
            judged = list(_faults(diagnostics, targets, view))
            yield from _confirmed(judged, files, view, checker)
            return
    raise CheckerFailed(f"{_MAX_BLOCKED} files stop the type checker, one after the other")


def _take_out(
    blocked: FileBlocked,
    files: dict[str, str],
    targets: dict[str, CodeInQuestion],
    view: ModuleView,
) -> Fault | None:
    """Hide the file that stops the checker, and return a fault; `None` if it cannot be hidden."""
    question = targets.pop(blocked.path, None)
    if question is not None:
        del files[blocked.path]
        message = f"{question.subject} cannot be judged: {blocked.reason}"
        return question.whole("E215", message)
    module = next((m for m in view.modules.values() if m.checked_path == blocked.path), None)
    if module is None or module.contract is not None or stops_for_standard_name(blocked.reason):
        return None
    del files[blocked.path]
    files[blocked.path.removesuffix(".py") + ".pyi"] = ANYTHING
    return file_cannot_be_read(module.path, blocked.reason)


_Diagnosed = tuple[CodeInQuestion, Diagnostic, Diagnosis]
"""A diagnostic of a command with its diagnosis."""


def _faults(
    diagnostics: Sequence[Diagnostic], targets: Mapping[str, CodeInQuestion], view: ModuleView
) -> Iterator[_Diagnosed]:
    """Yield the diagnosed diagnostics of the commands, each fault once."""
    names = BackedNames(view)
    for path in dict.fromkeys(each.path for each in diagnostics if each.path in targets):
        question, found = targets[path], [each for each in diagnostics if each.path == path]
        scene = _scene(question, names, found)
        diagnosed = [(each, diagnose(each, scene)) for each in found]
        miscounted = {each.call for _, each in diagnosed if each and each.code == "E212"} - {None}
        reported: set[tuple[str, object]] = set()
        for each, diagnosis in diagnosed:
            if diagnosis is None or (diagnosis.code == "E213" and diagnosis.call in miscounted):
                continue
            if (key := (diagnosis.code, diagnosis.about)) not in reported:
                reported.add(key)
                yield question, each, diagnosis


def _confirmed(
    judged: Sequence[_Diagnosed],
    files: Mapping[str, str],
    view: ModuleView,
    checker: Checker,
) -> Iterator[Fault]:
    """Yield a fault for each fault; an error that depends on an inferred type is a warning.

    The commands that may have such an error are checked a second time, with `Any` in the place of
    each type variable. An error that the second check does not repeat depends on an inferred type.
    """
    doubtful = sorted({asked.path for asked, _, found in judged if found.code in _INFERRED})
    erased = without_type_variables(view) if doubtful else {}
    again: frozenset[tuple[str, int, int, str]] = frozenset()
    if erased:
        # Where a rewritten file stops the checker, no error is confirmed.
        with suppress(FileBlocked):
            found = checker.check({**files, **erased}, doubtful, view.roots)
            again = frozenset(map(_place, found))
    for question, diagnostic, diagnosis in judged:
        is_inferred = diagnosis.code in _INFERRED and _place(diagnostic) not in again
        code = "W222" if erased and is_inferred else diagnosis.code
        yield question.fault(code, diagnosis.message)


def _place(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    return diagnostic.path, diagnostic.line, diagnostic.column, diagnostic.code


def _scene(
    question: CodeInQuestion, names: BackedNames, diagnostics: Sequence[Diagnostic]
) -> Scene:
    facts = CodeFacts(question.source, question.tree)
    located = [(read_complaint(each), facts.locate(each)) for each in diagnostics]
    stored = stored_names((complaint, spot) for complaint, spot in located if spot is not None)
    derived = facts.derived(names.is_own)
    made_loosely = facts.made_with(names.loose_members)
    loose = facts.derived(names.is_loose) | facts.made_of(made_loosely)
    stored |= facts.swapped_names()
    return Scene(question, facts, names, derived, loose, facts.made_of(stored))


def interface_faults(project: PlannedProject) -> Iterator[Fault]:
    """Yield E201, E203 and E204 for stubs, and W223 for files without any."""
    for each in project.orders:
        if each.order.valid:
            for declared, stub in each.interfaces:
                if isinstance(stub, TextFault):
                    yield stub_does_not_parse(each.position, declared, stub)
            yield from _undefined_interfaces(each, project)
            yield from _contradicting(each, project)
            yield from _undeclared(each, project)


def _undefined_interfaces(planned: PlannedOrder, project: PlannedProject) -> Iterator[Fault]:
    for each, stub in planned.interfaces:
        if not isinstance(stub, ast.Module):
            continue
        before = project.history.module(each.path, planned.position - 1)
        module = project.history.module(each.path, planned.position)
        if module is not None and not (before is not None and before.is_open):
            for name, line in undefined_names(stub.body, frozenset(module.declared)):
                yield stub_uses_undefined(planned.position, each, name, line)


def _contradicting(planned: PlannedOrder, project: PlannedProject) -> Iterator[Fault]:
    history, earlier_position = project.history, planned.position - 1
    changed = normal_changes(planned.order.changes)
    within: dict[str, list[ast.stmt]] = {}
    for each, stub in planned.interfaces:
        if not isinstance(stub, ast.Module):
            continue
        before = history.module(each.path, earlier_position)
        earlier = (before.contract or ()) if before else ()
        known = merge(earlier, within[each.path]) if each.path in within else earlier
        for found in conflicts(known, stub.body):
            if is_meant(found.name, each.path, changed):
                continue
            by = before and history.declared_by(each.path, found.name, earlier_position)
            source = project.chain.source(by) if by else "this order"
            yield stub_contradicts(planned.position, each, found, source)
        within[each.path] = merge(within.get(each.path, ()), stub.body)


def _undeclared(planned: PlannedOrder, project: PlannedProject) -> Iterator[Fault]:
    def should_have_one(path: str) -> bool:
        if not has_names_to_declare(path):
            return False
        before = project.history.module(path, planned.position - 1)
        # Where the file's names are known, the order may leave them as they are.
        return before is None or before.body is None

    return files_without_interface(planned.order, should_have_one)


class PythonChain:
    """Implement `ChainCode` for Python."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @cached_property
    def _project(self) -> PlannedProject:
        return read_project(self._chain)

    @cached_property
    def _layout(self) -> Layout:
        return layout_of(self._chain)

    def interface_faults(self) -> Iterator[Fault]:
        """Yield what is wrong with the stubs, and the modules that have none."""
        return interface_faults(self._project)

    def needs_of_command(self, position: int, command: Command) -> Iterator[Need]:
        match command.run:
            case CodeRun(code) if command.language == NAME and "sys.path" not in code.source:
                placed = self._place(position, import_roots(command))
                for each in code.imports:
                    yield from unmet_import(placed, each)
            case ModuleRun(module) if command.language == NAME:
                yield from unmet_module_run(self._place(position, import_roots(command)), module)
            case _:
                return

    def needs_of_file(self, position: int, file: AcceptanceText) -> Iterator[Need]:
        tests = self._project.orders[position - 1].tests
        code = next((code for test, code in tests if test == file), None)
        if code is None or "sys.path" in code.source:
            return
        # pytest looks in the folder of a test file, too.
        roots = (*ROOTS, f"{posixpath.dirname(file.path)}/".removeprefix("/"))
        placed = self._place(position, roots)
        for imported in code.imports:
            for need in unmet_import(placed, imported):
                yield replace(need, line=imported.line)

    def _place(self, position: int, roots: tuple[str, ...]) -> PlacedCode:
        return PlacedCode(self._project, self._layout, position, roots)

    def use_faults(self, tools: Tools) -> Iterator[Fault]:
        return judge_types(self._project, tools)

    def weakness(self, position: int, command: Command) -> Weakness | None:
        """Return nothing: the text of a command shows all that is known of it."""
        return None
