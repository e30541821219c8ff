"""Finds faults of the stubs that a plan declares, by themselves and in the chain."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shared.languages.capabilities.chain import Fault
from shared.languages.fault_words import (
    has_no_interface,
    stub_contradicts,
    stub_does_not_parse,
    stub_uses_undefined,
)
from shared.languages.python.files import has_names_to_declare
from shared.languages.python.planned.project import DeclaredInterface, PlannedOrder, Project
from shared.languages.python.stubs.contracts import is_meant, normal_changes
from shared.languages.python.stubs.merge import merge
from shared.languages.python.stubs.signatures import conflicts
from shared.languages.python.stubs.stubs import Stub, StubProblem
from shared.languages.python.stubs.undefined import undefined_names
from shared.work_order.field_path import FieldPath, at


def interface_faults(project: Project) -> Iterator[Fault]:
    """Yield E201, E203 and E204 for stubs, and W223 for files without any."""
    for each in project.orders:
        if each.order.valid:
            yield from _unparsable(each)
            yield from _undefined(each, project)
            yield from _contradicting(each, project)
            yield from _undeclared(each, project)


def _stub(declared: DeclaredInterface) -> FieldPath:
    return at("interfaces", declared.index, "stub")


def _unparsable(planned: PlannedOrder) -> Iterator[Fault]:
    for each in planned.interfaces:
        problem = each.stub
        if isinstance(problem, StubProblem):
            message = stub_does_not_parse(each.path, problem.message, problem.line, problem.excerpt)
            yield Fault("E201", planned.position, _stub(each), message)


def _undefined(planned: PlannedOrder, project: Project) -> Iterator[Fault]:
    for each in planned.interfaces:
        if not isinstance(each.stub, Stub):
            continue
        before = project.history.module(each.path, planned.position - 1)
        module = project.history.module(each.path, planned.position)
        if module is None or (before is not None and before.is_open):
            continue
        for found in undefined_names(each.stub.tree.body, frozenset(module.declared)):
            message = stub_uses_undefined(each.path, found.name, found.line)
            yield Fault("E203", planned.position, _stub(each), message)


def _contradicting(planned: PlannedOrder, project: Project) -> Iterator[Fault]:
    history, earlier_position = project.history, planned.position - 1
    changed = normal_changes(planned.order.changes)
    within: dict[str, list[ast.stmt]] = {}
    for each in planned.interfaces:
        if not isinstance(each.stub, Stub):
            continue
        before = history.module(each.path, earlier_position)
        earlier = (before.contract or ()) if before else ()
        known = merge(earlier, within[each.path]) if each.path in within else earlier
        for found in conflicts(known, each.stub.tree.body):
            if is_meant(found.name, each.path, changed):
                continue
            by = before and history.declared_by(each.path, found.name, earlier_position)
            source = project.chain.source(by) if by else "this order"
            message = stub_contradicts(
                each.path, found.name, found.line, source, found.before, found.after
            )
            yield Fault("E204", planned.position, _stub(each), message)
        within[each.path] = merge(within.get(each.path, ()), each.stub.tree.body)


def _undeclared(planned: PlannedOrder, project: Project) -> Iterator[Fault]:
    declared = {each.path for each in planned.interfaces}
    reported: set[str] = set()
    for index, path in enumerate(planned.order.allowed_files):
        if path in declared | reported or not has_names_to_declare(path):
            continue
        before = project.history.module(path, planned.position - 1)
        if before is not None and before.body is not None:
            continue  # the file's names are known, and the order may leave them as they are
        reported.add(path)
        message = has_no_interface(path)
        yield Fault("W223", planned.position, at("allowed_files", index), message)
