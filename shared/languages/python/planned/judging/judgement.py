"""Puts the Python of a plan's commands and acceptance files to the type checker, in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.chain import Fault
from shared.languages.capabilities.checking import Checker, CheckerFailed, Diagnostic
from shared.languages.capabilities.tools import Tools
from shared.languages.fault_words import file_cannot_be_read, not_defined
from shared.languages.python.checker.checker import FileBlocked, TypeChecker
from shared.languages.python.checker.mypy_messages import read_complaint, stops_for_standard_name
from shared.languages.python.files import NAME
from shared.languages.python.planned.judging.backing import Names
from shared.languages.python.planned.judging.code_facts import CodeFacts
from shared.languages.python.planned.judging.diagnosis import Diagnosis, diagnose
from shared.languages.python.planned.judging.question import Question, questions_of
from shared.languages.python.planned.judging.scene import Scene
from shared.languages.python.planned.judging.stores import stored_names
from shared.languages.python.planned.judging.type_variables import without_type_variables
from shared.languages.python.planned.project import Project
from shared.languages.python.stubs.stubs import depth_exceeds
from shared.languages.python.views.modules import ANYTHING
from shared.languages.python.views.views import View, reachable
from shared.work_order.field_path import at

# Deeper code ends the checker's process instead of being judged.
_MAX_DEPTH: Final = 200
# Files that stop the checker are hidden from it one by one; after this many, it has failed.
_MAX_BLOCKED: Final = 8
# A hundred orders with ten commands each. A hundred times that takes a quarter of an hour.
_MAX_ASKED: Final = 1000
# Errors about types, which the checker may have inferred for a type variable.
_INFERRED: Final = frozenset({"E213", "E214"})


def judge_types(project: Project, tools: Tools) -> Iterator[Fault]:
    """Yield the faults of the Python in the plan's commands and acceptance files.

    Undefined names need no type checker, and neither does a command that imports no known module
    of the project. The checker is only used where a command needs it.
    """
    questions: list[Question] = []
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


def _undefined(question: Question) -> Iterator[Fault]:
    facts = CodeFacts(question.source, question.tree)
    for name, line, column in facts.undefined_names():
        yield question.fault("E216", not_defined(name, line, column))


def _view(question: Question) -> View:
    """Return the part of the project that the code can reach."""
    project, position = question.project, question.planned.position
    blind = project.chain.files.blind_from
    if blind is not None and blind <= position:
        return View({}, ())
    return reachable(project.history, question.imported, position)


def _unreadable_files(views: Iterable[View]) -> Iterator[Fault]:
    reported: set[str] = set()
    for view in views:
        for module in view.modules.values():
            if module.problem is not None and module.path not in reported:
                reported.add(module.path)
                yield _unreadable(module.path, module.problem.message)


def _unreadable(path: str, reason: str) -> Fault:
    return Fault("W224", 0, at(), file_cannot_be_read(path, reason))


def _ask_all(asked: Sequence[tuple[Question, View]], checker: Checker) -> Iterator[Fault]:
    """Ask order by order, so that the checker's files change as the project will."""
    if len(asked) > _MAX_ASKED:
        message = f"over {_MAX_ASKED} commands use the project's Python: none of them was judged"
        yield Fault("E299", 0, at(), message)
        return
    groups: dict[tuple[int, tuple[str, ...]], list[tuple[Question, View]]] = {}
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


def _ask(group: Sequence[tuple[Question, View]], checker: Checker) -> Iterator[Fault]:
    """Ask about the commands of one order; a file that stops the checker is reported and hidden."""
    roots = group[0][1].roots
    view = View({name: each for _, part in group for name, each in part.modules.items()}, roots)
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
    blocked: FileBlocked, files: dict[str, str], targets: dict[str, Question], view: View
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
    return _unreadable(module.path, blocked.reason)


@dataclass(frozen=True, slots=True)
class _Judged:
    """Hold a diagnostic of a command with its diagnosis."""

    question: Question
    diagnostic: Diagnostic
    diagnosis: Diagnosis


def _faults(
    diagnostics: Sequence[Diagnostic], targets: Mapping[str, Question], view: View
) -> Iterator[_Judged]:
    """Yield the diagnosed diagnostics of the commands, each fault once."""
    names = Names(view)
    by_path: dict[str, list[Diagnostic]] = {}
    for each in diagnostics:
        by_path.setdefault(each.path, []).append(each)
    for path, found in by_path.items():
        question = targets.get(path)
        if question is None:
            continue
        scene = _scene(question, names, found)
        diagnosed = [(each, diagnose(each, scene)) for each in found]
        miscounted = {each.call for _, each in diagnosed if each and each.code == "E212"} - {None}
        reported: set[tuple[str, object]] = set()
        for each, diagnosis in diagnosed:
            if diagnosis is None or (diagnosis.code == "E213" and diagnosis.call in miscounted):
                continue
            if (key := (diagnosis.code, diagnosis.about)) not in reported:
                reported.add(key)
                yield _Judged(question, each, diagnosis)


def _confirmed(
    judged: Sequence[_Judged],
    files: Mapping[str, str],
    view: View,
    checker: Checker,
) -> Iterator[Fault]:
    """Yield a fault for each fault; an error that depends on an inferred type is a warning.

    The commands that may have such an error are checked a second time, with `Any` in the place of
    each type variable. An error that the second check does not repeat depends on an inferred type.
    """
    doubtful = sorted({e.question.path for e in judged if e.diagnosis.code in _INFERRED})
    erased = without_type_variables(view) if doubtful else {}
    again: frozenset[tuple[str, int, int, str]] = frozenset()
    if erased:
        # Where a rewritten file stops the checker, no error is confirmed.
        with suppress(FileBlocked):
            found = checker.check({**files, **erased}, doubtful, view.roots)
            again = frozenset(map(_place, found))
    for each in judged:
        diagnosis = each.diagnosis
        is_inferred = diagnosis.code in _INFERRED and _place(each.diagnostic) not in again
        code = "W222" if erased and is_inferred else diagnosis.code
        yield each.question.fault(code, diagnosis.message)


def _place(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    return diagnostic.path, diagnostic.line, diagnostic.column, diagnostic.code


def _scene(question: Question, names: Names, diagnostics: Sequence[Diagnostic]) -> Scene:
    facts = CodeFacts(question.source, question.tree)
    located = [(read_complaint(each), facts.locate(each)) for each in diagnostics]
    stored = stored_names((complaint, spot) for complaint, spot in located if spot is not None)
    return Scene(
        facts=facts,
        view=names.view,
        names=names,
        history=question.project.history,
        position=question.planned.position,
        source=question.project.chain.source,
        derived=facts.derived(names.is_own),
        stored=facts.made_of(stored | facts.swapped_names()),
        set_attributes=facts.set_attributes(),
        local_classes=facts.local_classes(),
    )
