"""Turns a checker's diagnostic of a command into a finding in the making, or into none.

An error must be right. So a diagnostic is an error only at a place where the code does not expect
a failure, and where the command has not replaced the declared things that it uses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.checking import Diagnostic
from shared.languages.fault_words import at_place
from shared.languages.python.checker.complaints import (
    Complaint,
    MadeAbstract,
    ReadOnly,
    ValueLacks,
    WrongArity,
    WrongElement,
)
from shared.languages.python.checker.mypy_messages import read_complaint
from shared.languages.python.planned.judging.scene import DOUBT, Place, Scene, Verdict
from shared.languages.python.planned.judging.spots import Spot, mentions
from shared.languages.python.planned.judging.verdicts import judge_complaint

# These complaints are about the call itself; the others are about one of its arguments.
_OF_THE_CALL: Final = (WrongArity, MadeAbstract)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Represent a finding in the making.

    `about` tells faults apart: a second complaint about the same thing is not a second fault.
    `call` is the faulty call, where there is one: where the number of its arguments is wrong, the
    type of one argument is not a second fault.
    """

    code: str
    about: tuple[str, object]
    message: str
    call: ast.Call | None = None


def diagnose(diagnostic: Diagnostic, scene: Scene) -> Diagnosis | None:
    """Return the diagnosis of a diagnostic; `None` where the diagnostic is not to be reported."""
    spot = scene.facts.locate(diagnostic)
    if spot is None or scene.facts.is_guarded(spot) or scene.facts.depends_on_type(spot):
        return None
    complaint = read_complaint(diagnostic)
    found = judge_complaint(complaint, Place(spot, scene))
    if found is not None and found != DOUBT:
        found = _unless_replaced(found, complaint, spot, scene)
    if found is None:
        return None
    message = at_place(diagnostic.message, spot.line, spot.column, found.addition)
    call = spot.call if isinstance(complaint, _OF_THE_CALL) else spot.call_with_argument
    return Diagnosis(found.code, _about(diagnostic, complaint, spot), message, call)


def _unless_replaced(
    found: Verdict, complaint: Complaint, spot: Spot, scene: Scene
) -> Verdict | None:
    """Return the error `found`, or less where the command may have replaced declared values.

    The result is `None` where the place uses a name that holds another type than the checker
    assumes. It is a doubt where a mock, a starred argument, an attribute that the command sets or
    an inferred lambda may explain the complaint.
    """
    if any(mentions(each, scene.stored) for each in spot.near):
        return None
    if isinstance(complaint, ReadOnly):
        return found
    uncertain = (
        scene.facts.uses_mocks
        or _has_star(spot)
        or _uses_replaced(spot, scene.set_attributes)
        or spot.is_in_inferred_lambda
        or any(each.startswith("__") for each in scene.set_attributes)
    )
    return DOUBT if uncertain else found


def _about(diagnostic: Diagnostic, complaint: Complaint, spot: Spot) -> tuple[str, object]:
    if isinstance(complaint, WrongElement):
        return "container", spot.around[0]
    if isinstance(complaint, ValueLacks) and "__" in complaint.name:
        return "protocol", spot.node  # `__enter__` and `__exit__` are missing together
    return "message", diagnostic.message


def _has_star(spot: Spot) -> bool:
    return any(
        any(isinstance(each, ast.Starred) for each in call.args)
        or any(each.arg is None for each in call.keywords)
        for call in (spot.call, spot.call_with_argument)
        if call is not None
    )


def _uses_replaced(spot: Spot, set_attributes: frozenset[str]) -> bool:
    """Say whether an attribute is used near the place that the command itself sets."""
    return any(
        isinstance(each, ast.Attribute) and each.attr in set_attributes
        for node in spot.near
        for each in ast.walk(node)
    )
