"""Finds where the values of a JSON document stand in its text. Pure."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from shared.files.strict_json import JsonProblem, parse_json

JsonPath: TypeAlias = "tuple[str | int, ...]"
"""The keys and indexes that lead to a value; empty for the document itself."""

_TOKEN: Final = re.compile(
    r"""(?P<string>"(?:[^"\\]++|\\.)*+")(?P<key>[ \t\r\n]*+:)?+
      | (?P<open>[\[{]) | (?P<close>[\]}]) | [^\s"\[\]{}:,]++""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Hold where a value begins and ends; the value of a key begins with its key.

    Lines and columns count from 1. Columns count the code units of UTF-16, as editors do; the end
    is the column after the last character.
    """

    line: int
    column: int
    end_line: int
    end_column: int


class JsonPlaces:
    """Hold the places of all values in one document."""

    def __init__(self, text: str) -> None:
        """Read the document. Raises `JsonProblem` where the text is not one."""
        parse_json(text)
        self._text = text
        self._spans: Mapping[JsonPath, tuple[int, int]] = dict(_spans(text))
        self._lines = [0, *(each.end() for each in re.finditer("\r\n?|\n", text))]

    def nearest(self, path: JsonPath) -> Place:
        """Return the place of the value at `path`, or of what would hold it if it is missing."""
        while path not in self._spans:
            path = path[:-1]
        start, end = self._spans[path]
        return Place(*self._point(start), *self._point(end))

    def _point(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        before = self._text[self._lines[line - 1] : offset]
        return line, len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1


def place_of_problem(problem: JsonProblem) -> Place | None:
    """Return where a text stops being a document; `None` where that is the whole text."""
    if problem.line is None or problem.column is None:
        return None
    return Place(problem.line, problem.column, problem.line, problem.column + 1)


@dataclass(slots=True)
class _Open:
    """Hold a list or an object that has not ended yet; `key` and `key_start` are its last key's."""

    path: JsonPath
    start: int
    is_list: bool
    index: int = 0
    key: str = ""
    key_start: int = 0

    def begin(self, start: int) -> tuple[JsonPath, int]:
        """Return path and start of the next value in it, which stands at `start`."""
        if not self.is_list:
            return (*self.path, self.key), self.key_start
        self.index += 1
        return (*self.path, self.index - 1), start


def _spans(text: str) -> Iterator[tuple[JsonPath, tuple[int, int]]]:
    """Yield each value's path, and where it starts and ends in the text of a valid document."""
    inside: list[_Open] = []
    for token in _TOKEN.finditer(text):
        if token["key"] is not None:
            inside[-1].key, inside[-1].key_start = json.loads(token["string"]), token.start()
        elif token["close"]:
            ended = inside.pop()
            yield ended.path, (ended.start, token.end())
        else:
            path, start = inside[-1].begin(token.start()) if inside else ((), token.start())
            if token["open"]:
                inside.append(_Open(path, start, token["open"] == "["))
            else:
                yield path, (start, token.end())
