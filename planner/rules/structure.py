"""Checks a plan by its document alone, and whether its commands can be executed, and can fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from planner.rules.rule_model import (
    Finding,
    PlanView,
    Rule,
    Step,
    each_step,
    plan_finding,
    reader_of,
)
from shared.errors import quoted
from shared.files.paths import glob_characters
from shared.files.strict_documents import FieldPath, at
from shared.languages.planned_code import code_cannot_be_judged
from shared.languages.property_tests import call_beside_itself
from shared.languages.read_commands import (
    CodeProblem,
    CodeRun,
    Command,
    ProgramRun,
    ShellCodeRun,
    Weakness,
)
from shared.work_order import work_order


def malformed_parts(view: PlanView) -> Iterator[Finding]:
    for problem in view.plan.problems:
        yield plan_finding("E000", problem.at, problem.message)
    for step in view.steps:
        if not step.draft.is_object:
            yield step.finding("E000", at(), "the entry of work_orders is no object")


E000 = Rule(
    "E000",
    "document malformed",
    why="The other rules need a list of orders; without one, nothing can be judged.",
    bad='{"work_orders": []}',
    good='{"work_orders": [{"id": "WO-01"}]}',
    remedy=(
        "Reply with one JSON object with `work_orders`, a list of at least one object, and "
        '`verify_contract`, null or {"command": ..., "requires": [...]}. Each key once.'
    ),
    check=malformed_parts,
)


def misnumbered_orders(view: PlanView) -> Iterator[Finding]:
    """Yield the faults in the sequence of ids, and resume the count after each fault.

    `open_slots` counts the entries since the last good id whose own place is not known. `skipped`
    counts the numbers in gaps that already have their finding. The numbers of withdrawn orders are
    gaps without a fault. E314 judges the ids of a reply to a plan.
    """
    if view.answer is not None:
        return
    withdrawn = view.plan.succession.withdrawn_numbers
    expected, open_slots, skipped = 1, 0, 0
    seen: set[int] = set()
    for step in view.steps:
        given = step.draft.raw.get("id")
        number = work_order.order_number(given) if isinstance(given, str) else None
        while expected in withdrawn and expected != number:
            expected += 1
        if number is None:
            open_slots += 1
            if isinstance(given, str):
                yield step.finding("E001", at("id"), f"{quoted(given)} is not of the form WO-01")
        elif number in seen:
            open_slots += 1
            yield step.finding("E001", at("id"), f"{given} stands twice")
        elif number > expected + open_slots:
            yield step.finding(
                "E001", at("id"), f"{work_order.order_id(expected)} is missing before {given}"
            )
            skipped += number - expected
            expected, open_slots = number + 1, 0
        elif number >= expected:
            expected, open_slots = number + 1, 0
        elif skipped:
            skipped -= 1
        else:
            open_slots += 1
            yield step.finding("E001", at("id"), f"{given} is out of order")
        if number is not None:
            seen.add(number)


E001 = Rule(
    "E001",
    "order ids not in sequence",
    why="Orders are executed by number, and commits carry it: a gap or a duplicate loses one.",
    bad='{"work_orders": [{"id": "WO-01"}, {"id": "WO-03"}]}',
    good='{"work_orders": [{"id": "WO-01"}, {"id": "WO-02"}]}',
    remedy="Number the orders WO-01, WO-02, ... as listed: two digits, and WO-100 after WO-99.",
    check=misnumbered_orders,
)


def paths_with_globs(view: PlanView) -> Iterator[Finding]:
    for step in view.steps:
        seen: set[str] = set()
        for field, path in step.draft.globs:
            if path not in seen:
                seen.add(path)
                yield step.finding("E004", field, _glob_message(path))
    contract = view.plan.contract
    for index, required in enumerate(contract.requires if contract else ()):
        if glob_characters(required.path):
            field = at("verify_contract", "requires", index, "path")
            yield plan_finding("E004", field, _glob_message(required.path))


def _glob_message(path: str) -> str:
    listed = " and ".join(f"`{each}`" for each in glob_characters(path))
    return f"{quoted(path)} has {listed}: paths are taken literally"


E004 = Rule(
    "E004",
    "glob characters in a path",
    why="The files that an order may write are checked name by name, and a pattern names no file.",
    bad='{"allowed_files": ["data/*.txt"]}',
    good='{"allowed_files": ["data/words.txt", "data/names.txt"]}',
    remedy="Replace the pattern by the path of each file.",
    check=paths_with_globs,
)


def schema_problems(step: Step) -> Iterator[Finding]:
    for problem in step.draft.problems:
        yield step.finding("E005", problem.at, problem.message)


E005 = Rule(
    "E005",
    "order does not fit the schema",
    why="The factory executes fields, not guesses: a wrong type or a bad path cannot be executed.",
    bad='{"title": 7, "allowed_files": ["../outside.txt"]}',
    good='{"title": "Score a guess", "allowed_files": ["data/scores.txt"]}',
    remedy=(
        "Give each order id, title, intent, allowed_files and acceptance_commands (at least one "
        "of each), forbidden and context_files (`[]` where there are none), with the types of the "
        "schema; at most 10 context_files; postconditions only of the kind file_exists; paths "
        "relative to the root of the repo, separated by `/`."
    ),
    check=each_step(schema_problems),
)


def unknown_keys(view: PlanView) -> Iterator[Finding]:
    for field in view.plan.unknown:
        yield plan_finding("W102", field, "is not a key of a plan and is dropped")
    for step in view.steps:
        for field in step.draft.unknown:
            yield step.finding("W102", field, "is not a key of the schema and is dropped")


W102 = Rule(
    "W102",
    "unknown key",
    why="An unknown key has no effect; it is often a misspelt key that was meant to have one.",
    bad='{"acceptance_command": "pytest"}',
    good='{"acceptance_commands": ["pytest"]}',
    remedy="Correct the key's spelling or leave it out.",
    check=unknown_keys,
)


def shell_operators(step: Step) -> Iterator[Finding]:
    for index, command in step.commands:
        if command.operator:
            message = f"`{command.operator}` outside quotes is a shell operator; no shell reads it"
            yield step.finding("E003", at("acceptance_commands", index), message)


E003 = Rule(
    "E003",
    "shell operator in a command",
    why="Commands run without a shell: the operator and all after it would be plain arguments.",
    bad='{"acceptance_commands": ["game -h | grep usage"]}',
    good="""{"acceptance_commands": [
  "python -c \\"import subprocess; assert b'usage' in subprocess.check_output(['game', '-h'])\\""
]}""",
    remedy=(
        "Split a chain into separate commands; put pipes, redirections and tests of the output "
        "into a test file, or into code that an interpreter is given; quote an argument that "
        "holds such a character."
    ),
    check=each_step(shell_operators),
)


def uncompilable_code(step: Step) -> Iterator[Finding]:
    for field, run, problem in _code_problems(step):
        if problem.is_syntax:
            where = f" (line {problem.line})" if problem.line > 1 else ""
            message = f"the code after `{run.option}` does not compile: {problem.message}{where}"
            yield step.finding("E006", field, message)


E006 = Rule(
    "E006",
    "code in a command does not compile",
    why="A command with a syntax error fails whatever the order's code does.",
    remedy=(
        "Correct the code. A loop, a condition or a definition that may not follow `;` stands on "
        "lines of its own (\\n in the JSON string), or is written as an expression."
    ),
    check=each_step(uncompilable_code),
)


def unreadable_commands(step: Step) -> Iterator[Finding]:
    for index, command in step.commands:
        if command.problem:
            yield step.finding("E007", at("acceptance_commands", index), command.problem)


E007 = Rule(
    "E007",
    "command cannot be parsed",
    why="A command that cannot be split into a program and its arguments cannot be started.",
    bad="""{"acceptance_commands": ["python -c \\"print(1)"]}""",
    good="""{"acceptance_commands": ["python -c \\"assert 'a'.upper() == 'A'\\""]}""",
    remedy=(
        "Balance the quotes: double quotes around the code, single quotes within it. Name a "
        "program, and give `-c` its code."
    ),
    check=each_step(unreadable_commands),
)


def unjudgeable_code(step: Step) -> Iterator[Finding]:
    for field, run, problem in _code_problems(step):
        if not problem.is_syntax:
            message = code_cannot_be_judged(problem.message, run.option)
            yield step.finding("E215", field, message)


E215 = Rule(
    "E215",
    "code in a command that cannot be judged",
    why="Code that the compiler gives up on proves nothing, and an argument has its limits.",
    remedy="Write shorter and flatter code, without NUL characters; put long code in a test file.",
)


def _code_problems(step: Step) -> Iterator[tuple[FieldPath, CodeRun, CodeProblem]]:
    """Yield the field and the problem of code that does not compile.

    Code that an operator cut off, because it had no quotes, is left out: the operator is the fault.
    """
    for index, command in step.commands:
        run = command.run
        if not isinstance(run, CodeRun) or run.code.problem is None:
            continue
        if run.quoted or command.operator is None:
            yield at("acceptance_commands", index), run, run.code.problem


_READS_ONLY: Final = frozenset({"cat", "head", "tail", "wc", "sort", "ls"})
_FILE_TESTS: Final = frozenset({"-a", "-b", "-c", "-d", "-e", "-f", "-r", "-s", "-w", "-x"})
_SHOWS_ONLY: Final = frozenset({"--version", "-V", "--help", "-h"})
_IGNORES_FAILURE = re.compile(
    r"\|\|\s*(?:true|:|exit\s+0)(?:\s|;|$)|;\s*(?:true|exit\s+0)\s*;?\s*$"
)
# In order: text in single quotes, an escaped character, and what a shell would have expanded.
_UNEXPANDED = re.compile(r"'[^']*'|\\.|(\$\(|`)", re.DOTALL)


def weakness(command: Command) -> Weakness | None:
    """Return why the command can hardly fail, `None` if its text shows no reason.

    The time is linear in the length of the text.
    """
    if command.problem or command.operator:
        return None  # it will be another command
    reader = reader_of(command)
    known = reader.weakness(command) if reader is not None else None
    if isinstance(command.run, CodeRun):
        return known
    return _unexpanded(command) or known or _weak_run(command)


def _weak_run(command: Command) -> Weakness | None:
    match command.run:
        case ShellCodeRun(text) if _IGNORES_FAILURE.search(text):
            return Weakness("W232", "ends well whatever fails before")
        case ProgramRun(arguments):
            return _weak_program(command.program, arguments)
        case _:
            return None


def _weak_program(program: str, arguments: Sequence[str]) -> Weakness | None:
    if program == "true":
        return Weakness("W232", "cannot fail")
    if program in _READS_ONLY and any(each[:1] != "-" for each in arguments):
        return Weakness("W233", "proves only that a file exists")
    if program == "test":
        wanted = [each for each in arguments if each != "!"]
        if len(wanted) == 2 and wanted[0] in _FILE_TESTS:
            return Weakness("W233", "proves only that a file exists")
        if len(wanted) < 2 or (len(wanted) == 3 and wanted[0] == wanted[2]):
            return Weakness("W232", "compares nothing that an order could change")
    if set(arguments) & _SHOWS_ONLY and len(arguments) == 1:
        return Weakness("W230", "only prints")
    return None


def _unexpanded(command: Command) -> Weakness | None:
    """Return the weakness of a command with `$()` or backticks, which no shell expands."""
    if isinstance(command.run, ShellCodeRun):
        return None
    for found in _UNEXPANDED.finditer(command.text):
        if found[1]:
            shown = "$(...)" if found[1] == "$(" else "`...`"
            return Weakness("W232", f"holds {shown}, which no shell expands: it is taken literally")
    return None


def weak_commands(step: Step) -> Iterator[Finding]:
    """Yield a finding for each command and test that can hardly fail, at most one for each.

    A command that only has to keep passing may compile or print.
    """
    order = step.draft.order
    kept = order.regression if order is not None else ()
    for index, command in step.commands:
        found = weakness(command) or _weak_by_then(step, command)
        if found and not (found.code == "W230" and command.text in kept):
            yield step.finding(found.code, at("acceptance_commands", index), found.message)
    for index, test in enumerate(order.acceptance_files if order is not None else ()):
        if call := call_beside_itself(test.text):
            message = f"compares {quoted(call)} with itself, and asserts nothing else"
            yield step.finding("W232", at("acceptance_files", index, "content"), message)


def _weak_by_then(step: Step, command: Command) -> Weakness | None:
    """Return why a command proves little with the files that are there by then."""
    if command.problem or command.operator:
        return None
    found = (each.weakness(step.draft.position, command) for each in step.codes)
    return next((each for each in found if each is not None), None)


W230 = Rule(
    "W230",
    "only imports or prints",
    why="Nobody reads the output of an acceptance command: it passes whatever the code does.",
    remedy="Call what the order adds and assert what comes back.",
)

W231 = Rule(
    "W231",
    "calls without an assertion",
    why="A call that raises no error may still return a wrong result.",
    remedy="Assert what the call returns or changes.",
)

W232 = Rule(
    "W232",
    "cannot fail",
    why=(
        "A tautology, a swallowed failure, an option that leaves assertions out, or a run that "
        "chooses no test passes whatever the code does. Text that only a shell would expand is "
        "taken literally."
    ),
    remedy="Compare a result with the value it must have, and let a failure end the command.",
)

W233 = Rule(
    "W233",
    "asserts existence only",
    why="The existence of a file or a name says nothing about its content.",
    remedy="Call the function, or compare the file's content.",
)


RULES: Final = (
    E000, E001, E003, E004, E005, E006, E007, E215, W102, W230, W231, W232, W233,
)  # fmt: skip
