"""Checks whether the acceptance commands can be executed at all: E003, E006, E007 and E215."""

from __future__ import annotations

from collections.abc import Iterator

from planner.rules.model import Rule, each_step
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.languages.capabilities.commands import CodeProblem, CodeRun
from shared.languages.fault_words import code_cannot_be_judged
from shared.work_order.field_path import FieldPath, at


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
