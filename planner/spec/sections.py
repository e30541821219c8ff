"""Says what a section or a label of a specification is for, by its words: whether it demands. Pure.

The words are English. A section in another language counts as one that demands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

_LONGEST: Final = 200  # characters of a title that is looked at


class Section(StrEnum):
    """Say what a section is for."""

    REQUIREMENTS = "requirements"
    OTHER = "other"
    CONSTRAINTS = "constraints"
    OVERVIEW = "overview"
    BACKGROUND = "background"
    TESTS = "tests"
    EXCLUDED = "excluded"


_TITLES: Final = (
    (
        Section.EXCLUDED,
        r"(?:explicit(?:ly)? )?(?:non ?(?:goals?|features|requirements)|out of scope|not in scope)"
        r"|(?:scope )?exclusions|not included|what (?:this|it) (?:is|does) not(?: \w+)?"
        r"|(?:will not|won t|wont) (?:have|do)|ideas for later|future(?: (?:\w+ )?(?:work|ideas"
        r"|plans|scope|features|versions?|considerations|enhancements|improvements|releases))?"
        r"|(?:further reading|bibliography)|change ?log|(?:table of contents|toc)"
        r"|(?:change|revision|document|version) (?:history|log|control)"
        r"|open (?:questions|issues|points)|(?:rejected )?alternatives(?: considered)?"
        r"|traceability(?: matrix)?|review (?:and )?acceptance checklist|execution status",
    ),
    (
        Section.BACKGROUND,
        r"background(?: \w+){0,3}|motivation(?: \w+){0,3}|rationale|justification|why(?: \w+){0,4}"
        r"|(?:the )?problem(?: statement)?|prior art|glossary|terminology"
        r"|acronyms(?: and abbreviations)?|abbreviations|(?:terms and )?definitions(?: and \w+)?"
        r"|assumptions|risks(?: and \w+)?"
        r"|(?:intended |target )(?:audience|users)|audience|(?:user )?personas?|stakeholders",
    ),
    (
        Section.OVERVIEW,
        r"(?:an? )?introduction|(?:\w+ )?overview|(?:executive )?summary|purpose|about(?: \w+){0,3}"
        r"|abstract|(?:product |project )?(?:description|vision)|preface|foreword|context|history"
        r"|references?|see also|links|related \w+|contents|acknowledge?ments|authors?"
        r"|current (?:state|situation)"
        r"|(?:usage )?examples?|example usage|samples?|demo",
    ),
    (
        Section.TESTS,
        r"tests?|test (?:plan|cases?|strategy)|testing|verification|acceptance(?: \w+)?"
        r"|tasks|plan|(?:\w+ )?coverage",
    ),
    (
        Section.CONSTRAINTS,
        r"(?:\w+ )?constraints?|technical (?:context|stack)|tech(?:nology)? stack",
    ),
    (
        Section.REQUIREMENTS,
        r"(?:\w+ ){0,2}(?:requirements?|features?|functions?|functionality|behaviou?rs?|rules"
        r"|stories|commands|endpoints|screens|pages|api|capabilities|use cases)",
    ),
)
_PATTERNS: Final = tuple((section, re.compile(words)) for section, words in _TITLES)
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_NOT_WORDS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"^(?:\d+ )+")
_LABEL = re.compile(r"(?:>\s*)?[*_]{0,3}([A-Za-z][\w '/-]{1,40}?)[*_]{0,3}\s?:[*_]{0,3}(?:\s|$)")


def section_kind(title: str) -> Section:
    """Return what a section is for, by its title."""
    if len(title) > _LONGEST:
        return Section.OTHER
    bare = _NOT_WORDS.sub(" ", _IN_BRACKETS.sub("", title)).casefold().strip()
    words = _NUMBER.sub("", bare)
    return next(
        (section for section, pattern in _PATTERNS if pattern.fullmatch(words)), Section.OTHER
    )


def section_of(titles: Sequence[str]) -> Section:
    """Return what the innermost of nested sections is for, by their titles from the outermost on.

    What is excluded stays so at any depth. An overview or examples inside of the requirements are
    a part of them: a page that is called "Summary", for one.
    """
    kinds = [section_kind(each) for each in titles]
    if Section.EXCLUDED in kinds:
        return Section.EXCLUDED
    known = [each for each in kinds if each is not Section.OTHER]
    if not known:
        return Section.OTHER
    if known[-1] is Section.OVERVIEW and Section.REQUIREMENTS in known:
        return Section.REQUIREMENTS
    return known[-1]


def label_of(text: str) -> str:
    """Return the words before the colon that a text begins with, "" where there are none."""
    found = _LABEL.match(text)
    return " ".join(found[1].casefold().split()) if found else ""
