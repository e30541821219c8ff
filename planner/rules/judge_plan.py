"""Lists all rules, and judges a plan by each of them over every order, in one report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypedDict

from planner.plan import parse_plan
from planner.plan.file_projection import NOTHING_MORE, Allowed, TargetRepo, project
from planner.rules import (
    acceptance,
    chain,
    command_needs,
    coverage,
    following,
    interfaces,
    order_sizes,
    structure,
)
from planner.rules.acceptance import unparsable_tests, with_whole_tests
from planner.rules.command_needs import unmet_needs
from planner.rules.rule_model import (
    Finding,
    Pass,
    PlanView,
    Rule,
    Step,
    each_order,
    each_step,
    findings_of,
    passes_of,
    read_codes,
    read_orders,
)
from planner.rules.structure import unjudgeable_code, weak_commands
from shared.errors import ShownFinding
from shared.files.strict_documents import FieldPath
from shared.languages.language_tools import Tools

if TYPE_CHECKING:
    from planner.plan.parse_plan import Plan
    from planner.replan.merge_plans import Answer
    from shared.projects.manifests import VerifyCommand


def _needed_and_used(view: PlanView) -> Iterator[Finding]:
    yield from unmet_needs(view.steps)
    yield from each_step(unjudgeable_code)(view)
    for code in view.codes:
        yield from map(view.finding, code.interface_faults())
    # Languages that share a compiler miss it together.
    used = (view.finding(fault) for code in view.codes for fault in code.use_faults(view.tools))
    unread = [*each_order(unparsable_tests)(view)]
    yield from unread
    places = {(each.position, each.at) for each in unread}
    # Of a test that does not parse, a compiler says so again.
    yield from (
        e for e in dict.fromkeys(used) if e.code != "E206" or (e.position, e.at) not in places
    )


def _made_of_others(view: PlanView) -> Iterator[Finding]:
    """Yield nothing: E315 is made of the findings of other codes, and E4xx of a dry run."""
    return iter(())


PASSES: Final = (
    Pass(("W230", "W231", "W232", "W233"), each_step(weak_commands)),
    # A module or name that only a later order brings is E217, whether the search for modules or the
    # type checker misses it. An undefined name in an interface may take a compiler to find, and so
    # may a test that does not compile.
    Pass(
        (
            *("E201", "E203", "E204", "E206", "W223"),
            *("E210", "E211", "E212", "E213", "E214", "E215", "E216", "E217"),
            *("E241", "E242", "E299", "W101", "W221", "W222", "W224"),
        ),
        _needed_and_used,
    ),
    Pass(("E315", "E401", "E402", "E403"), _made_of_others),
)


_FAMILIES: Final = (
    *(acceptance, chain, command_needs, coverage, following, interfaces, order_sizes, structure),
)

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted((rule for family in _FAMILIES for rule in family.RULES), key=lambda rule: rule.code)
)

# Every judge of a plan imports this: a code without an owner, or with two, makes the import fail.
OWNERS: Final[tuple[Pass, ...]] = passes_of(RULES, PASSES)

# A finding of these on an order that landed or is kept is about the reply that changes it.
OF_REPLIES: Final = frozenset({"E310", "E311", "E314"})

RULE_BY_CODE: Final[Mapping[str, Rule]] = MappingProxyType({rule.code: rule for rule in RULES})


_MAX_FINDINGS = 1000


class ReportDocument(TypedDict):
    """Represent a report as `check --json` prints it."""

    ok: bool
    errors: int
    warnings: int
    findings: list[dict[str, str | None]]


@dataclass(frozen=True, slots=True)
class Report:
    """Hold the findings on a plan, sorted by order, code and field.

    Equal plans give equal reports.
    """

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "warning")

    @property
    def ok(self) -> bool:
        """Return whether the report has no error; warnings do not make a plan invalid."""
        return not self.errors

    def with_more(self, findings: Iterable[Finding]) -> Report:
        """Return the report with these findings in their places."""
        return Report(tuple(sorted((*self.findings, *findings), key=_sort_key)))

    def to_json(self) -> ReportDocument:
        """Return the report as the document that `check --json` prints."""
        return {
            "ok": self.ok,
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "findings": [each.to_json() for each in self.shown()],
        }

    def shown(self) -> tuple[ShownFinding, ...]:
        return tuple(map(shown, self.findings))

    def render(self) -> tuple[str, ...]:
        """Return one line for each finding, all errors before the first warning."""
        return tuple(each.render() for each in (*self.errors, *self.warnings))


def shown(finding: Finding) -> ShownFinding:
    return ShownFinding(
        code=finding.code,
        severity=finding.severity,
        work_order=finding.order or None,
        field=finding.field or None,
        message=finding.message,
        remedy=RULE_BY_CODE[finding.code].remedy,
    )


def judge(
    plan: Plan,
    repo_files: Collection[str] = (),
    sources: Mapping[str, str] | None = None,
    *,
    allowed: Allowed = NOTHING_MORE,
    verification: tuple[VerifyCommand, ...] = (),
    tools: Tools | None = None,
    history: Collection[str] = (),
    answer: Answer | None = None,
) -> Report:
    """Return the report of all rules on `plan`, for a repo that holds `repo_files`.

    Paths in `repo_files` are as git lists them, `sources` has the texts of those that rules read,
    and `verification` has what verifies the repo (see `planner.plan.file_projection`). The `tools`
    that are given stay warm for the next plan. Without any, a type checker is started where the
    plan needs it, and ended afterwards. Never raises, whatever a model wrote. The report has at
    most the first thousand findings of each code, since more would show nothing new. `history` are
    the ids of orders that landed. `repo_files` then hold what they wrote, they have no findings,
    and what they declared counts no more than other code of the repo. `answer` is what a reply
    changes in the plan before; without it, the rules on replies (E310 to E316) find nothing.
    """
    plan = parse_plan.with_history(plan, history)
    target = TargetRepo(frozenset(repo_files), sources or {}, allowed, verification)
    plan = with_whole_tests(plan, target)
    chain = project(plan.drafts, target.files)
    orders = read_orders(plan.drafts)
    codes = read_codes(orders, chain, target)
    steps = tuple(
        Step(draft, code, codes, plan, chain, target)
        for draft, code in zip(plan.drafts, orders, strict=True)
    )
    with nullcontext(tools) if tools is not None else Tools() as ready:
        view = PlanView(plan, steps, chain, codes, ready, answer, target)
        findings = [each for owner in OWNERS for each in findings_of(owner, view, _MAX_FINDINGS)]
    landed = {each.position for each in plan.drafts if each.landed}
    counting = (e for e in findings if e.position not in landed or e.code in OF_REPLIES)
    return Report(tuple(sorted(counting, key=_sort_key)))


def _sort_key(finding: Finding) -> tuple[int, str, tuple[tuple[bool, int, str], ...], str]:
    return finding.position, finding.code, finding.at.sort_key(), finding.message


Place = tuple[str, str, FieldPath]


def judge_answer(
    plan: Plan, answer: Answer, judge: Callable[[Plan], Report], before: Report
) -> Report:
    """Return the report on a merged plan.

    `judge` applies all rules, and `before` is its report on the plan before. A finding on a kept
    order that `before` has too is left out, since no reply can act on it. A new error is E315,
    with the underlying finding as its message.
    """
    known = frozenset(map(_place, before.findings))
    return Report(tuple(_blamed(plan, answer, judge(plan), known)))


def _blamed(
    plan: Plan, answer: Answer, report: Report, known: frozenset[Place]
) -> Iterator[Finding]:
    own = answer.own
    for each in report.findings:
        if not each.position or each.position in own or each.code in OF_REPLIES:
            yield each
        elif _place(each) not in known:
            yield _disturbed(each) if each.severity == "error" else each


def _disturbed(finding: Finding) -> Finding:
    message = f"the new orders break this order: [{finding.code}] {finding.message}"
    return Finding("E315", finding.position, finding.order, finding.at, message)


def _place(finding: Finding) -> Place:
    return finding.code, finding.order, finding.at
