"""Pairs the texts of two versions by their likeness, and leaves apart what is ambiguous. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planner.spec.wording import weigh_words, weight_of, words_of

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
    """Return by how much the frequent words are more than needed, if all of them are shared."""
    return weight_of(words & frequent, weights) - LEAST_LIKENESS * weight_of(words, weights)


def _rivals(candidates: Sequence[tuple[float, int]], score: float, taken: set[int]) -> list[int]:
    """Return the positions, not taken yet, that are as alike as `score` within the margin."""
    return [
        position
        for rival, position in candidates
        if rival >= score - MARGIN and position not in taken
    ]
