"""Types as the checker writes them in its messages, and whether one surely is not another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

SCALARS: Final = frozenset({"str", "bytes", "int", "float", "bool", "complex"})
CONTAINERS: Final = frozenset({"list", "dict", "set", "frozenset", "tuple", "range", "bytearray"})
BUILTINS: Final = SCALARS | CONTAINERS

# What a checker infers where it knows too little, or where more than one thing may be meant.
_VAGUE: Final = frozenset({"object", "Any", "Never", "None", "NoReturn", "", "<nothing>"})
# Abstract types, and which of the built-in ones are such.
_ABSTRACT: Final = {
    "Sized": SCALARS - {"int", "float", "bool", "complex"} | CONTAINERS,
    "Container": SCALARS - {"int", "float", "bool", "complex"} | CONTAINERS,
    "Iterable": SCALARS - {"int", "float", "bool", "complex"} | CONTAINERS,
    "Collection": SCALARS - {"int", "float", "bool", "complex"} | CONTAINERS,
    "Reversible": CONTAINERS - {"set", "frozenset"} | {"str", "bytes"},
    "Sequence": frozenset({"str", "bytes", "bytearray", "list", "tuple", "range"}),
    "MutableSequence": frozenset({"list", "bytearray"}),
    "Mapping": frozenset({"dict"}),
    "MutableMapping": frozenset({"dict"}),
    "Set": frozenset({"set", "frozenset"}),
    "AbstractSet": frozenset({"set", "frozenset"}),
    "MutableSet": frozenset({"set"}),
    "Iterator": frozenset[str](),
    "Generator": frozenset[str](),
    "SupportsIndex": frozenset({"int", "bool"}),
}
_PROMOTED: Final = {
    "bool": {"int", "float", "complex"},
    "int": {"bool", "float", "complex"},  # `0` and `1` are used as truth values
    "float": {"complex"},
    "bytearray": {"bytes"},
}


@dataclass(frozen=True, slots=True)
class TypeText:
    """A type: `head` is its last name, `|` for a union; `args` are its parameters or members."""

    head: str
    args: tuple[TypeText, ...] = ()


def parse_type(text: str) -> TypeText:
    """Return the type in `text`; what is no plain type (a signature) has the head ``.

    `None` in a union is left out: what may be missing is used as if it were there.
    """
    members = _split(text, "|")
    if len(members) > 1:
        return _union([parse_type(each) for each in members])
    text = text.strip().rstrip("?*")
    head, bracket, rest = text.partition("[")
    name = head.strip().rsplit(".", 1)[-1]
    if bracket and not rest.endswith("]"):
        return TypeText("")
    if not name.isidentifier() and text != "...":
        return TypeText("")
    if name in {"Literal", "Callable"} or not bracket:
        # What they hold are values and lists, no types.
        return TypeText(name or text, (TypeText(rest),) if bracket else ())
    args = tuple(parse_type(each) for each in _split(rest[:-1], ","))
    return _union(args) if name == "Union" else TypeText(name, args)


def _union(members: Sequence[TypeText]) -> TypeText:
    left = [each for each in members if each.head != "None"]
    return left[0] if len(left) == 1 else TypeText("|", tuple(left))


def _split(text: str, separator: str) -> list[str]:
    """Split at separators outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def surely_differ(
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[str], bool]
) -> bool:
    """Say whether no value of the type `actual` is of the type `expected`.

    A checker has already said that one is not assignable to the other; this leaves out what that
    says of invariance, widened literals, unions and types it only half knows. `is_plain_class`
    tells classes whose values are of no type but theirs and their bases'.
    """
    if expected.head == "|":
        return all(surely_differ(actual, each, is_plain_class) for each in expected.args)
    if actual.head in _VAGUE or expected.head in _VAGUE or actual.head == "|":
        return False
    if "Literal" in (actual.head, expected.head):
        return actual.head == expected.head
    if actual.head == expected.head:
        return _arguments_differ(actual, expected, is_plain_class)
    if expected.head in _ABSTRACT:
        if actual.head in _ABSTRACT[expected.head]:
            return _elements_differ(actual, expected, is_plain_class)
        return actual.head in BUILTINS or actual.head == "Callable"
    if expected.head in BUILTINS:
        return expected.head not in _PROMOTED.get(actual.head, ()) and _is_known(
            actual.head, is_plain_class
        )
    return is_plain_class(expected.head) and _is_known(actual.head, is_plain_class)


def _is_known(head: str, is_plain_class: Callable[[str], bool]) -> bool:
    return head in BUILTINS or head == "Callable" or is_plain_class(head)


def _arguments_differ(
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[str], bool]
) -> bool:
    mine, theirs = actual.args, expected.args
    if actual.head == "tuple":
        open_ended = TypeText("...")
        if open_ended in mine or open_ended in theirs:
            return surely_differ(mine[0], theirs[0], is_plain_class) if mine and theirs else False
        if len(mine) != len(theirs):
            return bool(mine and theirs)
    return any(
        _nested_differ(one, other, is_plain_class) for one, other in zip(mine, theirs, strict=False)
    )


def _elements_differ(
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[str], bool]
) -> bool:
    """Compare the elements of a built-in container with those an abstract type asks for."""
    if actual.head in {"str", "bytes"} or not expected.args or not actual.args:
        return False
    if actual.head == "tuple":
        elements = [each for each in actual.args if each.head != "..."]
        return all(_nested_differ(each, expected.args[0], is_plain_class) for each in elements)
    pairs = zip(actual.args, expected.args, strict=False)
    return any(_nested_differ(one, other, is_plain_class) for one, other in pairs)


def _nested_differ(
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[str], bool]
) -> bool:
    """Compare within a container: there nobody has said yet that the classes are unrelated."""
    if not {actual.head, expected.head} <= BUILTINS | _ABSTRACT.keys():
        return False
    return surely_differ(actual, expected, is_plain_class)
