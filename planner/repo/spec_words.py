"""Reads what a specification names, and says how near paths, texts and definitions are to it.

The scores are plain and the same on every machine. They only decide what is shown first where
not all of it fits. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log, log2
from typing import Final

MIN_STEM: Final = 3
_MIN_CONTENT: Final = 4  # a shorter stem is part of too many words of a text
_MAX_STEMS: Final = 60
_MAX_FOLDERS: Final = 8
NAMED_PATH: Final = 10.0  # what the score of a file has at least that the specification names
_MAX_SPEC: Final = 400_000  # characters that are read of a specification

_WORD: Final = re.compile(r"[^\W\d_]+")
_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`")
# Of a call `play(` the name; `Game::play`, `Game#play` and `Game.play` are the same.
_NAME: Final = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*")
_UNLIKE_PROSE: Final = re.compile(r"\w_|_\w|\w[.#]\w|::|[^\W\d_]\d|[a-z][A-Z]|[A-Z]{2}[a-z]")
_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][\w-]{1,60})")
_PATH: Final = re.compile(r"(?<![\w./-])[\w.@-]{1,100}(?:/[\w.@-]{1,100})*(?:/|\.\w{1,10}\b)")
_SPLIT: Final = re.compile(r"\.|::|#")

# The longest come first, because only the first that fits is cut off.
_ENDINGS: Final = ("ions", "ies", "ing", "ion", "ers", "ors", "ed", "er", "es", "or", "e", "s", "y")

# Words that every spec has, and names that every repo has.
_COMMON_WORDS: Final = """
the and for with that this from have has not are was were must should shall may can will when each
one any all its into use used using where which who what then than but also only
file files test tests python src init main lib add adds added fix fixes fixed
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class SpecWords:
    """Hold what a specification names.

    `names` are names of code, dotted and in parts: in back quotes, called, or of a form that prose
    lacks. `words` are all words as they are written, and `stems` what they have in common with
    other forms, the most frequent first. `paths` are what may be files, modules or folders.
    """

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    paths: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()
    """All stems."""
    last_names: frozenset[str] = frozenset()
    """The last parts of the paths and modules."""


@lru_cache(maxsize=8)
def read_spec_words(text: str) -> SpecWords:
    """Return what a specification names."""
    text = text[:_MAX_SPEC]
    words = frozenset(_NAME.findall(text))
    names = frozenset(_names_of(text))
    counts: Counter[str] = Counter()
    for word, count in Counter(_WORD.findall(text)).items():
        for stem in stems_of(word):
            counts[stem] += count
    first = sorted(counts, key=lambda stem: (-counts[stem], stem))
    paths = {found[0].rstrip("/") for found in _PATH.finditer(text)}
    parts = {part for word in words for part in _SPLIT.split(word)}
    return SpecWords(
        names=names,
        words=frozenset(parts),
        stems=tuple(first[:_MAX_STEMS]),
        paths=frozenset(paths),
        wanted=frozenset(first),
        last_names=frozenset(end for each in paths for end in _ends_of(each)),
    )


def _ends_of(path: str) -> tuple[str, str]:
    name = path.rpartition("/")[2]
    return name, name.rpartition(".")[2]


def _names_of(text: str) -> Iterator[str]:
    for quoted in _QUOTED.findall(text):
        yield from _with_parts(_NAME.findall(quoted))
    for found in _NAME.finditer(text):
        if _UNLIKE_PROSE.search(found[0]) or text[found.end() : found.end() + 1] == "(":
            yield from _with_parts([found[0]])
    for option in _OPTION.findall(text):
        yield option.replace("-", "_")
        head, *rest = option.split("-")
        yield head + "".join(map(str.capitalize, rest))


def _with_parts(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        parts = _SPLIT.split(name)
        yield ".".join(parts)
        yield from (part for part in parts if len(part) >= MIN_STEM or len(parts) == 1)


def stems_of(name: str) -> frozenset[str]:
    """Return the stems in an identifier, a word or a part of a path: `MazeSolver` has two."""
    words = _WORD.findall(name if name.islower() else _CAMEL_HUMP.sub(" ", name))
    return frozenset(filter(None, map(_stem, words)))


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Return a word without its ending: solve, solves, solver and solving have one stem.

    The stem of a common or a short word is empty.
    """
    word = word.casefold()
    if len(word) < MIN_STEM or word in _COMMON:
        return ""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
            return word if word.endswith("ss") else word.removesuffix(ending)
    return word


def path_score(path: str, spec: SpecWords) -> float:
    """Return how near a path is to what the spec names."""
    folder, _, name = path.rpartition("/")
    in_name = stems_of(name) & spec.wanted
    in_folders = _stems_of_folder(folder) & spec.wanted - in_name
    score = 3.0 * len(in_name) + len(in_folders)
    may_be_named = name in spec.last_names or name.rpartition(".")[0] in spec.last_names
    if may_be_named and not spec.paths.isdisjoint(_names_of_path(path)):
        score += NAMED_PATH
    return score


_stems_of_folder = lru_cache(maxsize=65_536)(stems_of)  # a repo of 20,000 files has some hundred


def _names_of_path(path: str) -> Iterator[str]:
    """Yield what a file is called: its name, its path with ever fewer folders, and its modules."""
    parts = path.split("/")[-_MAX_FOLDERS:]
    module = ".".join(parts).rpartition(".")[0].split(".")
    for at in range(len(parts)):
        yield "/".join(parts[at:])
        if at < len(module) - 1:
            yield ".".join(module[at:])


@dataclass(frozen=True, slots=True)
class Corpus:
    """Hold what sets the texts of a repo apart: how rare a stem is, and how often a name is given.

    `weights` are 1 for a stem that a single file has, and near 0 for one that all have.
    """

    spec: SpecWords
    weights: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, int] = field(default_factory=dict)

    def content_score(self, text: str) -> float:
        """Return how much a text, in small letters, is about what the spec is about."""
        long = 1 + len(text) / 8_000
        found = ((weight, text.count(stem)) for stem, weight in self.weights.items())
        return sum(weight * count / (count + long) for weight, count in found if count)

    def name_score(self, name: str) -> float:
        """Return how near a definition's qualified name is: 3 and more where the spec names it."""
        owner, _, last = name.rpartition(".")
        rarity = 1 / (1 + log2(max(1, self.given.get(last, 1))))
        if name in self.spec.names and owner:
            score = 12.0
        elif last in self.spec.names:
            score = 2 + 7 * rarity
        elif last in self.spec.words and last.casefold() not in _COMMON:
            score = 4 * rarity
        else:
            score = 0.0
        if owner and not self.spec.words.isdisjoint(owner.split(".")):
            score = score * 1.5 + 1
        stems = stems_of(last)
        shared = stems & self.spec.wanted
        near = sum(self.weights.get(stem, 0.3) for stem in shared)
        return score + (2 * near * len(shared) / len(stems) if shared else 0)


def read_corpus(spec: SpecWords, texts: Collection[str], names: Iterable[str]) -> Corpus:
    """Return what sets apart texts, in small letters, that define these names."""
    stems = [each for each in spec.stems if len(each) >= _MIN_CONTENT]
    having = {stem: sum(stem in text for text in texts) for stem in stems}
    most = log(1 + len(texts)) or 1
    weights = {stem: log((1 + len(texts)) / having[stem]) / most for stem in stems if having[stem]}
    return Corpus(spec, weights, Counter(names))


def best(scores: Sequence[float], most: int = 3) -> float:
    """Return the sum of the highest scores, each further one counting half of the one before."""
    return sum(each * 0.5**at for at, each in enumerate(sorted(scores, reverse=True)[:most]))
