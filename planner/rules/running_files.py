"""Says which files a command runs, or has its program read, from the text of the command alone.

The answer is generous: a file that a command may run counts as run.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from planner.rules.acceptance import weakness
from shared.commands.commands import SHELLS
from shared.commands.test_runs import runs_tests
from shared.languages.capabilities.commands import Command, ProgramRun, ScriptRun

_WORD = re.compile(r"[\w./-]+")
# Programs that do nothing but what their arguments say; any other may run what it finds.
_PLAIN: Final = frozenset(
    {"test", "grep", "diff", "cmp", "cat", "ls", "head", "tail", "wc", "sort", "true", "false"}
)
_CONFTEST: Final = "conftest.py"


def run_files(commands: Sequence[Command], texts: Mapping[str, str]) -> frozenset[str]:
    """Return those of the files in `texts` that the commands run, or that such a file uses.

    `texts` has the texts of the files by path.
    """
    found = {path for path in texts if any(_runs(each, path) for each in commands)}
    pending = list(found)
    while pending:
        user = pending.pop()
        used = {path for path in texts.keys() - found if _uses(user, texts[user], path)}
        found |= used
        pending += used
    return frozenset(found)


def _runs(command: Command, path: str) -> bool:
    """Say whether the command may run the file at `path`."""
    whole = runs_tests(command.text)
    if whole is False or weakness(command) is not None or _only_checks_syntax(command):
        return False
    words = {_normal(each) for each in _WORD.findall(command.text)}
    if words & _names(path) or _stem(path) in map(_normal, command.argv[1:]):
        return True
    if whole:
        named = [each for each in _paths_in(command) if each != "."]
        return not named or any(path.startswith(f"{each}/") for each in named)
    return isinstance(command.run, ProgramRun) and command.program not in _PLAIN


def _only_checks_syntax(command: Command) -> bool:
    run = command.run
    return isinstance(run, ScriptRun) and command.program in SHELLS and "-n" in run.flags


def _paths_in(command: Command) -> Iterator[str]:
    """Yield the words of a command that look like paths, after its program."""
    for word in command.argv[1:]:
        if not word.startswith("-") and ("/" in word or "." in word):
            yield _normal(word.partition("::")[0].removesuffix("/..."))


def _uses(user: str, text: str, path: str) -> bool:
    """Say whether the file `user` may import or read the file at `path`."""
    folder, name = posixpath.split(path)
    if name == _CONFTEST:
        return f"{user}/".startswith(f"{folder}/" if folder else "")
    words = {_normal(each) for each in _WORD.findall(text)}
    return bool(words & {*_names(path), _stem(path)})


def _names(path: str) -> set[str]:
    """Return how a command may name the file: as a path, by its name, or as a module."""
    dotted = posixpath.splitext(path)[0].replace("/", ".")
    module = {dotted} if "." in dotted else set()  # a single word may mean anything
    return {path, posixpath.basename(path), *module}


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _normal(word: str) -> str:
    return posixpath.normpath(word) if word else ""
