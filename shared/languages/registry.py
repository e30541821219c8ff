"""Lists the languages. A new language is a folder beside this file and an entry here."""

from __future__ import annotations

import contextlib
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.ecmascript_language import JAVASCRIPT, TYPESCRIPT
from shared.languages.go.go_language import GO
from shared.languages.language_tools import CheckerFailed
from shared.languages.python.python_language import PYTHON
from shared.languages.rust.rust_language import RUST

if TYPE_CHECKING:
    from shared.languages.capabilities import Language, OutlineEntry
    from shared.languages.language_tools import Tools

LANGUAGES: Final[tuple[Language, ...]] = (PYTHON, JAVASCRIPT, TYPESCRIPT, GO, RUST)


def language_of(path: str) -> Language | None:
    """Return the language that has the suffix of `path`; `None` if no language has it."""
    suffix = posixpath.splitext(path)[1]
    return next((each for each in LANGUAGES if suffix in each.suffixes), None)


def outline_of(path: str, text: str) -> tuple[OutlineEntry, ...]:
    """Return the definitions of the file at `path`; none where no language finds any."""
    language = language_of(path)
    return language.edits.outline(text) if language and language.edits else ()


def is_test_file(path: str) -> bool:
    """Return whether the file at `path` is one of tests, as its language says by the path."""
    language = language_of(path)
    return bool(language and language.plans and language.plans.is_test_file(path))


def languages_at_hand(text: str, paths: Collection[str]) -> tuple[Language, ...]:
    """Return the languages that a specification names or a repository has files of.

    The one that the text names comes first, then that with the most files. The result is empty
    where nothing speaks for a language.
    """
    counted = Counter(language.name for path in paths if (language := language_of(path)))
    named = {each.name for each in LANGUAGES if each.advice and each.advice.is_asked_for(text)}
    hinted = (e for e in LANGUAGES if e.advice and e.advice.is_asked_for(text, by_hint=True))
    if not named | counted.keys():
        named = {each.name for each in hinted}
    found = [each for each in LANGUAGES if each.name in named | counted.keys()]
    return tuple(sorted(found, key=lambda each: (each.name not in named, -counted[each.name])))


def steering(path: str, text: str = "") -> str:
    """Return how the file at `path` can decide how tests end that do not name it, else "".

    With its `text`, files are found that do so by what they hold.
    """
    readers = (each.commands for each in LANGUAGES if each.commands is not None)
    return next(filter(None, (each.steers(path, text) for each in readers)), "")


def language_named(name: str) -> Language | None:
    """Return the language of that name; `None` if there is none, or the name is empty."""
    return next((each for each in LANGUAGES if each.name == name), None)


def language_of_program(program: str) -> Language | None:
    """Return the language that reads the commands of `program`, a name without folder."""
    return next(
        (each for each in LANGUAGES if each.commands and each.commands.knows(program)), None
    )


def warm_up(tools: Tools, paths: Iterable[str]) -> None:
    """Start the checkers for these files without waiting, so that first questions are quick."""
    suffixes = {posixpath.splitext(path)[1] for path in paths}
    for each in LANGUAGES:
        if each.conformance is not None and not suffixes.isdisjoint(each.suffixes):
            with contextlib.suppress(CheckerFailed):  # the first question reports it
                each.conformance.warm_up(tools)
