"""Gathers what a planner's model is told of the languages that a plan may need. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from shared.languages.base import Language
from shared.languages.registry import LANGUAGES, language_of


def render_languages(spec_text: str, paths: Collection[str]) -> str:
    """Return the rules of each language that the repository has files of or the spec names.

    The result is empty where that is none of those with rules of their own. `paths` are the files
    of the repository.
    """
    used = {language.name for path in paths if (language := language_of(path)) is not None}
    return "\n\n".join(_rules(spec_text, used))


def _rules(spec_text: str, used: Collection[str]) -> Iterator[str]:
    for language in LANGUAGES:
        if _is_needed(language, spec_text, used) and language.advice is not None:
            yield language.advice.read()


def _is_needed(language: Language, spec_text: str, used: Collection[str]) -> bool:
    if language.advice is None:
        return False
    return language.name in used or language.advice.is_asked_for(spec_text)
