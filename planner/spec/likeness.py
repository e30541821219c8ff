"""Compares the words of requirements, and pairs those of two versions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import Final

from planner.spec.blocks import TICK_BOX

# The first words of a requirement tell it from others; the rest would only cost time.
_MAX_WORDS: Final = 120
_STOP_WORD_WEIGHT: Final = 0.2
_NUMBER_WEIGHT: Final = 0.5
_LAST: Final = " .;,!"  # what may end a text without changing it

_NOT_WORDS = re.compile(r"[\s*_`]+")
_CODE = re.compile(r"(?<!`)(`+)([^`]+)\1(?!`)")
_EMPHASIS = re.compile(r"(?<![\w*_])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?![\w*_])")
_QUOTED = re.compile(r"(?<!`)`+([^`]+)`+|\"([^\"]+)\"|“([^“”]+)”")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
# Chinese and Japanese have no spaces between words; pairs of characters serve as words there.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SUFFIX = re.compile(r"(?<=\w{4})(?:ing|ed|es|s)$")
# Words that say little of what is required; "system" and "user" are in every second requirement.
_LITTLE: Final = """
a an and are as at be been but by can could do does each for from had has have if in into is
it its may might must of on or shall should so than that the their them then there these they
this those to was were when where which while will with would allow let system user
"""
_STOP_WORDS: Final = frozenset(_LITTLE.split())


def folded(text: str) -> str:
    """Return the words of a text without emphasis, case, line breaks and the last punctuation."""
    return _NOT_WORDS.sub(" ", text).strip(_LAST).casefold()


def exact_words(text: str) -> str:
    """Return the text on one line without emphasis and the last punctuation; case is kept."""
    return _plain(text).strip(_LAST)


def say_the_same(one: str, other: str) -> bool:
    """Say whether two texts differ at most in white space, emphasis, case and last punctuation.

    Case counts in what one of them quotes, and in code.
    """
    first, second = _plain(one), _plain(other)
    return _ended(first) == _ended(second) and all(
        quoted in whole
        for text, whole in ((one, second), (other, first))
        for quoted in map(_plain, _literals(text))
    )


def words_of(text: str) -> frozenset[str]:
    """Return the words and numbers that a text is compared by; endings of words are cut off.

    A number counts twice, by itself and as `#`, so that texts which differ in it remain alike.
    """
    found = list(islice(_words(_ended(_plain(text))), _MAX_WORDS))
    return frozenset(found + (["#"] if any(each[0].isdigit() for each in found) else []))


def weigh_words(*versions: Sequence[frozenset[str]]) -> Mapping[str, float]:
    """Return the weight of each word: less for those that many texts of a version have."""
    counts: Counter[str] = Counter()
    for texts in versions:
        counts |= Counter(word for words in texts for word in words)
    return {word: _own_weight(word) / (1 + log(count)) for word, count in counts.items()}


def weight_of(words: Iterable[str], weights: Mapping[str, float]) -> float:
    return sum(map(weights.__getitem__, words))


def _plain(text: str) -> str:
    """Return the text on one line, without emphasis, marks of code, and a box to be ticked."""
    parts: list[str] = []
    start = 0
    for code in _CODE.finditer(text):
        parts += [_EMPHASIS.sub("", text[start : code.start()]), code[2]]
        start = code.end()
    parts.append(_EMPHASIS.sub("", text[start:]))
    return TICK_BOX.sub("", " ".join("".join(parts).split()), count=1)


def _ended(text: str) -> str:
    return text.strip(_LAST).casefold()


def _literals(text: str) -> Iterator[str]:
    for found in _QUOTED.finditer(text):
        yield next(each for each in found.groups() if each is not None)


def _words(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        word = found[0]
        if _UNSPACED.search(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            yield _SUFFIX.sub("", word)


def _own_weight(word: str) -> float:
    if word in _STOP_WORDS:
        return _STOP_WORD_WEIGHT
    return _NUMBER_WEIGHT if word == "#" or word[0].isdigit() else 1.0


# Below half of their weighted words in common, two texts are taken for different requirements.
LEAST_LIKENESS: Final = 0.5
# A second candidate as near as this makes a choice between the two a guess.
MARGIN: Final = 0.05
# A word that more texts have says little; pairs are not looked for by it.
_FREQUENT: Final = 30


@dataclass(frozen=True, slots=True)
class Tie:
    """Hold the positions, in both versions, of texts that are alike in more than one way."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Hold the position in the first version for positions in the second one, and the ties."""

    before_of: Mapping[int, int]
    ties: tuple[Tie, ...]


