"""Reads types as the checker writes them, and decides whether one type surely is not another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.languages.declared.declarations import split_outside

SCALARS: Final = frozenset({"str", "bytes", "int", "float", "bool", "complex"})
CONTAINERS: Final = frozenset({"list", "dict", "set", "frozenset", "tuple", "range", "bytearray"})
BUILTINS: Final = SCALARS | CONTAINERS | {"slice"}

# A checker infers these types where it knows too little, or where more than one type may be meant.
_VAGUE: Final = frozenset({"object", "Any", "Never", "None", "NoReturn", "", "<nothing>"})
_DICT_VIEWS: Final = frozenset({"dict_keys", "dict_values", "dict_items"})
_ITERATORS: Final = frozenset({"Iterator", "Generator"})
# Abstract types, each with the concrete types that implement it.
_COLLECTIONS: Final = CONTAINERS | {"str", "bytes"}
_ABSTRACT: Final = {
    "Sized": _COLLECTIONS | _DICT_VIEWS | {"deque"},
    "Container": _COLLECTIONS | _DICT_VIEWS,
    "Iterable": _COLLECTIONS | _DICT_VIEWS | _ITERATORS | {"deque"},
    "Collection": _COLLECTIONS,
    "Reversible": CONTAINERS - {"set", "frozenset"} | {"str", "bytes"},
    "Sequence": frozenset({"str", "bytes", "bytearray", "list", "tuple", "range"}),
    "MutableSequence": frozenset({"list", "bytearray"}),
    "Mapping": frozenset({"dict"}),
    "MutableMapping": frozenset({"dict"}),
    "Set": frozenset({"set", "frozenset"}),
    "AbstractSet": frozenset({"set", "frozenset"}),
    "MutableSet": frozenset({"set"}),
    "Iterator": frozenset({"Generator"}),
    "Generator": frozenset[str](),
    "Coroutine": frozenset[str](),
    "Awaitable": frozenset({"Coroutine"}),
    "PathLike": frozenset[str](),
    "SupportsIndex": frozenset({"int", "bool"}),
    "SupportsInt": frozenset({"int", "bool", "float"}),
    "SupportsFloat": frozenset({"int", "bool", "float"}),
    "SupportsAbs": frozenset({"int", "bool", "float", "complex"}),
    "SupportsKeysAndGetItem": frozenset({"dict"}),
    "Buffer": frozenset({"bytes", "bytearray"}),
}
# A value that has their methods may be used as one of these, whatever its class is derived from.
_FILES: Final = frozenset({"IO", "TextIO", "BinaryIO"})
_PARAMETERS: Final = "[]"
"""The head of the argument of a `Callable`. Its parameters are types with their kinds as heads."""
_KINDS: Final = {
    "DefaultArg": "optional",
    "VarArg": "rest",
    "NamedArg": "keyword",
    "DefaultNamedArg": "",
    "KwArg": "",
}
_DEF_SIGNATURE = re.compile(r"def (?:\w+|<lambda>)?\((?P<parameters>.*)\)(?: -> .*)?", re.DOTALL)
_PROMOTED: Final = {
    "bool": {"int", "float", "complex"},
    "int": {"bool", "float", "complex"},  # `0` and `1` are used as truth values
    "float": {"complex"},
    "bytearray": {"bytes"},
}


@dataclass(frozen=True, slots=True)
class TypeText:
    """Represent a type.

    `head` is the last part of the type's name, or `|` for a union. `args` are its parameters or
    members. `module` is the rest of a dotted name, which a checker writes where two types share
    their name.
    """

    head: str
    args: tuple[TypeText, ...] = ()
    module: str = ""

    @property
    def is_builtin(self) -> bool:
        return self.head in BUILTINS and self.module in {"", "builtins"}


def parse_type(text: str) -> TypeText:
    """Return the type in `text`; where it is not a plain type, the head is empty.

    `None` in a union is left out: a value that may be `None` is used as if it were not.
    """
    members = _split(text, "|")
    if len(members) > 1:
        return _union([parse_type(each) for each in members])
    text = text.strip().rstrip("?*")
    if (written := _DEF_SIGNATURE.fullmatch(text)) is not None:
        kinds = tuple(map(TypeText, _kinds_in_def(written["parameters"])))
        return TypeText("Callable", (TypeText(_PARAMETERS, kinds),))
    head, bracket, rest = text.partition("[")
    module, _, name = head.strip().rpartition(".")
    if bracket and not rest.endswith("]"):
        return TypeText("")
    if not name.isidentifier():
        return TypeText("..." if text == "..." else "")
    if name == "Literal":
        return TypeText(name, (TypeText(rest),) if bracket else (), module)
    if name == "Callable":
        return TypeText(name, _parameters(rest[:-1]) if bracket else (), module)
    args = tuple(parse_type(each) for each in _split(rest[:-1], ",")) if bracket else ()
    return _union(args) if name == "Union" else TypeText(name, args, module)


def _parameters(text: str) -> tuple[TypeText, ...]:
    """Return the argument of a `Callable` with the kinds of its parameters; empty for `...`."""
    listed = _split(text, ",")[0].strip()
    if not listed.startswith("["):
        return ()
    parts = [each.strip() for each in _split(listed[1:-1], ",") if each.strip()]
    kinds = (_KINDS.get(each.partition("(")[0], "required") for each in parts)
    return (TypeText(_PARAMETERS, tuple(map(TypeText, kinds))),)


def _kinds_in_def(text: str) -> Iterator[str]:
    """Yield the kinds of the parameters of a function that mypy writes as a `def`."""
    by_name = False
    for each in map(str.strip, _split(text, ",")):
        has_default = "=" in each
        if each in {"", "/"} or each.startswith("**"):
            continue
        if each.startswith("*"):
            by_name = True
            if each != "*":
                yield "rest"
        elif by_name:
            yield "" if has_default else "keyword"
        else:
            yield "optional" if has_default else "required"


def without_arguments(of: TypeText) -> TypeText:
    """Return a type without its arguments; a union keeps its members."""
    if of.head == "|":
        return replace(of, args=tuple(map(without_arguments, of.args)))
    return replace(of, args=())


def _union(members: Sequence[TypeText]) -> TypeText:
    left = [each for each in members if each.head != "None"]
    return left[0] if len(left) == 1 else TypeText("|", tuple(left))


def _split(text: str, separator: str) -> list[str]:
    return split_outside(text, separator, "[(", "])", "'\"")


def surely_differ(
    actual: TypeText,
    expected: TypeText,
    is_plain_class: Callable[[TypeText], bool],
    is_complete: Callable[[TypeText], bool] = lambda _: False,
) -> bool:
    """Return whether surely no value of the type `actual` is of the type `expected`.

    A checker has already found that `actual` is not assignable to `expected`. That alone is not
    certain: the reason may be invariance, a widened literal, a union, or a type that the checker
    knows in part. `is_plain_class` returns whether the values of a class are of no types but that
    class and its bases. `is_complete` returns whether a class has no methods beyond those that the
    checker knows.
    """
    if expected.head == "|":
        return all(
            surely_differ(actual, each, is_plain_class, is_complete) for each in expected.args
        )
    if actual.head in _VAGUE or expected.head in _VAGUE or actual.head == "|":
        return False
    if "Literal" in (actual.head, expected.head):
        return actual.head == expected.head
    if expected.head == "Callable":
        if actual.head == "Callable":
            return _parameters_differ(actual, expected)
        return actual.is_builtin or is_complete(actual)
    if actual.head == "Callable":
        return expected.is_builtin or expected.head in _ABSTRACT or is_plain_class(expected)
    if actual.head == expected.head and actual.module == expected.module:
        return _arguments_differ(actual, expected, is_plain_class)
    if expected.head in _FILES:
        return actual.is_builtin
    if expected.head in _ABSTRACT:
        if actual.module in {"", "builtins"} and actual.head in _ABSTRACT[expected.head]:
            return _elements_differ(actual, expected, is_plain_class)
        return actual.is_builtin or is_complete(actual)
    if expected.is_builtin:
        fits = expected.head in _PROMOTED.get(actual.head, ())
    else:
        fits = not is_plain_class(expected)
    return not fits and (actual.is_builtin or is_plain_class(actual))


def _parameters_differ(actual: TypeText, expected: TypeText) -> bool:
    """Return whether a function cannot be called with the number of arguments passed to it."""
    if not actual.args or not expected.args:
        return False
    takes = [each.head for each in actual.args[0].args]
    passed = [each.head for each in expected.args[0].args]
    if any(each != "required" for each in passed):
        return False
    required, optional = takes.count("required"), takes.count("optional")
    return (
        "keyword" in takes
        or required > len(passed)
        or (required + optional < len(passed) and "rest" not in takes)
    )


def _arguments_differ(
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[TypeText], bool]
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
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[TypeText], bool]
) -> bool:
    """Return whether the elements of a container differ from those that an abstract type has."""
    if actual.head in {"str", "bytes"} or not expected.args or not actual.args:
        return False
    if actual.head == "tuple":
        elements = [each for each in actual.args if each.head != "..."]
        return all(_nested_differ(each, expected.args[0], is_plain_class) for each in elements)
    pairs = zip(actual.args, expected.args, strict=False)
    return any(_nested_differ(one, other, is_plain_class) for one, other in pairs)


def _nested_differ(
    actual: TypeText, expected: TypeText, is_plain_class: Callable[[TypeText], bool]
) -> bool:
    """Return whether two types within containers surely differ.

    The checker has not compared these, so only built-in and abstract types are judged.
    """
    if not {actual.head, expected.head} <= BUILTINS | _ABSTRACT.keys():
        return False
    return surely_differ(actual, expected, is_plain_class)
