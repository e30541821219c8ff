"""Says what asserts a requirement: a test of the plan, a command, or nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from planner.rules.acceptance import weakness
from planner.rules.running_files import run_files
from shared.commands.commands import analyse_command
from shared.commands.test_runs import runs_tests
from shared.languages.capabilities.commands import CodeRun, Command, ProgramRun, ShellCodeRun
from shared.work_order.coverage import Asserted
from shared.work_order.schemas import WorkOrder

_NOT_OF_A_NAME = re.compile(r"[^a-z0-9]+")


def assertions_of(order: WorkOrder, earlier: Mapping[str, str]) -> Mapping[str, Asserted]:
    """Return what in an order asserts each of the requirements that it covers.

    A test or command counts for every requirement of its order. Where tests or commands of the
    order name its requirements by their ids, each counts for those that it names. Tests that the
    executor writes itself count for nothing. `earlier` has the texts of the acceptance files of
    earlier orders by path: the commands may run them again.
    """
    commands = [analyse_command(each) for each in order.acceptance_commands]
    texts = {**earlier, **{each.path: each.content for each in order.acceptance_files}}
    tests = [texts[path] for path in sorted(run_files(commands, texts))]
    asserting = [each.text for each in commands if _asserts(each)]
    by_test, by_command = _named(tests, order.covers), _named(asserting, order.covers)
    if not by_test | by_command:
        by_test = frozenset(order.covers if tests else ())
        by_command = frozenset(order.covers if asserting else ())
    return {
        name: Asserted.TEST
        if name in by_test
        else Asserted.COMMAND
        if name in by_command
        else Asserted.NOTHING
        for name in order.covers
    }


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


def _named(texts: Iterable[str], requirements: Iterable[str]) -> frozenset[str]:
    """Return the requirements that a text names: in a comment, or in a name, as `test_r_2`."""
    spelled = _spelled("\n".join(texts))
    return frozenset(each for each in requirements if _spelled(each) in spelled)


def _spelled(text: str) -> str:
    """Return the letters and digits of a text in words, each between two underscores."""
    return _NOT_OF_A_NAME.sub("_", f"_{text.lower()}_")
