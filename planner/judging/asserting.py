"""Says what asserts a requirement: a test of the plan, a command, or nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.rules.acceptance import weakness
from planner.rules.running_files import run_files
from shared.commands.commands import analyse_command
from shared.commands.test_runs import runs_tests
from shared.languages.capabilities.commands import CodeRun, Command, ProgramRun, ShellCodeRun
from shared.work_order.coverage import Asserted
from shared.work_order.schemas import WorkOrder


def asserted_by(order: WorkOrder, requirement: str, earlier: Iterable[WorkOrder] = ()) -> Asserted:
    """Return what in an order asserts one of the requirements that it covers.

    A test or command counts for every requirement of its order. Where tests or commands of the
    order name its requirements by their ids, each counts for those that it names. Tests that the
    executor writes itself count for nothing. `earlier` are the orders whose acceptance files the
    commands may run again.
    """
    commands = [analyse_command(each) for each in order.acceptance_commands]
    files = (file for each in (*earlier, order) for file in each.acceptance_files)
    texts = {each.path: each.content for each in files}
    tests = [texts[path] for path in sorted(run_files(commands, texts))]
    asserting = [each.text for each in commands if _asserts(each)]
    if _any_names([*tests, *asserting], order.covers):
        tests = [each for each in tests if _names(each, requirement)]
        asserting = [each for each in asserting if _names(each, requirement)]
    if tests:
        return Asserted.TEST
    return Asserted.COMMAND if asserting else Asserted.NOTHING


def _asserts(command: Command) -> bool:
    """Say whether a command compares something by itself, without a test that somebody writes."""
    if command.problem or command.operator or weakness(command) is not None:
        return False
    match command.run:
        case CodeRun() | ShellCodeRun():
            return True
        case ProgramRun():
            return runs_tests(command.text) is None
        case _:
            return False


def _any_names(texts: Iterable[str], requirements: Iterable[str]) -> bool:
    names = tuple(requirements)
    return any(_names(text, each) for text in texts for each in names)


def _names(text: str, requirement: str) -> bool:
    """Say whether a text names a requirement; a name of code has `_` for what it may not hold."""
    spelled = {re.escape(requirement), re.escape(re.sub(r"\W", "_", requirement))}
    pattern = rf"(?<![A-Za-z0-9])(?:{'|'.join(sorted(spelled))})(?![A-Za-z0-9])"
    return re.search(pattern, text, re.IGNORECASE) is not None
