"""Turns a type checker's complaint into a verdict, which has a finding's code, or into none.

A verdict is an error only where the complaint is about something that the project declares, and
where types certainly differ. Any other complaint gives a warning or no verdict.
"""

from __future__ import annotations

import ast

from shared.languages.python.checker.complaints import (
    Beside,
    Complaint,
    MadeAbstract,
    ModuleLacks,
    NoResult,
    NoReturn,
    NotAwaitable,
    NotCallable,
    NotIndexable,
    NotIterable,
    NotUnpackable,
    NoVariant,
    ReadOnly,
    Unclear,
    ValueLacks,
    WrongArgument,
    WrongArity,
    WrongElement,
    WrongFormat,
    WrongIndex,
    WrongOperand,
    WrongOperands,
    WrongReturn,
    WrongStore,
    WrongUnpacking,
)
from shared.languages.python.planned.judging.attributes import judge_attribute
from shared.languages.python.planned.judging.calls import judge_call
from shared.languages.python.planned.judging.scene import DOUBT, Place, Verdict
from shared.languages.python.stubs.type_text import SCALARS

_Misuse = (
    WrongOperands
    | WrongOperand
    | WrongFormat
    | NotIndexable
    | WrongIndex
    | NotCallable
    | WrongUnpacking
    | NotIterable
    | NotAwaitable
)


def judge_complaint(complaint: Complaint, place: Place) -> Verdict | None:
    """Return the verdict on a complaint about a place; `None` where it is not to be reported."""
    match complaint:
        case ModuleLacks() | ValueLacks():
            return judge_attribute(complaint, place)
        case WrongArity() | MadeAbstract() | WrongArgument() | WrongElement() | NoVariant():
            return judge_call(complaint, place)
        case (
            WrongOperands()
            | WrongOperand()
            | WrongFormat()
            | NotIndexable()
            | WrongIndex()
            | NotCallable()
            | WrongUnpacking()
            | NotIterable()
            | NotAwaitable()
        ):
            return place.misuse(certain=_is_misused(complaint, place))
        case ReadOnly(owner=owner):
            is_local = owner in place.scene.local_classes
            certain = not is_local and place.names.is_frozen(owner)
            return place.misuse(certain=True) if certain else None
        case NoResult():
            return None if _is_compared_with_none(place) else DOUBT
        case NotUnpackable() | WrongReturn() | NoReturn() | Unclear():
            return DOUBT
        case WrongStore() | Beside():
            return None


def _is_misused(complaint: _Misuse, place: Place) -> bool:
    """Say whether a value certainly cannot do what the code demands of it."""
    types = place.types
    match complaint:
        case WrongOperands(of_union=True):
            return False  # the message names one member of several
        case WrongOperands(operator="in", right=right) if right.head not in SCALARS:
            return False  # looking for a value that cannot be in a list is false, not an error
        case WrongOperands(left=left, right=right):
            return types.is_certain(left) and types.is_certain(right)
        case WrongIndex(actual, expected) | WrongFormat(actual, expected):
            return types.differ(actual, expected)
        case WrongOperand(of) | NotIndexable(of) | NotCallable(of) | NotAwaitable(of):
            return types.is_certain(of)
        case NotIterable(of):
            return types.is_not_iterable(of)
        case WrongUnpacking():
            return True


def _is_compared_with_none(place: Place) -> bool:
    return any(
        isinstance(each, ast.Compare)
        and any(isinstance(c, ast.Constant) and c.value is None for c in each.comparators)
        for each in place.spot.near
    )
