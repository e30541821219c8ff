"""Reads commands of Node's ecosystem for the planner."""

from __future__ import annotations

from typing import Final

from shared.languages.capabilities.commands import (
    Arguments,
    Code,
    CodeProblem,
    CodeRun,
    Command,
    NothingToRun,
    ProgramRun,
    Run,
    ScriptRun,
)

NAME: Final = "JavaScript"
# Kept apart from what reads the commands, which is only loaded where one of them is met.
PROGRAMS: Final = frozenset(
    {"node", "nodejs", "tsx", "ts-node", "npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx",
     "vitest", "jest", "mocha", "_mocha", "tsc"}
)  # fmt: skip


class NodeCommands:
    """Implement `CommandReader` for Node, its package managers and its test runners."""

    def knows(self, program: str) -> bool:
        """Return whether `program` belongs to Node's ecosystem."""
        return program in PROGRAMS

    def is_always_there(self, program: str) -> bool:
        """Return false: only a project with a manifest is given Node."""
        return False

    def read_run(self, program: str, arguments: Arguments) -> Run:
        """Return the code that is run with its problem, the script, or a program."""
        from shared.languages.ecmascript.commands import runs
        from shared.languages.ecmascript.commands.read import read_command

        read = read_command((program, *arguments.words))
        if read is None:
            return ProgramRun(arguments.words, NAME)
        if read.problem:
            raise NothingToRun(read.problem)
        first = read.runs[0] if len(read.runs) == 1 else None
        match first:
            case runs.CodeRun(text=text):
                return _code_run(first, text, arguments)
            case runs.FileRun(path=path) if program in {"node", "nodejs", "tsx", "ts-node"}:
                at = arguments.words.index(path)
                return ScriptRun(path, arguments.words[:at], arguments.words[at + 1 :], NAME)
            case _:
                return ProgramRun(arguments.words, NAME)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return nothing: `needs_of_command` knows what the patterns of a test runner match."""
        return ()


def _code_run(run: object, text: str, arguments: Arguments) -> CodeRun:
    from shared.languages.ecmascript.commands.runs import CodeRun as Read

    assert isinstance(run, Read), "only code is read here"
    at = next((i for i, word in enumerate(arguments.words) if word.endswith(text)), 0)
    option = next((e for e in arguments.words if e in _OPTIONS), "-e")
    code = Code(text, code_problem(text, typed=run.is_typed), ())
    return CodeRun(NAME, option, code, arguments.words[:at], arguments.quoted[at])


_OPTIONS: Final = frozenset({"-e", "--eval", "-p", "--print", "-pe"})


def code_problem(text: str, *, typed: bool) -> CodeProblem | None:
    """Return why code cannot be compiled; `None` where it can be, as far as its syntax shows."""
    from shared.languages.ecmascript.files import question_path
    from shared.languages.ecmascript.syntax import find_fault, tree_of

    if "\0" in text:
        return CodeProblem("it holds a NUL", is_syntax=False)
    root = tree_of(question_path(typed=typed), text)
    if root is None:
        return CodeProblem("it is too long, or cannot be read", is_syntax=False)
    fault = find_fault(root)
    if fault is None:
        return None
    return CodeProblem(fault.message, is_syntax=True, line=fault.line, column=fault.column)
