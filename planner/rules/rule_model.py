"""Defines a rule, the order in its place in the plan that it checks, and its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from planner.plan.file_projection import Projection, TargetRepo, promise_of
from shared.errors import RuleText, Severity, severity_of
from shared.languages.acceptance_commands import analyse_command
from shared.languages.language_tools import Tools
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    ChainCode,
    DeclaredStub,
    Fault,
    OrderCode,
)
from shared.languages.registry import LANGUAGES, language_named

if TYPE_CHECKING:
    from planner.plan.parse_plan import Draft, Plan
    from planner.replan.merge_plans import Answer
    from shared.files.strict_documents import FieldPath
    from shared.languages.read_commands import Command, CommandReader
    from shared.work_order.work_order import WorkOrder


@dataclass(frozen=True, slots=True)
class Finding:
    """Represent one rule's complaint.

    `order` is the label of the order that the finding is about, and empty for the whole plan. `at`
    is the field at fault. `position` is the order's place in the plan, from 1; 0 is the plan.
    """

    code: str
    position: int
    order: str
    at: FieldPath
    message: str

    @property
    def severity(self) -> Severity:
        return severity_of(self.code)

    @property
    def field(self) -> str:
        """Return the field as text, as in `acceptance_commands[0]`; empty for no single field."""
        return str(self.at)

    def render(self) -> str:
        """Return `[E101] WO-02 preconditions[0]: message`."""
        place = " ".join(each for each in (self.order or "plan", self.field) if each)
        return f"[{self.code}] {place}: {self.message}"


def reader_of(command: Command) -> CommandReader | None:
    """Return what reads a command; `None` where there is no such thing."""
    language = language_named(command.language)
    return language.commands if language is not None else None


def plan_finding(code: str, at: FieldPath, message: str) -> Finding:
    """Return a finding about the plan as a whole."""
    return Finding(code, 0, "", at, message)


@dataclass(frozen=True, slots=True)
class Step:
    """Hold one order in its place: its draft, the parts that could be read, and its surroundings.

    `code` is what languages are shown of the order, and `codes` what answers for each language that
    concerns the plan. `chain` has the files at every point of the chain. `target` is the repo.
    """

    draft: Draft
    code: OrderCode
    codes: tuple[ChainCode, ...]
    plan: Plan
    chain: Projection
    target: TargetRepo

    @property
    def commands(self) -> tuple[tuple[int, Command], ...]:
        return self.code.commands

    def finding(self, code: str, at: FieldPath, message: str) -> Finding:
        """Return a finding about a field of this order."""
        return Finding(code, self.draft.position, self.draft.label, at, message)

    def source(self, position: int) -> str:
        """Return a name for `position`: the label of the order there, or "the repo" for 0."""
        return self.plan.drafts[position - 1].label if position else "the repo"


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
    target: TargetRepo = field(default_factory=TargetRepo)

    @property
    def orders(self) -> Iterator[tuple[Step, WorkOrder]]:
        """Yield each order that fits the schema, with its place."""
        return ((each, each.draft.order) for each in self.steps if each.draft.order is not None)

    def finding(self, fault: Fault) -> Finding:
        """Return a language's fault as a finding about its order, or about the plan."""
        label = self.plan.drafts[fault.position - 1].label if fault.position else ""
        return Finding(fault.code, fault.position, label, fault.at, fault.message)


Check = Callable[[PlanView], Iterator[Finding]]
StepCheck = Callable[[Step], Iterator[Finding]]
OrderCheck: TypeAlias = "Callable[[Step, WorkOrder], Iterator[Finding]]"


@dataclass(frozen=True, slots=True)
class Rule(RuleText):
    """Represent a code, its meaning, and its check.

    `check` is `None` if a pass decides the code together with others. An example leaves out
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

    Raises `CodeNotOwned` if a code is not decided by exactly one pass, or has no rule.
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
        for step, order in view.orders:
            if not step.draft.landed:
                yield from check(step, order)

    return over_plan


# A model's reply cannot hold more beside the rest of a plan.
MAX_PLAN_BYTES: Final = 256 * 1024
_TOO_MUCH: Final = f"the stubs of the plan have over {MAX_PLAN_BYTES} bytes together"


def read_orders(drafts: Sequence[Draft]) -> tuple[OrderCode, ...]:
    """Return what concerns languages in each order of a plan.

    Once the stubs of the plan exceed `MAX_PLAN_BYTES` together, each further stub is a problem. An
    order that landed has nothing to say: the repo has its code.
    """
    room = MAX_PLAN_BYTES
    found: list[OrderCode] = []
    for draft in drafts:
        if draft.landed:
            found.append(OrderCode(draft.position, draft.label))
            continue
        declared: list[DeclaredStub] = []
        for index, each in enumerate(draft.order.interfaces if draft.order is not None else ()):
            room -= len(each.stub)
            problem = "" if room >= 0 else _TOO_MUCH
            declared.append(DeclaredStub(index, each.path, each.stub, problem))
        found.append(_order_code(draft, tuple(declared)))
    return tuple(found)


def _order_code(draft: Draft, declared: tuple[DeclaredStub, ...]) -> OrderCode:
    promise, order = promise_of(draft), draft.order
    tests = order.acceptance_files if order is not None else ()
    return OrderCode(
        position=draft.position,
        label=draft.label,
        valid=order is not None,
        writes=tuple(promise.files),
        may_write=tuple(promise.possible),
        allowed_files=tuple(order.allowed_files) if order is not None else (),
        changes=tuple(order.changes) if order is not None else (),
        interfaces=declared,
        commands=tuple((index, analyse_command(text)) for index, text in draft.commands()),
        acceptance_files=tuple(
            AcceptanceText(index, each.path, each.content)
            for index, each in enumerate(tests)
            if each.content
        ),
    )


def read_codes(
    orders: tuple[OrderCode, ...], projection: Projection, target: TargetRepo
) -> tuple[ChainCode, ...]:
    """Return the answers of each language that the orders concern and that judges plans."""
    chain = Chain(orders, projection, target.files, target.sources, target.allowed.dependencies)
    # An order concerns a language if it runs a tool of it, or mentions a file of it.
    tools = {each.language for order in orders for _, each in order.commands}
    endings = {path[path.rfind(".") :] for order in orders for path in _paths(order)}
    return tuple(
        language.plans.read_chain(chain)
        for language in LANGUAGES
        if language.plans is not None
        and (language.name in tools or not endings.isdisjoint(language.suffixes))
    )


def _paths(order: OrderCode) -> Iterator[str]:
    yield from order.writes
    yield from order.may_write
    yield from order.allowed_files
    yield from (each.path for each in order.interfaces)
    yield from (each.path for each in order.acceptance_files)
