"""Represents the complaints of a type checker, each kind with its parts.

`mypy_messages` makes complaints from mypy's messages.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.languages.python.stubs.type_text import TypeText


@dataclass(frozen=True, slots=True)
class Callee:
    """Represent the function that a message names; `owner` is the class of a method."""

    name: str
    owner: TypeText | None = None


@dataclass(frozen=True, slots=True)
class ModuleLacks:
    """Report that a module lacks a name; `module` is `None` where the message does not name it."""

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
    """Report an assignment of a value of another type; a type is `None` where mypy omits it."""

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
