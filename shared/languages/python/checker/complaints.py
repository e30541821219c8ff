"""What a type checker can complain of, each kind with its parts.

`mypy_messages` makes these of what mypy says.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.languages.python.stubs.type_text import TypeText


@dataclass(frozen=True, slots=True)
class Callee:
    """The function that a message names, with the class that has it as a method."""

    name: str
    owner: TypeText | None = None


@dataclass(frozen=True, slots=True)
class ModuleLacks:
    """A module has no such name; `module` is `None` where the message does not say which."""

    module: str | None
    name: str


@dataclass(frozen=True, slots=True)
class ValueLacks:
    """A value of this type has no such attribute."""

    type: TypeText
    name: str


@dataclass(frozen=True, slots=True)
class WrongArity:
    """A call has too many arguments, too few, or one of an unknown name."""

    callee: Callee | None


@dataclass(frozen=True, slots=True)
class MadeAbstract:
    """A class is called that has abstract methods."""

    name: str


@dataclass(frozen=True, slots=True)
class WrongArgument:
    """An argument is of another type than the parameter."""

    callee: Callee | None
    actual: TypeText
    expected: TypeText


@dataclass(frozen=True, slots=True)
class WrongElement:
    """A list, set, tuple or dict that is written out holds what it may not hold.

    `pairs` has the actual and the expected type, for a dict those of the key and of the value.
    """

    pairs: tuple[tuple[TypeText, TypeText], ...]
    shown: str


@dataclass(frozen=True, slots=True)
class NoVariant:
    """An overloaded function takes no such arguments."""

    callee: Callee
    arguments: tuple[TypeText, ...]


@dataclass(frozen=True, slots=True)
class WrongOperands:
    """Two operands do not go together; `of_union` says that the message names one of several."""

    operator: str
    left: TypeText
    right: TypeText
    of_union: bool


@dataclass(frozen=True, slots=True)
class WrongOperand:
    """An operator, or an assignment to an item, is not for a value of this type."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class WrongFormat:
    """A placeholder such as `%d` is filled with a value of another type."""

    actual: TypeText
    expected: TypeText


@dataclass(frozen=True, slots=True)
class NotIndexable:
    """A value of this type has no items."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class WrongIndex:
    """The items of a value have indexes of another type."""

    actual: TypeText
    expected: TypeText


@dataclass(frozen=True, slots=True)
class NotCallable:
    """A value of this type cannot be called."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class WrongUnpacking:
    """A value has another number of items than it is unpacked to, or none at this index."""


@dataclass(frozen=True, slots=True)
class NotIterable:
    """A value of this type is unpacked and has no items."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class NotUnpackable:
    """What stands behind a `*` has no items; the message does not say of which type it is."""


@dataclass(frozen=True, slots=True)
class NotAwaitable:
    """A value of this type cannot be awaited."""

    type: TypeText


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """An attribute of this class is set that can only be read."""

    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class WrongStore:
    """A value is bound to something of another type; the types are there where they are named."""

    actual: TypeText | None = None
    expected: TypeText | None = None


@dataclass(frozen=True, slots=True)
class WrongReturn:
    """A function returns what its annotation does not allow."""

    actual: TypeText
    expected: TypeText
    shown: str


@dataclass(frozen=True, slots=True)
class NoReturn:
    """A function that must return a value may end without one."""


@dataclass(frozen=True, slots=True)
class NoResult:
    """The result of a function is used that returns nothing."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The complaint is about names, imports or mypy's own habits: other rules report those."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """The complaint is of a kind that nothing is made of."""


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
