"""Says in a sentence which values made an assertion fail. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_EXPECTED: Final = {
    "==": "{}",
    "!=": "anything but {}",
    "<": "a value less than {}",
    "<=": "a value of at most {}",
    ">": "a value greater than {}",
    ">=": "a value of at least {}",
    "is": "{}",
    "is not": "anything but {}",
    "in": "one of {}",
    "not in": "none of {}",
    "isinstance": "an instance of {}",
}
_MIRRORED: Final = {
    "==": "==",
    "!=": "!=",
    "is": "is",
    "is not": "is not",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_CONTAINS: Final = {"in": "expected it to contain", "not in": "expected it not to contain"}
_TRUTH: Final = {"not": "a false value", "true": "a true value"}


@dataclass(frozen=True, slots=True)
class Operand:
    """Hold one side of an assertion: its code, its value as Python shows it, and what it is."""

    code: str
    value: str
    is_call: bool = False
    is_literal: bool = False
    type_name: str = ""


@dataclass(frozen=True, slots=True)
class FailedTest:
    """Hold the comparison, or the single value, that made an assertion fail.

    `operator` is Python's, or `isinstance`, or `true` for a value that should have been true.
    `difference` says where two long values differ, if anything.
    """

    operator: str
    operands: tuple[Operand, ...]
    difference: str = ""


def tell(failed: FailedTest) -> str:
    """Return the failure as a sentence without its full stop; empty for an unknown operator."""
    operator, operands = failed.operator, failed.operands
    if operator in _TRUTH and len(operands) == 1:
        return f"{_subject(operands[0])}, expected {_TRUTH[operator]}"
    if operator not in _EXPECTED or len(operands) != 2:
        return ""
    left, right = operands
    if operator in _CONTAINS and not right.is_literal:
        told = f"{_subject(right)}, {_CONTAINS[operator]} {_object(left)}"
    else:
        if left.is_literal and not right.is_literal and operator in _MIRRORED:
            left, right, operator = right, left, _MIRRORED[operator]
        alike = left.value == right.value and left.type_name != right.type_name
        typed = operator in ("==", "is") and alike
        expected = _EXPECTED[operator].format(_object(right, typed))
        told = f"{_subject(left, typed or operator == 'isinstance')}, expected {expected}"
    return f"{told}; {failed.difference}" if failed.difference else told


def tell_names(names: Sequence[Operand]) -> str:
    """Return what the named values are, in brackets after a blank; empty without names."""
    told = ", ".join(f"`{each.code}` is {each.value}" for each in names)
    return f" ({told})" if told else ""


def _subject(operand: Operand, typed: bool = False) -> str:
    of_type = f" of type {operand.type_name}" if typed and operand.type_name else ""
    if operand.is_literal:
        return f"the value is {operand.value}{of_type}"
    verb = "returned" if operand.is_call else "is"
    return f"`{operand.code}` {verb} {operand.value}{of_type}"


def _object(operand: Operand, typed: bool = False) -> str:
    of_type = f" of type {operand.type_name}" if typed and operand.type_name else ""
    if operand.is_literal or operand.code == operand.value:
        return operand.value + of_type
    return f"{operand.value}{of_type} (`{operand.code}`)"
