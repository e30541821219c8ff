"""Reads mypy's messages as complaints, each kind with its parts.

All code that depends on mypy's wording, its error codes and its way of counting columns is in this
file, so that a new release of mypy changes this file alone. The patterns follow `messages.py` and
`message_registry.py` of mypy 2.4.1. A message that fits none of them is `Unclear`, or `Beside`
if its code is one that other rules cover.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.languages.python.type_text import TypeText, parse_type

if TYPE_CHECKING:
    from shared.languages.language_tools import Diagnostic


@dataclass(frozen=True, slots=True)
class Callee:
    """Represent the function that a message names; `owner` is the class of a method."""

    name: str
    owner: TypeText | None = None


@dataclass(frozen=True, slots=True)
class ModuleLacks:
    """Report that a module lacks a name; `module` is `None` if the message does not name it."""

    module: str | None
    name: str


@dataclass(frozen=True, slots=True)
class ValueLacks:
    """Report that a value of `type` lacks the attribute `name`."""

    type: TypeText
    name: str


@dataclass(frozen=True, slots=True)
class WrongArity:
    """Report a call with too many arguments, too few, or one of an unknown name."""

    callee: Callee | None


@dataclass(frozen=True, slots=True)
class MadeAbstract:
    """Report that a class with abstract methods is called."""

    name: str


@dataclass(frozen=True, slots=True)
class WrongArgument:
    """Report an argument of another type than its parameter."""

    callee: Callee | None
    actual: TypeText
    expected: TypeText


@dataclass(frozen=True, slots=True)
class WrongElement:
    """Report a wrong element in a written-out list, set, tuple or dict.

    `pairs` has the actual and the expected type of the element; for a dict it has one pair for the
    key and one for the value. `shown` is the actual type as mypy writes it.
    """

    pairs: tuple[tuple[TypeText, TypeText], ...]
    shown: str


@dataclass(frozen=True, slots=True)
class NoVariant:
    """Report that no variant of an overloaded function takes arguments of these types."""

    callee: Callee
    arguments: tuple[TypeText, ...]


@dataclass(frozen=True, slots=True)
class WrongOperands:
    """Report two operands that do not go together.

    `of_union` is true where an operand is a union, and the message is about one of its members.
    """

    operator: str
    left: TypeText
    right: TypeText
    of_union: bool


@dataclass(frozen=True, slots=True)
class WrongOperand:
    """Report that a value of `type` does not take an operator, or an assignment to an item."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class WrongFormat:
    """Report that a placeholder such as `%d` is filled with a value of another type."""

    actual: TypeText
    expected: TypeText


@dataclass(frozen=True, slots=True)
class NotIndexable:
    """Report an access to an item of a value whose `type` has no items."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class WrongIndex:
    """Report an index of another type than the value takes."""

    actual: TypeText
    expected: TypeText


@dataclass(frozen=True, slots=True)
class NotCallable:
    """Report a call of a value whose `type` cannot be called."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class WrongUnpacking:
    """Report an unpacking to a wrong number of names, or an index beyond the end of a tuple."""


