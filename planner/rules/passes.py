"""Defines the passes that choose between several codes, so that one fault has one finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.rules.acceptance import weak_commands
from planner.rules.command_form import unjudgeable_code
from planner.rules.model import Pass, PlanView, each_step
from planner.rules.needs import unmet_needs
from planner.steps.findings import Finding


def _needed_and_used(view: PlanView) -> Iterator[Finding]:
    yield from unmet_needs(view.steps)
    yield from each_step(unjudgeable_code)(view)
    for code in view.codes:
        yield from map(view.finding, code.interface_faults())
    # Languages that share a compiler miss it together.
    used = (view.finding(fault) for code in view.codes for fault in code.use_faults(view.tools))
    yield from dict.fromkeys(used)


def _made_of_others(view: PlanView) -> Iterator[Finding]:
    """Yield nothing: `planner.judging.follow_up` makes E315 of the findings of other codes."""
    return iter(())


PASSES: Final = (
    Pass(("W230", "W231", "W232", "W233"), each_step(weak_commands)),
    # A module or name that only a later order brings is E217, whether the search for modules or the
    # type checker misses it. An undefined name in an interface may take a compiler to find.
    Pass(
        (
            *("E201", "E203", "E204", "W223"),
            *("E210", "E211", "E212", "E213", "E214", "E215", "E216", "E217"),
            *("E241", "E242", "E299", "W101", "W221", "W222", "W224"),
        ),
        _needed_and_used,
    ),
    Pass(("E315",), _made_of_others),
)
