"""Reads JSON and TOML strictly, and finds where values are.

The module refuses input that Python's reader accepts but other readers do not agree on: duplicate
keys, NaN, numbers beyond a float, lone surrogates, endless nesting. A `JsonProblem` says what is
wrong and where.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from shared.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FieldPath:
    """Hold the keys and indexes that lead from a document to one of its fields.

    A path without parts names the document itself, and is false.
    """

    parts: tuple[str | int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        """Return the path as `preconditions[0].path`; the document itself is the empty string."""
        text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.parts)
        return text.removeprefix(".")

    def below(self, *parts: str | int) -> FieldPath:
        """Return this path with `parts` added at its end."""
        return FieldPath((*self.parts, *parts))

    def sort_key(self) -> tuple[tuple[bool, int, str], ...]:
        """Return a sort key: keys sort by the alphabet, indexes by number, shorter paths first."""
        return tuple(
            (True, each, "") if isinstance(each, int) else (False, 0, each) for each in self.parts
        )


def at(*parts: str | int) -> FieldPath:
    """Return the path with these parts, as in `at("preconditions", 0, "path")`."""
    return FieldPath(parts)


JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"

# The size is bounded because a document has to be read whole before it can be judged.
MAX_DOCUMENT_BYTES: Final = 10 * 1024 * 1024
# Documents use five levels. The bound keeps every later walk of a value below Python's own limit
# on recursion.
MAX_DEPTH: Final = 64
_CONTAINERS: Final = (dict, list)

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]++|\\.)*+")(?P<key>[ \t\r\n]*+:)?+
      | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<word>[^\s"\[\]{}:,]++)""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANT = re.compile(r"NaN|-?Infinity")
_NUMBER = re.compile(r"-?[0-9]+(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
# Matches, in the text of a string, a pair of escapes that make one character, or any one escape.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


class JsonProblem(ValueError):
    """Say that a text is not a valid document.

    `line` and `column` count from 1; both are `None` if the whole text is meant.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f" (line {line}, column {column})"
        super().__init__(message + where)
        self.message = message
        self.line = line
        self.column = column


class _Stopped(Exception):
    """Stop Python's reader from within a hook, which does not know its position in the text."""


def parse_json(source: str | bytes) -> JsonValue:
    """Return the JSON value that `source` holds; bytes are read as UTF-8.

    Raises `JsonProblem` for a text that is not JSON, and for JSON that this module refuses.
    """
    text = _decode(source)
    try:
        value: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonProblem(f"not JSON: {error.msg}", error.lineno, error.colno) from None
    except (_Stopped, RecursionError, ValueError):
        # A ValueError is a number with more digits than the interpreter converts.
        raise _first_refusal(text) or JsonProblem("cannot be read") from None
    suspect = _SURROGATE_ESCAPE.search(text) or _deeper_than(value, MAX_DEPTH)
    if suspect and (problem := _first_refusal(text)):
        raise problem
    return value


def _decode(source: str | bytes) -> str:
    """Return the text of `source`. Raises `JsonProblem` if it is too long or not Unicode."""
    try:
        data = source if isinstance(source, bytes) else source.encode()
        if len(data) > MAX_DOCUMENT_BYTES:
            raise JsonProblem(f"is over {MAX_DOCUMENT_BYTES // 1024 // 1024} MB")
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise JsonProblem(f"is not UTF-8: byte {error.start} is {data[error.start]:#04x}") from None
    except UnicodeEncodeError as error:
        raise _problem("a lone surrogate", error.object, error.start) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Stopped
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _Stopped
    return value


def _constant(name: str) -> float:
    raise _Stopped


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)


