"""Says which files a command runs, or has its program read, from the text of the command alone.

The answer is generous: a file that a command may run counts as run.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from planner.rules.acceptance import weakness
from shared.commands.commands import SHELLS
from shared.commands.test_runs import runs_tests
from shared.languages.capabilities.commands import Command, ProgramRun, ScriptRun
from shared.languages.registry import language_named, language_of

_WORD = re.compile(r"[\w./-]+")
# Programs that do nothing but what their arguments say; any other may run what it finds.
_PLAIN: Final = frozenset(
    {"test", "grep", "diff", "cmp", "cat", "ls", "head", "tail", "wc", "sort", "true", "false"}
)


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
    if command.problem or command.operator:
        return True  # it will be another command, which another rule asks for
    whole = runs_tests(command.text)
    if whole is False or weakness(command) is not None or _only_checks_syntax(command):
        return False
    words = {_normal(each) for each in _WORD.findall(command.text)}
    if _names_it(words, path) or _stem(path) in map(_normal, command.argv[1:]):
        return True
    if whole:
        named = [each for each in _paths_in(command) if each not in ("", ".")]
        return not named or any(path.startswith(f"{each}/") for each in named)
    return isinstance(command.run, ProgramRun) and command.program not in _PLAIN


def _only_checks_syntax(command: Command) -> bool:
    run = command.run
    return isinstance(run, ScriptRun) and command.program in SHELLS and "-n" in run.flags


def _paths_in(command: Command) -> Iterator[str]:
    """Yield the words of a command that look like paths, after its program."""
    language = language_named(command.language)
    given = language.commands.needed_paths(command) if language and language.commands else ()
    for word in given or command.argv[1:]:
        if given or (not word.startswith("-") and ("/" in word or "." in word)):
            yield _normal(word.partition("::")[0].removesuffix("/..."))


def _uses(user: str, text: str, path: str) -> bool:
    """Say whether the file `user` may import or read the file at `path`."""
    language = language_of(path)
    if language and language.commands and language.commands.is_loaded_unasked(path):
        folder = posixpath.dirname(path)
        return f"{user}/".startswith(f"{folder}/" if folder else "")
    words = {_normal(each) for each in _WORD.findall(text)}
    return _stem(path) in words or _names_it(words, path)


def _names_it(words: Set[str], path: str) -> bool:
    """Say whether one of the words names the file: as a path, by its name, or as a module."""
    if words & {path, posixpath.basename(path)}:
        return True
    module = posixpath.splitext(path)[0].replace("/", ".")
    # A name without a dot may mean anything.
    return "." in module and any(f"{each}.".startswith(f"{module}.") for each in words)


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _normal(word: str) -> str:
    return posixpath.normpath(word) if word else ""
