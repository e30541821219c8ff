"""Scores how near a file of the repo is to the words of a spec, by counting shared word stems.

The score is plain and the same on every machine. It only decides which files are shown first
where not all of them fit.
"""

from __future__ import annotations

import re
from functools import lru_cache

# The weight of a shared stem in the file's own name, in its definitions, and in its folders.
NAME_WEIGHT = 3
DEFINITION_WEIGHT = 2
FOLDER_WEIGHT = 1

MIN_STEM = 3

_WORD = re.compile(r"[^\W\d_]+")
_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# The longest come first, because only the first that fits is cut off.
_ENDINGS = ("ions", "ies", "ing", "ion", "ers", "ors", "ed", "er", "es", "or", "e", "s", "y")

# Words that every spec has, and names that every repo has.
_COMMON_WORDS = """
the and for with that this from have has not are was were must should shall may can will when each
one any all its into use used using where which who what then than but also only
file files test tests python src init main lib
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def spec_stems(spec_text: str) -> frozenset[str]:
    """Return the stems of the spec's words."""
    return frozenset().union(*(_stems_of(word) for word in set(_WORD.findall(spec_text))))


def path_score(path: str, wanted: frozenset[str]) -> int:
    """Return how much the path shares with the wanted stems."""
    *folders, name = path.split("/")
    in_name = _stems_of(name) & wanted
    in_folders = frozenset().union(*(_stems_of(each) for each in folders)) & wanted
    return NAME_WEIGHT * len(in_name) + FOLDER_WEIGHT * len(in_folders - in_name)


def definition_score(source: str, wanted: frozenset[str], definition: re.Pattern[str]) -> int:
    """Return how much the names that `definition` finds in `source` share with `wanted`."""
    names = {found[1] for found in definition.finditer(source)}
    return DEFINITION_WEIGHT * len(frozenset().union(*(_stems_of(each) for each in names)) & wanted)


@lru_cache(maxsize=65_536)  # folders repeat: a repo of 20,000 files has some hundred
def _stems_of(name: str) -> frozenset[str]:
    """Return the stems in an identifier, a word or a part of a path: `MazeSolver` has two."""
    words = (each.casefold() for each in _WORD.findall(_CAMEL_HUMP.sub(" ", name)))
    return frozenset(_stem(each) for each in words if len(each) >= MIN_STEM and each not in _COMMON)


def _stem(word: str) -> str:
    """Return the word without its ending: solve, solves, solver and solving have one stem."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
            return word if word.endswith("ss") else word.removesuffix(ending)
    return word
