"""Compares the words of requirements: whether two say the same, and how alike they are. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import log
from typing import Final

# The first words of a requirement tell it from others; the rest would only cost time.
_MAX_WORDS: Final = 120
_STOP_WORD_WEIGHT: Final = 0.2
_NUMBER_WEIGHT: Final = 0.5
_LAST: Final = " .;,!"  # what may stand at the end of a text without changing it

_NOT_WORDS = re.compile(r"[\s*_`]+")
_CODE = re.compile(r"(?<!`)(`+)([^`]+)\1(?!`)")
_EMPHASIS = re.compile(r"(?<![\w*_])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?![\w*_])")
_QUOTED = re.compile(r"(?<!`)`+([^`]+)`+|\"([^\"]+)\"|“([^“”]+)”")
_CHECKBOX = re.compile(r"\[[ xX]\]\s+")
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
    """Return the weights of words, added up."""
    return sum(map(weights.__getitem__, words))


def _plain(text: str) -> str:
    """Return the text on one line, without emphasis, marks of code, and a box to be ticked."""
    parts: list[str] = []
    start = 0
    for code in _CODE.finditer(text):
        parts += [_EMPHASIS.sub("", text[start : code.start()]), code[2]]
        start = code.end()
    parts.append(_EMPHASIS.sub("", text[start:]))
    return _CHECKBOX.sub("", " ".join("".join(parts).split()), count=1)


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
