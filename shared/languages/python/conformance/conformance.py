"""Decides whether code keeps the interfaces declared for it, without running any of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from shared.languages.capabilities.checking import Checker, CheckerFailed
from shared.languages.capabilities.conformance import DOES_NOT_PARSE, ContractViolation
from shared.languages.python.conformance.subject import Subject, subject_of
from shared.languages.python.conformance.written_names import missing_names
from shared.languages.python.conformance.written_types import wrong_types
from shared.languages.python.stubs.merge import merge_stubs
from shared.languages.python.views.views import ModuleHistory
from shared.work_order.schemas import Interface


def check_conformance(
    interfaces: Sequence[Interface],
    sources: Mapping[str, str],
    checker: Checker | None = None,
) -> tuple[ContractViolation, ...]:
    """Return what in `sources` contradicts `interfaces`, sorted by file and name.

    `sources` has the texts of the project's Python files by path. Only declared files and those
    that imports lead to are looked up. A difference that is not certain is not a violation. Raises
    `CheckerFailed` where the type checker gave no answer, or where a declared file cannot be parsed
    for a reason other than its syntax; nothing is judged then.
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
    for each in wrong_types(subjects, history, checker):
        members = {name for path, name in reported if path == each.path and f"{each.name}." in name}
        if (each.path, each.name) not in reported and not members:
            reported.add((each.path, each.name))
            found.append(each)
    return tuple(sorted(found, key=lambda each: (each.path, each.name, each.message)))
