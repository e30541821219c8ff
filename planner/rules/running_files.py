"""Says which files a command runs, or has its program read, from the text of the command alone.

The answer is generous: a file that a command may run counts as run.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
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
_MAX_DOTS: Final = 12  # in the name of a module


@dataclass(frozen=True, slots=True)
class _Reach:
    """Hold what a command runs: `everything`, all in `folders`, and what its words name."""

    everything: bool = False
    folders: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        """Say whether the command may run the file at `path`."""
        return (
            self.everything
            or _stem(path) in self.arguments
            or _names_it(self.words, path)
            or _names_what_is_built(self.words, path)
            or path.startswith(self.folders)
        )


def run_files(commands: Sequence[Command], texts: Mapping[str, str]) -> frozenset[str]:
    """Return those of the files in `texts` that the commands run, or that such a file uses.

    `texts` has the texts of the files by path.
    """
    reaches = [_reach_of(each) for each in commands] if texts else []
    found = {path for path in texts if any(each.has(path) for each in reaches)}
    pending = list(found)
    while pending:
        user = pending.pop()
        words = _words(texts[user])
        used = {path for path in texts.keys() - found if _uses(user, words, path)}
        found |= used
        pending += used
    return frozenset(found)


def _reach_of(command: Command) -> _Reach:
    if command.problem or command.operator:
        return _Reach(everything=True)  # it will be another command, which another rule asks for
    whole = runs_tests(command.text)
    if whole is False or weakness(command) is not None or _only_checks_syntax(command):
        return _Reach()
    unknown = isinstance(command.run, ProgramRun) and command.program not in _PLAIN
    named = [each for each in _paths_in(command) if each != "."] if whole else []
    return _Reach(
        everything=not named if whole else unknown,
        folders=tuple(f"{each}/" for each in named),
        words=_words(command.text),
        arguments=frozenset(map(posixpath.normpath, filter(None, command.argv[1:]))),
    )


def _only_checks_syntax(command: Command) -> bool:
    run = command.run
    return isinstance(run, ScriptRun) and command.program in SHELLS and "-n" in run.flags


def _paths_in(command: Command) -> Iterator[str]:
    """Yield the words of a command that look like paths, after its program."""
    language = language_named(command.language)
    given = language.commands.needed_paths(command) if language and language.commands else ()
    for word in given or command.argv[1:]:
        if given or (not word.startswith("-") and ("/" in word or "." in word)):
            yield posixpath.normpath(word.partition("::")[0].removesuffix("/..."))


def _uses(user: str, words: Set[str], path: str) -> bool:
    """Say whether the file `user`, which has these words, may import or read the one at `path`."""
    language = language_of(path)
    if language and language.commands and language.commands.is_loaded_unasked(path):
        folder = posixpath.dirname(path)
        return f"{user}/".startswith(f"{folder}/" if folder else "")
    return _stem(path) in words or _names_it(words, path)


def _names_it(words: Set[str], path: str) -> bool:
    """Say whether one of the words names the file: as a path, by its name, or as a module."""
    name, module = _names_of(path)
    # A name without a dot may mean anything.
    return path in words or name in words or ("." in module and module in words)


def _names_what_is_built(words: Set[str], path: str) -> bool:
    """Say whether a word is a path that differs from the file in its folder and its suffix.

    A compiler may have made it: `build/test/score.test.js` of `test/score.test.ts`.
    """
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    paths = (posixpath.splitext(posixpath.basename(each)) for each in words if "/" in each)
    return any(made == stem and other not in ("", suffix) for made, other in paths)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text as normal paths, and each module that a dotted name is in."""
    found: set[str] = set()
    for word in _WORD.findall(text):
        found.add(posixpath.normpath(word))
        if "/" not in word:
            parts = word.split(".", _MAX_DOTS)[:_MAX_DOTS]
            found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(found)


# Each order of a plan asks about the files of all orders before it.
@lru_cache(maxsize=4096)
def _names_of(path: str) -> tuple[str, str]:
    """Return the name of the file at `path`, and the module that it would be."""
    return posixpath.basename(path), posixpath.splitext(path)[0].replace("/", ".")


@lru_cache(maxsize=4096)
def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