@dataclass(frozen=True, slots=True)
class NotIterable:
    """Report the unpacking of a value whose `type` has no items."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class NotUnpackable:
    """Report an argument behind a `*` that has no items; the message does not name its type."""


@dataclass(frozen=True, slots=True)
class NotAwaitable:
    """Report an `await` of a value whose `type` cannot be awaited."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """Report an assignment to the attribute `name` of the class `owner`, which is read-only."""

    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class WrongStore:
    """Report an assignment of a value of another type; a type is `None` if mypy omits it."""

    actual: TypeText | None = None
    expected: TypeText | None = None


@dataclass(frozen=True, slots=True)
class WrongReturn:
    """Report a `return` that the function's annotation does not allow.

    `shown` is the actual type as mypy writes it.
    """

    actual: TypeText
    expected: TypeText
    shown: str


@dataclass(frozen=True, slots=True)
class NoReturn:
    """Report that a function that must return a value may end without one."""


@dataclass(frozen=True, slots=True)
class NoResult:
    """Report that the result of a function is used although the function returns nothing."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Represent a complaint about names, imports or mypy's own habits: other rules report those."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Represent a complaint of any other kind, which is not used."""


Complaint = (
    ModuleLacks
    | ValueLacks
    | WrongArity
    | MadeAbstract
    | WrongArgument
    | WrongElement
    | NoVariant
    | WrongOperands
    | WrongOperand
    | WrongFormat
    | NotIndexable
    | WrongIndex
    | NotCallable
    | WrongUnpacking
    | NotIterable
    | NotUnpackable
    | NotAwaitable
    | ReadOnly
    | WrongStore
    | WrongReturn
    | NoReturn
    | NoResult
    | Beside
    | Unclear
)


_BESIDE: Final = frozenset(
    {"import-not-found", "import-untyped", "import", "name-defined", "no-redef", "has-type",
     "var-annotated", "valid-type", "syntax", "annotation-unchecked", "misc",
     "used-before-def", "method-assign", "truthy-bool", "unused-coroutine", "str-unpack"}
)  # fmt: skip

_CALLEE: Final = r'"(?P<name>[^"]+)"(?: of "(?P<owner>[^"]+)")?'
_ELEMENT_TYPES = re.compile(
    r"(?P<kind>List|Set|Dict|Tuple|Unpacked dict) (?:item|entry) \d+ has incompatible type "
    r'(?P<actual>".+"); expected (?P<expected>".+")'
)
_OVERLOAD = re.compile(
    rf"^No overload variant of {_CALLEE} matches argument types? "
    r'(?P<types>"[^"]+"(?:, "[^"]+")*)'
)
_QUOTED = re.compile(r'"([^"]+)"')


def _optional_type(text: str | None) -> TypeText | None:
    return parse_type(text) if text else None


def _callee(found: re.Match[str]) -> Callee | None:
    return Callee(found["name"], _optional_type(found["owner"])) if found["name"] else None


def _quoted_types(text: str) -> tuple[TypeText, ...]:
    return tuple(map(parse_type, _QUOTED.findall(text)))


def _element(found: re.Match[str]) -> WrongElement:
    if found["kind"] == "Dict":
        actual, expected = _quoted_types(found["actual"]), _quoted_types(found["expected"])
    else:
        actual = (parse_type(found["actual"].strip('"')),)
        expected = (parse_type(found["expected"].strip('"')),)
    return WrongElement(tuple(zip(actual, expected, strict=False)), found["actual"].strip('"'))


def _no_variant(found: re.Match[str]) -> NoVariant:
    callee = Callee(found["name"], _optional_type(found["owner"]))
    return NoVariant(callee, _quoted_types(found["types"]))


def _operands(found: re.Match[str]) -> WrongOperands:
    left, right = parse_type(found["left"]), parse_type(found["right"])
    return WrongOperands(found["operator"], left, right, of_union=False)


_Reader = Callable[[re.Match[str]], Complaint]
# The patterns of the messages of each of mypy's codes. The first pattern that fits counts.
_PATTERNS: Final[dict[str, Sequence[tuple[re.Pattern[str], _Reader]]]] = {
    "attr-defined": (
        (
            re.compile(r'^Module(?: "(?P<module>[^"]+)")? has no attribute "(?P<name>[^"]+)"'),
            lambda m: ModuleLacks(m["module"], m["name"]),
        ),
        (
            re.compile(r'^"(?P<type>.+?)" has no attribute "(?P<name>[^"]+)"'),
            lambda m: ValueLacks(parse_type(m["type"]), m["name"]),
        ),
    ),
    "call-arg": (
        (
            re.compile(rf"(?:for|to|in call to|class) {_CALLEE}"),
            lambda m: WrongArity(_callee(m)),
        ),
        (re.compile(rf"^{_CALLEE} gets multiple values"), lambda m: WrongArity(_callee(m))),
        (re.compile(""), lambda m: WrongArity(None)),
    ),
    "abstract": (
        (re.compile(r'abstract class "(?P<name>[^"]+)"'), lambda m: MadeAbstract(m["name"])),
    ),
    "arg-type": (
        (
            re.compile(
                rf'^Argument (?:\d+|"[^"]+")(?: to {_CALLEE})? has incompatible type '
                r'"(?P<actual>.+)"; expected "(?P<expected>.+)"'
            ),
            lambda m: WrongArgument(_callee(m), parse_type(m["actual"]), parse_type(m["expected"])),
        ),
        (_ELEMENT_TYPES, _element),
    ),
    "list-item": ((_ELEMENT_TYPES, _element),),
    "dict-item": ((_ELEMENT_TYPES, _element),),
    "call-overload": ((_OVERLOAD, _no_variant),),
    "operator": (
        (_OVERLOAD, _no_variant),
        (
            re.compile(r'^"(?P<type>.+)" not callable'),
            lambda m: NotCallable(parse_type(m["type"])),
        ),
        (
            re.compile(r'operand types for (?P<operator>\S+) \("(?P<left>.+)" and "(?P<right>.+)"'),
            _operands,
        ),
        (
            re.compile(r'operand type for \S+(?: \S)? \("(?P<type>.+)"\)'),
            lambda m: WrongOperand(parse_type(m["type"])),
        ),
    ),
    "index": (
        (
            re.compile(r'^Value of type "(?P<type>.+)" is not indexable'),
            lambda m: NotIndexable(parse_type(m["type"])),
        ),
        (
            re.compile(r'indexed assignment \("(?P<type>.+)"\)'),
            lambda m: WrongOperand(parse_type(m["type"])),
        ),
        (
            re.compile(
                r'^Invalid index type "(?P<actual>.+)" for ".+"; expected type "(?P<expected>.+)"'
            ),
            lambda m: WrongIndex(parse_type(m["actual"]), parse_type(m["expected"])),
        ),
    ),
    "str-format": (
        (
            re.compile(
                r'expression has type "(?P<actual>.+)", placeholder has type "(?P<expected>.+)"'
            ),
            lambda m: WrongFormat(parse_type(m["actual"]), parse_type(m["expected"])),
        ),
    ),
    "misc": (
        (re.compile(rf"^{_CALLEE} gets multiple values"), lambda m: WrongArity(_callee(m))),
        (
            re.compile(
                r"^(?:Need more than \d+ values? to unpack|Too many values to unpack"
                r"|Tuple index out of range)"
            ),
            lambda m: WrongUnpacking(),
        ),
        (
            re.compile(r'^"(?P<type>.+)" object is not iterable'),
            lambda m: NotIterable(parse_type(m["type"])),
        ),
        (re.compile(r"^Expected iterable as variadic argument"), lambda m: NotUnpackable()),
        (
            re.compile(r'^Incompatible types in "await" \(actual type "(?P<type>.+?)", expected'),
            lambda m: NotAwaitable(parse_type(m["type"])),
        ),
        (
            re.compile(r'^Property "(?P<name>[^"]+)" defined in "(?P<owner>[^"]+)" is read-only'),
            lambda m: ReadOnly(m["name"], m["owner"]),
        ),
    ),
    "assignment": (
        (
            re.compile(
                r'expression has type "(?P<actual>.+)", (?:variable|target) has type '
                r'"(?P<expected>.+)"'
            ),
            lambda m: WrongStore(parse_type(m["actual"]), parse_type(m["expected"])),
        ),
        (re.compile(""), lambda m: WrongStore()),
    ),
    "return": ((re.compile(""), lambda m: NoReturn()),),
    "func-returns-value": ((re.compile(""), lambda m: NoResult()),),
}
# These patterns fit messages of several codes.
_ANY_CODE: Final[Sequence[tuple[re.Pattern[str], _Reader]]] = (
    (
        re.compile(r'got "(?P<actual>.+)", expected "(?P<expected>.+)"'),
        lambda m: WrongReturn(parse_type(m["actual"]), parse_type(m["expected"]), m["actual"]),
    ),
)


def read_complaint(diagnostic: Diagnostic) -> Complaint:
    for pattern, read in (*_PATTERNS.get(diagnostic.code, ()), *_ANY_CODE):
        found = pattern.search(diagnostic.message)
        if found is None:
            continue
        complaint = read(found)
        if isinstance(complaint, WrongOperands) and "operand is of type" in diagnostic.hint:
            return replace(complaint, of_union=True)
        return complaint
    return Beside() if diagnostic.code in _BESIDE else Unclear()


def stops_for_standard_name(reason: str) -> bool:
    """Return whether mypy stops because a file has the name of a standard module."""
    return "shadows" in reason


def checkers_column(line: str, offset: int) -> int:
    """Return mypy's number for the column that Python counts as `offset` bytes into `line`.

    mypy 2.4.1 subtracts twice the difference between the number of bytes and of characters.
    """
    if line.isascii():
        return offset
    characters = len(line.encode()[:offset].decode())
    return 2 * characters - offset
