"""Verdicts on complaints about values: calls that do not fit, and values that are misused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.files import is_typed
from shared.languages.ecmascript.judging.question import arguments_of, callee_of
from shared.languages.ecmascript.judging.type_kinds import (
    is_known_value,
    is_literal_misfit,
    may_fit,
    surely_differ,
)
from shared.languages.ecmascript.judging.verdict import (
    DOUBT,
    Place,
    Verdict,
    holder_of,
    is_backed,
    other_verdict,
    where_declared,
)
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_COUNT = re.compile(r"[Ee]xpected (?:at least )?[\d-]+ arguments, but got (\d+)")
_MISFIT = re.compile(
    r"(?:Argument of type|Type) '(?P<actual>.+)' is not assignable to (?:parameter of )?"
    r"type '(?P<expected>.+)'\.",
    re.DOTALL,
)
_MEANT_ANOTHER: Final = 2561  # "Did you mean to write ...?"
_NOT_ITERABLE = re.compile(r"Type '(.+)' (?:must have a|is not an array type)")


def wrong_count(place: Place) -> Verdict | None:
    """Return the verdict on a call with too many or too few arguments."""
    got = _COUNT.search(place.complaint.message)
    call = place.question.call_around(place.node, int(got[1]) if got else None)
    if call is None:
        return other_verdict(place)
    if any(each.type == "spread_element" for each in arguments_of(call)):
        return other_verdict(place)
    return _of_call(place, call, "E212", with_sources=True)


def _of_call(place: Place, call: Node, code: str, *, with_sources: bool = False) -> Verdict | None:
    """Return an error about a call of what a contract declares, and less about any other call."""
    callee = callee_of(call)
    origins = place.question.origin_of(callee)
    if not origins:
        return other_verdict(place)
    name = text_of(callee).rpartition(".")[2]
    if is_backed(place, origins):
        return Verdict(code, where_declared(place, origins, name))
    known = with_sources and all(map(is_typed, origins)) and not origins & place.view.open
    return Verdict(code, where_declared(place, origins)) if known else DOUBT


def wrong_argument(place: Place) -> Verdict | None:
    """Return the verdict on an argument of another type than is declared."""
    found = _MISFIT.search(place.complaint.message)
    call = place.question.call_with_argument(place.node)
    if found is None or call is None or not place.question.origin_of(callee_of(call)):
        return other_verdict(place) if place.complaint.code != 2322 else None
    if _certainly_misfits(place, found["actual"], found["expected"]):
        return _of_call(place, call, "E213")
    return None if may_fit(found["actual"], found["expected"]) else DOUBT


def unknown_option(place: Place) -> Verdict | None:
    """Return the verdict on a property that an argument's declared type does not have.

    A name close to a declared one is a slip. Any other may be there to be ignored.
    """
    call = place.question.call_with_literal(place.node)
    if call is None or not place.question.origin_of(callee_of(call)):
        return other_verdict(place)
    found = _of_call(place, call, "E212")
    return found if place.complaint.code == _MEANT_ANOTHER else DOUBT


def _certainly_misfits(place: Place, actual: str, expected: str) -> bool:
    objects = frozenset(
        name
        for path in place.view.contracts
        for each in place.history.layers(path, place.position)
        for name in each.stub.classes
    )
    if surely_differ(actual, expected, objects) or is_literal_misfit(actual, expected):
        return True
    declared = _alias(place, expected)
    return declared != expected and (
        surely_differ(actual, declared, objects) or is_literal_misfit(actual, declared)
    )


def _alias(place: Place, name: str) -> str:
    """Return what a contract's type alias stands for; the name itself where it is none."""
    for path in sorted(place.view.contracts):
        for layer in reversed(place.history.layers(path, place.position)):
            known = layer.stub.declared.get(name)
            if known is not None and known.shown.startswith("type "):
                return known.shown.partition("=")[2].strip().rstrip(";").replace("'", '"')
    return name


def no_variant(place: Place) -> Verdict | None:
    """Return the verdict on a call that fits none of several declared forms."""
    call = place.question.call_around(place.node)
    misfits = [found for each in place.complaint.details if (found := _MISFIT.search(each))]
    forms = sum(each.startswith("Overload ") for each in place.complaint.details)
    if call is None or not forms or len(misfits) < forms:
        return other_verdict(place)
    if all(_certainly_misfits(place, each["actual"], each["expected"]) for each in misfits[:forms]):
        return _of_call(place, call, "E213")
    return other_verdict(place)


def misused_value(place: Place) -> Verdict | None:
    """Return the verdict on a value that is called, made with `new`, or gone through."""
    complaint = place.complaint
    call = place.question.call_around(place.node)
    callee = callee_of(call) if call is not None else None
    if any("constituent" in each for each in complaint.details):
        return other_verdict(place)
    origins = place.question.origin_of(callee)
    if not origins:
        return other_verdict(place)
    certain = complaint.code in {2348, 6234} or any(
        " has no c" in each for each in complaint.details
    )
    return Verdict("E214") if certain and is_backed(place, origins) else DOUBT


def not_iterable(place: Place) -> Verdict | None:
    """Return the verdict on a value that is gone through and cannot be."""
    found = _NOT_ITERABLE.search(place.complaint.message)
    node: Node | None = place.node
    if node is not None and node.type.endswith("_pattern"):
        node = holder_of(node)
    origins = place.question.origin_of(node)
    if found is None or not origins or not is_backed(place, origins):
        return other_verdict(place)
    return Verdict("E214") if is_known_value(found[1]) else DOUBT


def never_equal(place: Place) -> Verdict | None:
    """Return the verdict on a comparison of types that have no value in common."""
    node = place.node
    while node.type != "binary_expression" and node.parent is not None:
        node = node.parent
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    is_asserted = node.parent is not None and node.parent.type == "arguments"
    call = node.parent.parent if is_asserted and node.parent is not None else None
    called = text_of(callee_of(call)) if call is not None else ""
    operator = text_of(node.child_by_field_name("operator"))
    if operator != "===" or called not in {"assert", "assert.ok", "console.assert"}:
        return other_verdict(place)
    origins = [place.question.origin_of(each) for each in (left, right)]
    own = [each for each in origins if each]
    certain = bool(own) and all(is_backed(place, each) for each in own)
    types = re.findall(r"'([^']*)'", place.complaint.message)
    if certain and len(types) == 2 and surely_differ(*types):
        return Verdict("E214")
    return other_verdict(place)