def _deeper_than(value: JsonValue, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        below: list[JsonValue] = []
        for parent in level:
            if isinstance(parent, dict):
                below += [each for each in parent.values() if each.__class__ in _CONTAINERS]
            elif isinstance(parent, list):
                below += [each for each in parent if each.__class__ in _CONTAINERS]
        if not below:
            return False
        level = below
    return True


def _first_refusal(text: str) -> JsonProblem | None:
    """Return the first part of a text that this module refuses although Python's reader takes it.

    The text before that part has to be JSON; the text after it may be anything.
    """
    open_keys: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        start = token.start()
        match token.lastgroup:
            case "open":
                open_keys.append(set())
                if len(open_keys) > MAX_DEPTH:
                    return _problem(f"nested more than {MAX_DEPTH} levels deep", text, start)
            case "close":
                if open_keys:
                    open_keys.pop()
            case "word":
                if problem := _number_problem(token.group()):
                    return _problem(problem, text, start)
            case _:
                string = token["string"]
                if lone := _lone_surrogate(string):
                    return _problem("a lone surrogate", text, start + lone)
                if token["key"] and open_keys:
                    key = _decoded(string)
                    if key in open_keys[-1]:
                        return _problem(f"the key {string} stands twice in one object", text, start)
                    open_keys[-1].add(key)
    return None


def _decoded(string: str) -> str:
    try:
        return str(json.loads(string))
    except ValueError:
        return string  # after the fault that is searched for, the text may be anything


def _number_problem(word: str) -> str | None:
    if constant := _CONSTANT.match(word):
        return f"{constant[0]} is no JSON value"
    number = _NUMBER.fullmatch(word)
    return "a number too large to be read" if number and not _is_readable(number) else None


def _is_readable(number: re.Match[str]) -> bool:
    """Return whether Python converts the number: floats have a range, ints a limit of digits."""
    if number["rest"]:
        return math.isfinite(float(number[0]))
    try:
        int(number[0])
    except ValueError:
        return False
    return True


def _lone_surrogate(string: str) -> int:
    """Return the offset in a string's source of an escape that is half a character; 0 for none."""
    return next((each.start() for each in _ESCAPE.finditer(string) if each["lone"]), 0)


def _problem(message: str, text: str, offset: int) -> JsonProblem:
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return JsonProblem(message, line, column)


JsonPath: TypeAlias = "tuple[str | int, ...]"
"""The keys and indexes that lead to a value; empty for the document itself."""


@dataclass(frozen=True, slots=True)
class JsonPlace:
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
        """Read the document. Raises `JsonProblem` if the text is not one."""
        parse_json(text)
        self._text = text
        self._spans: Mapping[JsonPath, tuple[int, int]] = dict(_spans(text))
        self._lines = [0, *(each.end() for each in re.finditer("\r\n?|\n", text))]

    def nearest(self, path: JsonPath) -> JsonPlace:
        """Return the place of the value at `path`, or of what would hold it if it is missing."""
        while path not in self._spans:
            path = path[:-1]
        start, end = self._spans[path]
        return JsonPlace(*self._point(start), *self._point(end))

    def _point(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        before = self._text[self._lines[line - 1] : offset]
        return line, len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1


def place_of_problem(problem: JsonProblem) -> JsonPlace | None:
    """Return where a text stops being a document; `None` if that is the whole text."""
    if problem.line is None or problem.column is None:
        return None
    return JsonPlace(problem.line, problem.column, problem.line, problem.column + 1)


@dataclass(slots=True)
class _Open:
    path: JsonPath
    start: int
    is_list: bool
    index: int = 0
    key: str = ""
    key_start: int = 0

    def begin(self, start: int) -> tuple[JsonPath, int]:
        """Return path and start of the next value in it, which begins at `start`."""
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


# tomllib takes time by the square of a key's parts, and goes through the parts of a table's name
# for each line of the table. A key of 6,000 parts takes a second, and one of 90,000 takes minutes.
# Dots are counted wherever they stand, because only a parser knows what is a key.
_FEW_DOTS: Final = 100  # in a line; such lines cost nothing worth a bound
_MOST_WORK: Final = 40_000_000  # about a second


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises `ValueError` if it is not TOML or has keys of too many parts, and `RecursionError`
    if it is nested too deep.
    """
    import tomllib  # takes 5 ms, and most runs have nothing to parse

    lines = text.split("\n")
    dots = [number for line in lines if (number := line.count(".")) > _FEW_DOTS]
    if dots and sum(each * each for each in dots) + max(dots) * len(lines) > _MOST_WORK:
        raise ValueError("its keys have too many parts")
    return tomllib.loads(text, parse_float=parse_float)


Table: TypeAlias = Mapping[str, object]


def read_toml(path: str, text: str) -> Table:
    """Return a document. Raises `InvalidInput` if the text is not TOML."""
    try:
        return parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}", "correct it") from error


def table(parent: object, *keys: str) -> Table:
    """Return the table at the end of `keys`; an empty one where there is none."""
    found = parent
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
