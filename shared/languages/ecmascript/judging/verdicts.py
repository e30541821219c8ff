"""Turns a complaint of the compiler into a verdict, which has a finding's code, or into none.

A verdict is an error only where the complaint is about something that the project declares, and
where the code fails for certain. Any other complaint gives a warning or no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shared.languages.ecmascript.judging.verdict import DOUBT, Place, Verdict, other_verdict
from shared.languages.ecmascript.judging.verdicts_on_names import (
    missing_export,
    missing_member,
    type_as_value,
    unknown_name,
)
from shared.languages.ecmascript.judging.verdicts_on_values import (
    misused_value,
    never_equal,
    no_variant,
    not_iterable,
    unknown_option,
    wrong_argument,
    wrong_count,
)

_OF_VALUES: Final = frozenset({"E211", "E212", "E213", "E214"})


def judge(place: Place) -> Verdict | None:
    """Return the verdict on a complaint; `None` where it is not to be reported."""
    if place.question.is_guarded(place.node):
        return None
    found = _JUDGES.get(place.complaint.code, other_verdict)(place)
    if found is None or found == DOUBT:
        return found
    # A mock may take other arguments than what it stands for, and has members of its own.
    is_replaced = place.question.uses_mocks and found.code in _OF_VALUES
    return DOUBT if is_replaced else found


_JUDGES: Final[Mapping[int, Callable[[Place], Verdict | None]]] = {
    **dict.fromkeys((2305, 2724, 2614, 2459, 2460, 1192, 2613), missing_export),
    **dict.fromkeys((2339, 2551, 2576), missing_member),
    **dict.fromkeys((2554, 2555, 2575), wrong_count),
    **dict.fromkeys((2345, 2322), wrong_argument),
    **dict.fromkeys((2353, 2561), unknown_option),
    2769: no_variant,
    **dict.fromkeys((2348, 2349, 2351, 6234), misused_value),
    **dict.fromkeys((2488, 2461), not_iterable),
    2367: never_equal,
    **dict.fromkeys((2304, 2552, 18004), unknown_name),
    **dict.fromkeys((2693, 2749), type_as_value),
}
