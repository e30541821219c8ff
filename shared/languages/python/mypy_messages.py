"""Reads mypy's messages as complaints, each kind with its parts.

All code that depends on mypy's wording, its error codes and its way of counting columns is in this
file, so that a new release of mypy changes this file alone. The patterns follow `messages.py` and
`message_registry.py` of mypy 2.4.1. A message that fits none of them is unclear, or beside the
point if its code is one that other rules cover.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from shared.languages.python.type_text import TypeText, parse_type

if TYPE_CHECKING:
    from shared.languages.language_tools import Diagnostic


class Mistake(StrEnum):
    """List what mypy complains about, each as the predicate of what is wrong."""

    MODULE_LACKS = "a module lacks a name"
    VALUE_LACKS = "a value lacks an attribute"
    ARITY = "a call has too many arguments, too few, or one of an unknown name"
    ABSTRACT = "a class with abstract methods is called"
    ARGUMENT = "an argument has another type than its parameter"
    ELEMENT = "a written-out list, set, tuple or dict has a wrong element"
    NO_VARIANT = "no variant of an overloaded function takes the arguments"
    OPERANDS = "two operands do not go together"
    OPERAND = "a value does not take an operator, or an assignment to an item"
    FORMAT = "a placeholder such as `%d` is filled with a value of another type"
    NOT_INDEXABLE = "a value has no items"
    INDEX = "an index has another type than the value takes"
    NOT_CALLABLE = "a value cannot be called"
    UNPACKING = "an unpacking has a wrong number of names, or an index is beyond the end of a tuple"
    NOT_ITERABLE = "a value that is unpacked has no items"
    NOT_UNPACKABLE = "an argument behind a `*` has no items"
    NOT_AWAITABLE = "a value cannot be awaited"
    READ_ONLY = "an attribute of a class is assigned and is read-only"
    STORE = "a value of another type is assigned"
    RETURN = "a function returns what its annotation does not allow"
    NO_RETURN = "a function that must return a value may end without one"
    NO_RESULT = "the result of a function that returns nothing is used"
    BESIDE = "names, imports or mypy's own habits: other rules report those"
    UNCLEAR = "anything else, which is not used"


@dataclass(frozen=True, slots=True)
class Callee:
    """Represent the function that a message names; `owner` is the class of a method."""

    name: str
    owner: TypeText | None = None


_NOTHING: Final = TypeText("")


@dataclass(frozen=True, slots=True)
class MypyComplaint:
    """Represent a complaint. What its message does not say is empty, or a type without a head.

    `name` is that of a missing attribute, or of the class that is abstract or read-only. `of` is
    the type of the value that is misused, and `arguments` are the types of those that no variant
    takes. `left` and `right` are operands, and `of_union` is true where one is a union, and the
    message is about one of its members. `pairs` has the actual and the expected type of an element;
    for a dict it has one pair for the key and one for the value. `shown` is the actual type as mypy
    writes it.
    """

    mistake: Mistake
    name: str = ""
    module: str = ""
    callee: Callee | None = None
    of: TypeText = _NOTHING
    actual: TypeText = _NOTHING
    expected: TypeText = _NOTHING
    arguments: tuple[TypeText, ...] = ()
    operator: str = ""
    left: TypeText = _NOTHING
    right: TypeText = _NOTHING
    of_union: bool = False
    pairs: tuple[tuple[TypeText, TypeText], ...] = ()
    shown: str = ""


_BESIDE: Final = frozenset(
    {"import-not-found", "import-untyped", "import", "name-defined", "no-redef", "has-type",
     "var-annotated", "valid-type", "syntax", "annotation-unchecked", "misc",
     "used-before-def", "method-assign", "truthy-bool", "unused-coroutine", "str-unpack"}
)  # fmt: skip

_CALLEE: Final = r'"(?P<callee>[^"]+)"(?: of "(?P<owner>[^"]+)")?'
_ELEMENTS: Final = (
    (
        Mistake.ELEMENT,
        r"(?:List|Set|Tuple|Unpacked dict) (?:item|entry) \d+ has incompatible type "
        r'"(?P<actual>.+)"; expected "(?P<expected>.+)"',
    ),
    (
        Mistake.ELEMENT,
        r'Dict (?:item|entry) \d+ has incompatible type (?P<given>".+"); expected (?P<wanted>".+")',
    ),
)
_OVERLOAD: Final = (
    Mistake.NO_VARIANT,
    rf"^No overload variant of {_CALLEE} matches argument types? "
    r'(?P<types>"[^"]+"(?:, "[^"]+")*)',
)
_TWICE: Final = (Mistake.ARITY, rf"^{_CALLEE} gets multiple values")
_QUOTED = re.compile(r'"([^"]+)"')
# The patterns of the messages of each of mypy's codes. The first pattern that fits counts, and its
# groups are named as the parts of a complaint.
_PATTERNS: Final[dict[str, tuple[tuple[Mistake, str], ...]]] = {
    "attr-defined": (
        (
            Mistake.MODULE_LACKS,
            r'^Module(?: "(?P<module>[^"]+)")? has no attribute "(?P<name>[^"]+)"',
        ),
        (Mistake.VALUE_LACKS, r'^"(?P<of>.+?)" has no attribute "(?P<name>[^"]+)"'),
    ),
    "call-arg": (
        (Mistake.ARITY, rf"(?:for|to|in call to|class) {_CALLEE}"),
        _TWICE,
        (Mistake.ARITY, ""),
    ),
    "abstract": ((Mistake.ABSTRACT, r'abstract class "(?P<name>[^"]+)"'),),
    "arg-type": (
        (
            Mistake.ARGUMENT,
            rf'^Argument (?:\d+|"[^"]+")(?: to {_CALLEE})? has incompatible type '
            r'"(?P<actual>.+)"; expected "(?P<expected>.+)"',
        ),
        *_ELEMENTS,
    ),
    "list-item": _ELEMENTS,
    "dict-item": _ELEMENTS,
    "call-overload": (_OVERLOAD,),
    "operator": (
        _OVERLOAD,
        (Mistake.NOT_CALLABLE, r'^"(?P<of>.+)" not callable'),
        (
            Mistake.OPERANDS,
            r'operand types for (?P<operator>\S+) \("(?P<left>.+)" and "(?P<right>.+)"',
        ),
        (Mistake.OPERAND, r'operand type for (?P<operator>\S+)(?: \S)? \("(?P<of>.+)"\)'),
    ),
    "index": (
        (Mistake.NOT_INDEXABLE, r'^Value of type "(?P<of>.+)" is not indexable'),
        (Mistake.OPERAND, r'indexed assignment \("(?P<of>.+)"\)'),
        (
            Mistake.INDEX,
            r'^Invalid index type "(?P<actual>.+)" for ".+"; expected type "(?P<expected>.+)"',
        ),
    ),
    "str-format": (
        (
            Mistake.FORMAT,
            r'expression has type "(?P<actual>.+)", placeholder has type "(?P<expected>.+)"',
        ),
    ),
    "misc": (
        _TWICE,
        (
            Mistake.UNPACKING,
            r"^(?:Need more than \d+ values? to unpack|Too many values to unpack"
            r"|Tuple index out of range)",
        ),
        (Mistake.NOT_ITERABLE, r'^"(?P<of>.+)" object is not iterable'),
        (Mistake.NOT_UNPACKABLE, r"^Expected iterable as variadic argument"),
        (
            Mistake.NOT_AWAITABLE,
            r'^Incompatible types in "await" \(actual type "(?P<of>.+?)", expected',
        ),
        (Mistake.READ_ONLY, r'^Property "[^"]+" defined in "(?P<name>[^"]+)" is read-only'),
    ),
    "assignment": (
        (
            Mistake.STORE,
            r'expression has type "(?P<actual>.+)", (?:variable|target) has type '
            r'"(?P<expected>.+)"',
        ),
        (Mistake.STORE, ""),
    ),
    "return": ((Mistake.NO_RETURN, ""),),
    "func-returns-value": ((Mistake.NO_RESULT, ""),),
}
# This pattern fits messages of several codes.
_ANY_CODE: Final = ((Mistake.RETURN, r'got "(?P<actual>.+)", expected "(?P<expected>.+)"'),)
_TYPES: Final = ("of", "actual", "expected", "left", "right")


def read_complaint(diagnostic: Diagnostic) -> MypyComplaint:
    for mistake, pattern in (*_PATTERNS.get(diagnostic.code, ()), *_ANY_CODE):
        found = re.search(pattern, diagnostic.message)
        if found is not None:
            union = mistake is Mistake.OPERANDS and "operand is of type" in diagnostic.hint
            try:
                return replace(_complaint(mistake, found), of_union=union)
            except RecursionError:  # code may build a type of any depth
                break
    return MypyComplaint(Mistake.BESIDE if diagnostic.code in _BESIDE else Mistake.UNCLEAR)


def _complaint(mistake: Mistake, found: re.Match[str]) -> MypyComplaint:
    said = {name: text for name, text in found.groupdict().items() if text is not None}
    types = {each: parse_type(said[each]) for each in _TYPES if each in said}
    owner = parse_type(said["owner"]) if "owner" in said else None
    pairs = zip(_quoted(said.get("given", "")), _quoted(said.get("wanted", "")), strict=False)
    if mistake is Mistake.ELEMENT and types:
        pairs = zip((types["actual"],), (types["expected"],), strict=True)
    return MypyComplaint(
        mistake,
        name=said.get("name", ""),
        module=said.get("module", ""),
        callee=Callee(said["callee"], owner) if "callee" in said else None,
        of=types.get("of", _NOTHING),
        actual=types.get("actual", _NOTHING),
        expected=types.get("expected", _NOTHING),
        arguments=_quoted(said.get("types", "")),
        operator=said.get("operator", ""),
        left=types.get("left", _NOTHING),
        right=types.get("right", _NOTHING),
        pairs=tuple(pairs),
        shown=said.get("actual") or said.get("given", "").strip('"'),
    )


def _quoted(text: str) -> tuple[TypeText, ...]:
    return tuple(map(parse_type, _QUOTED.findall(text)))


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
