"""Defines rules, the view of a plan that they check, and the passes that decide their codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from planner.plan.plan import Plan
from planner.plan.projection import Projection
from planner.replan.answer import Answer
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.languages.capabilities.chain import ChainCode, Fault
from shared.languages.capabilities.tools import Tools
from shared.rule_text import RuleText
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class PlanView:
    """Hold a whole plan as the rules see it.

    `codes` answer for each language that concerns the plan, by means of `tools`. `answer` is what
    a reply changes in the plan before, where the plan follows one that is at hand.
    """

    plan: Plan
    steps: tuple[Step, ...]
    chain: Projection
    codes: tuple[ChainCode, ...] = ()
    tools: Tools = field(default_factory=Tools)
    answer: Answer | None = None

    def finding(self, fault: Fault) -> Finding:
        """Return a language's fault as a finding about its order, or about the plan."""
        label = self.plan.drafts[fault.position - 1].label if fault.position else ""
        return Finding(fault.code, fault.position, label, fault.at, fault.message)


Check = Callable[[PlanView], Iterator[Finding]]
StepCheck = Callable[[Step], Iterator[Finding]]
OrderCheck = Callable[[Step, WorkOrder], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule(RuleText):
    """Represent a code, its meaning, and its check.

    `check` is `None` where a pass decides the code together with others. An example leaves out
    fields; whoever tries the example fills them in with values that no rule objects to.
    """

    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """Represent a look at a plan that gives each fault exactly one of `codes`."""

    codes: tuple[str, ...]
    run: Check


class CodeNotOwned(Exception):
    """Report that the table of rules and passes is wrong: a bug of llmch, not a fault of a plan."""


def passes_of(rules: Sequence[Rule], passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """Return all passes that the rules need; the check of a rule becomes a pass of one code.

    Raises `CodeNotOwned` where a code is not decided by exactly one pass, or has no rule.
    """
    own = [Pass((rule.code,), rule.check) for rule in rules if rule.check is not None]
    every = (*own, *passes)
    owners = Counter(code for each in every for code in each.codes)
    codes = Counter(rule.code for rule in rules)
    wrong = sorted(code for code in owners | codes if owners[code] != 1 or codes[code] != 1)
    if wrong:
        said = ", ".join(f"{each}: {codes[each]} rules, {owners[each]} owners" for each in wrong)
        raise CodeNotOwned(f"a code has one rule, and one pass or check that decides it ({said})")
    return every


def findings_of(owner: Pass, view: PlanView, limit: int) -> Iterator[Finding]:
    """Yield the first `limit` findings of a pass for each code.

    Raises `CodeNotOwned` for a finding with a code that the pass does not name.
    """
    counts: Counter[str] = Counter()
    for finding in owner.run(view):
        if finding.code not in owner.codes:
            named = ", ".join(owner.codes)
            raise CodeNotOwned(f"the pass for {named} has found {finding.render()}")
        counts[finding.code] += 1
        if counts[finding.code] <= limit:
            yield finding
        elif len(owner.codes) == 1:
            return


def each_step(check: StepCheck) -> Check:
    """Return the check that applies `check` to every order, even to one that breaks the schema.

    Orders that landed are left out.
    """

    def over_plan(view: PlanView) -> Iterator[Finding]:
        for step in view.steps:
            if not step.draft.landed:
                yield from check(step)

    return over_plan


def each_order(check: OrderCheck) -> Check:
    """Return the check that applies `check` to every order that fits the schema.

    Orders that landed are left out.
    """

    def over_plan(view: PlanView) -> Iterator[Finding]:
        for step in view.steps:
            if step.draft.order is not None and not step.draft.landed:
                yield from check(step, step.draft.order)

    return over_plan
