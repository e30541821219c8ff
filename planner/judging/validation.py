"""Judges a plan by every rule over every order, and makes one report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import TypedDict

from planner.plan.plan import Plan, with_history
from planner.plan.projection import project
from planner.plan.target import NOTHING_MORE, Allowed, TargetRepo
from planner.replan.answer import Answer
from planner.rules.catalogue import OF_REPLIES, OWNERS, RULE_BY_CODE
from planner.rules.model import PlanView, findings_of
from planner.steps.chain_code import read_codes, read_orders
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.languages.capabilities.tools import Tools
from shared.projects.base import VerifyCommand
from shared.rule_text import Severity

_MAX_FINDINGS = 1000


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """Represent a finding as all commands show it, as text or as JSON, with its rule's remedy.

    `work_order` is `None` where the finding is about the whole plan, and `field` is `None` where
    it is about no single field.
    """

    code: str
    severity: Severity
    work_order: str | None
    field: str | None
    message: str
    remedy: str

    def to_json(self) -> dict[str, str | None]:
        """Return the finding as an entry of `findings` in a JSON document."""
        return asdict(self)


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

    def to_json(self) -> ReportDocument:
        """Return the report as the document that `check --json` prints."""
        return {
            "ok": self.ok,
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "findings": [each.to_json() for each in self.shown()],
        }

    def shown(self) -> tuple[ShownFinding, ...]:
        """Return the findings as commands show them."""
        return tuple(map(shown, self.findings))

    def render(self) -> tuple[str, ...]:
        """Return one line for each finding, all errors before the first warning."""
        return tuple(each.render() for each in (*self.errors, *self.warnings))


def shown(finding: Finding) -> ShownFinding:
    """Return a finding as commands show it."""
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
    and `verification` has what verifies the repo (see `planner.plan.target`). The `tools` that are
    given stay warm for the next plan. Without any, a type checker is started where the plan needs
    it, and ended afterwards. Never raises, whatever a model wrote. The report has at most the first
    thousand findings of each code, since more would show nothing new.

    `history` are the ids of orders that landed. `repo_files` then hold what they wrote, they have
    no findings, and what they declared counts no more than other code of the repo. `answer` is what
    a reply changes in the plan before; without it, the rules on replies (E310 to E316) find
    nothing.
    """
    plan = with_history(plan, history)
    target = TargetRepo(frozenset(repo_files), sources or {}, allowed, verification)
    chain = project(plan.drafts, target.files)
    orders = read_orders(plan.drafts)
    codes = read_codes(orders, chain, target)
    steps = tuple(
        Step(draft, code, codes, plan, chain, target)
        for draft, code in zip(plan.drafts, orders, strict=True)
    )
    with nullcontext(tools) if tools is not None else Tools() as ready:
        view = PlanView(plan, steps, chain, codes, ready, answer)
        findings = [each for owner in OWNERS for each in findings_of(owner, view, _MAX_FINDINGS)]
    landed = {each.position for each in plan.drafts if each.landed}
    counting = (e for e in findings if e.position not in landed or e.code in OF_REPLIES)
    return Report(tuple(sorted(counting, key=_sort_key)))


def _sort_key(finding: Finding) -> tuple[int, str, tuple[tuple[bool, int, str], ...], str]:
    return finding.position, finding.code, finding.at.sort_key(), finding.message
