"""Reads commands of Node's ecosystem for the planner."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    Weakness,
)

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
        from shared.languages.ecmascript.files import is_code

        read = read_command((program, *arguments.words))
        if read is None:
            return ProgramRun(arguments.words)
        if read.problem:
            raise NothingToRun(read.problem)
        match read.runs:
            case (runs.CodeRun(text=text, is_typed=is_typed),):
                return _code_run(text, arguments, typed=is_typed)
            case (runs.FileRun(path=path),) if is_code(path) and program in _INTERPRETERS:
                at = arguments.words.index(path)
                return ScriptRun(path, arguments.words[:at], arguments.words[at + 1 :])
            case _:
                return ProgramRun(arguments.words)

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        """Return nothing: `needs_of_command` knows what the patterns of a test runner match."""
        return ()

    def script_paths(self, path: str) -> tuple[str, ...]:
        """Return the file itself; a path without a suffix is looked up elsewhere."""
        return (path,)

    def makes_files(self, command: Command) -> bool:
        """Return whether a package manager installs or runs a script, or `tsc` writes code."""
        words = [each.rpartition("/")[2] for each in command.argv]
        if "tsc" in words:
            return "--noEmit" not in words
        rest = [each for each in words if each != command.program and each[:1] != "-"]
        return command.program in _MANAGERS and not _is_test(rest)

    def module_paths(self, module: str) -> Iterator[str]:
        """Yield the paths that an import of `module` from the root folder may mean."""
        from shared.languages.ecmascript.files import ENDINGS

        path = module.removeprefix("./")
        yield path
        yield from (f"{path}{ending}" for ending in ENDINGS)

    def is_loaded_unasked(self, path: str) -> bool:
        """Return false: runners load no file but tests and what their configuration names."""
        return False

    def read_paths(self, command: Command) -> Iterator[str]:
        """Yield the strings in the code of a command that look like paths of files."""
        if isinstance(command.run, CodeRun):
            yield from _PATHS.findall(command.run.code.source)

    def weakness(self, command: Command) -> Weakness | None:
        """Return why a command can hardly fail, as far as its code or its options show."""
        from shared.languages.ecmascript.commands.read import read_command
        from shared.languages.ecmascript.proof.text import weakness_of_text

        words = [each.rpartition("/")[2] for each in command.argv]
        if command.program not in words:
            return None
        read = read_command(command.argv[words.index(command.program) :])
        return weakness_of_text(read) if read is not None else None


def _code_run(text: str, arguments: Arguments, *, typed: bool) -> CodeRun:
    words = arguments.words
    at = next((i for i, word in enumerate(words) if text in word), 0)
    option = next((each for each in words if each in _OPTIONS), "-e")
    code = Code(text, code_problem(text, typed=typed), ())
    return CodeRun(code, words[:at], arguments.quoted[at] if words else False, option)


def _is_test(words: list[str]) -> bool:
    script = words[1:2] if words[:1] in (["run"], ["run-script"]) else words[:1]
    return script in (["test"], ["t"], ["tst"])


_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_OPTIONS: Final = frozenset({"-e", "--eval", "-p", "--print", "-pe"})
_INTERPRETERS: Final = frozenset({"node", "nodejs", "tsx", "ts-node"})
_PATHS = re.compile(r"['\"`]([\w@./-]+\.[A-Za-z0-9]+)['\"`]")


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