def pair_alike(
    before: Sequence[str], after: Sequence[str], candidates: Iterable[tuple[int, int]]
) -> Pairing:
    """Return which text of `before` each text of `after` was made from, most alike first.

    `candidates` are the positions, in both versions, of the texts that may be paired. Each text is
    paired once at most, and only with a likeness of `LEAST_LIKENESS` or more. Where a further text
    is as alike within `MARGIN`, all of them form a tie and none is paired.
    """
    scored = _scored(before, after, candidates)
    rows: dict[int, list[tuple[float, int]]] = defaultdict(list)
    columns: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for score, old, new in scored:
        rows[old].append((score, new))
        columns[new].append((score, old))
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    before_of: dict[int, int] = {}
    ties: list[Tie] = []
    for score, old, new in scored:
        if old in taken_old or new in taken_new:
            continue
        news = _rivals(rows[old], score, taken_new)
        olds = _rivals(columns[new], score, taken_old)
        taken_old.update(olds)
        taken_new.update(news)
        if (len(olds), len(news)) == (1, 1):
            before_of[new] = old
        else:
            ties.append(Tie(tuple(sorted(olds)), tuple(sorted(news))))
    return Pairing(before_of, tuple(ties))


def _scored(
    before: Sequence[str], after: Sequence[str], candidates: Iterable[tuple[int, int]]
) -> list[tuple[float, int, int]]:
    """Return likeness and both positions of the pairs that are alike enough, the most alike first.

    Likeness is the weight of the shared words in that of all words, from 0 to 1 (Dice, 1945).
    """
    old_words, new_words = [*map(words_of, before)], [*map(words_of, after)]
    weights = weigh_words(old_words, new_words)
    old_weights = [weight_of(words, weights) for words in old_words]
    new_weights = [weight_of(words, weights) for words in new_words]
    found: list[tuple[float, int, int]] = []
    for old, new in _promising(old_words, new_words, weights, candidates):
        shared = weight_of(old_words[old] & new_words[new], weights)
        score = 2 * shared / (old_weights[old] + new_weights[new] or 1)
        if score >= LEAST_LIKENESS:
            found.append((score, old, new))
    return sorted(found, key=lambda each: (-each[0], each[1], each[2]))


def _promising(
    old_words: Sequence[frozenset[str]],
    new_words: Sequence[frozenset[str]],
    weights: Mapping[str, float],
    candidates: Iterable[tuple[int, int]],
) -> Iterator[tuple[int, int]]:
    """Yield the pairs that share a rare word, or may be alike enough by frequent words alone."""
    having: dict[str, list[int]] = defaultdict(list)
    for new, words in enumerate(new_words):
        for word in words:
            having[word].append(new)
    frequent = frozenset(word for word, texts in having.items() if len(texts) > _FREQUENT)
    near = [
        {new for word in words - frequent for new in having.get(word, ())} for words in old_words
    ]
    slack_of_old = [_slack(words, frequent, weights) for words in old_words]
    slack_of_new = [_slack(words, frequent, weights) for words in new_words]
    for old, new in candidates:
        if new in near[old] or slack_of_old[old] + slack_of_new[new] >= 0:
            yield old, new


def _slack(words: frozenset[str], frequent: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return how much more the frequent words weigh than is needed, if all are shared."""
    return weight_of(words & frequent, weights) - LEAST_LIKENESS * weight_of(words, weights)


def _rivals(candidates: Sequence[tuple[float, int]], score: float, taken: set[int]) -> list[int]:
    return [
        position
        for rival, position in candidates
        if rival >= score - MARGIN and position not in taken
    ]
