"""Splits the words of a command into options with their values, and the other words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Hold the options by name with their values, in their order, and the other words.

    `rest` are the words after `--`. The value is empty where an option has none.
    """

    options: tuple[tuple[str, str], ...]
    positional: tuple[str, ...]
    rest: tuple[str, ...] = ()

    def values(self, *names: str) -> tuple[str, ...]:
        """Return the values of all options with one of these names."""
        return tuple(value for name, value in self.options if name in names)

    def has(self, *names: str) -> bool:
        """Return whether one of these options is there, whatever its value."""
        return any(name in names for name, _ in self.options)

    def unknown(self, known: Collection[str]) -> Iterator[str]:
        """Yield the names of the options that are not among `known`."""
        return (name for name, _ in self.options if name not in known)


def split_options(
    words: Sequence[str], with_value: Collection[str], *, stops: bool = False
) -> Words:
    """Return the words, sorted. The options of `with_value` take the next word as their value.

    `stops` says that options end at the first other word, as those of `node` do; this word and all
    that follow are then `positional`.
    """
    options: list[tuple[str, str]] = []
    positional: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            rest = tuple(words[index:])
            return Words(tuple(options), (*positional, *rest) if stops else tuple(positional), rest)
        if word[:1] != "-" or word == "-":
            if stops:
                return Words(tuple(options), tuple(words[index - 1 :]))
            positional.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if not equals and name in with_value and index < len(words):
            value = words[index]
            index += 1
        options.append((name, value))
    return Words(tuple(options), tuple(positional))
