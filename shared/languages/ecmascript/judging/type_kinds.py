"""Says whether two types that the compiler names surely exclude each other at run time."""

from __future__ import annotations

import re
from typing import Final

_MAX_TYPE: Final = 400  # characters of a type that is looked at
_LITERALS: Final = (
    (re.compile(r'"(?:[^"\\]|\\.)*"|`.*`', re.DOTALL), "string"),
    (re.compile(r"-?\d[\d_.e+]*"), "number"),
    (re.compile(r"-?\d+n"), "bigint"),
)
_PLAIN: Final = {
    "string": "string", "number": "number", "boolean": "boolean", "true": "boolean",
    "false": "boolean", "bigint": "bigint", "symbol": "symbol", "void": "nothing",
    "undefined": "nothing", "null": "nothing",
}  # fmt: skip
# Named types whose values are never a primitive, and never each other.
_OBJECTS: Final = {
    "Date": "object:Date", "RegExp": "object:RegExp", "Map": "object:Map", "Set": "object:Set",
    "Promise": "object:Promise", "Error": "object:Error",
}  # fmt: skip
_ARRAYS = re.compile(r"(?:readonly )?\[.*\]|.*\[\]|(?:Readonly)?Array<.*>", re.DOTALL)
_FUNCTION = re.compile(r"(?:new |abstract new )?(?:<.*>)?\(.*\) => .*|Function", re.DOTALL)
_GENERIC = re.compile(r"([A-Za-z_$][\w$]*)<.*>", re.DOTALL)
_PRIMITIVES: Final = frozenset({"string", "number", "boolean", "bigint", "symbol"})


def kinds_of(text: str, objects: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """Return the kinds of values that a type has; `None` where they are not known.

    `objects` are names of types whose values are objects: classes and interfaces of the project.
    """
    found: set[str] = set()
    for part in _union(text):
        kind = _kind(part.strip(), objects)
        if kind is None:
            return None
        found.add(kind)
    return frozenset(found)


def _union(text: str) -> list[str]:
    """Return the members of a union; the whole text where it is none, or too long."""
    if len(text) > _MAX_TYPE:
        return [""]
    parts, depth, start, quote = [], 0, 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'`":
            quote = char
        elif char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and text[index - 1 : index] != "="):
            depth -= 1
        elif char == "|" and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _kind(text: str, objects: frozenset[str]) -> str | None:
    if text.startswith("(") and text.endswith(")") and "=>" not in text:
        return None
    if text in _PLAIN:
        return _PLAIN[text]
    for shape, kind in _LITERALS:
        if shape.fullmatch(text):
            return kind
    if _FUNCTION.fullmatch(text):
        return "function"
    if _ARRAYS.fullmatch(text):
        return "array"
    named = _GENERIC.fullmatch(text)
    head = named[1] if named else text
    if head in _OBJECTS:
        return _OBJECTS[head]
    if head in objects or (text.startswith("{") and text.endswith("}")):
        return "object"
    return None


def surely_differ(actual: str, expected: str, objects: frozenset[str] = frozenset()) -> bool:
    """Return whether no value of the one type is a value of the other, whatever runs.

    Values that are nothing (`undefined`, `null`) are left out of account. A plain object may fit an
    interface, so that two objects never surely differ.
    """
    given, wanted = kinds_of(actual, objects), kinds_of(expected, objects)
    if given is None or wanted is None:
        return False
    given, wanted = given - {"nothing"}, wanted - {"nothing"}
    if not given or not wanted:
        return False
    if given & wanted:
        return False
    shapeless = {"object"}
    if given <= _PRIMITIVES or wanted <= _PRIMITIVES:
        # An object type without members fits a primitive, too.
        return not ({"{}"} & {actual.strip(), expected.strip()})
    return not (given & shapeless or wanted & shapeless)


def may_fit(actual: str, expected: str) -> bool:
    """Return whether one member of a union of types fits, so that the value may well do."""
    given, wanted = kinds_of(actual), kinds_of(expected)
    return given is not None and wanted is not None and len(given) > 1 and bool(given & wanted)


def is_literal_misfit(actual: str, expected: str) -> bool:
    """Return whether a literal is given where a union of other literals is wanted."""
    given = [each.strip() for each in _union(actual)]
    wanted = [each.strip() for each in _union(expected)]
    literals = [*given, *wanted]
    return all(any(shape.fullmatch(e) for shape, _ in _LITERALS) for e in literals) and not (
        set(given) & set(wanted)
    )


def is_known_value(text: str) -> bool:
    """Return whether the members of a type are those that the language gives it."""
    kinds = kinds_of(text)
    return kinds is not None and len(kinds) == 1 and "object" not in kinds
