"""Judging a plan: every rule over every order, and one report."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypedDict

from planner.interfaces.declared import fold_history, read_interfaces
from planner.interfaces.judgement import judge_types
from planner.plan import Draft, Plan
from planner.projection import project
from planner.rules.acceptance import weak_commands
from planner.rules.catalogue import RULE_BY_CODE, RULES
from planner.rules.model import Finding, PlanView, Step
from planner.rules.needs import unmet_needs
from planner.target import NOTHING_MORE, Allowed, Target
from shared.commands import Command, analyse_command
from shared.interfaces.checker import TypeChecker
from shared.rule_text import Severity

_INDEX = re.compile(r"\d+")
_MAX_FINDINGS = 1000


class FindingDocument(TypedDict):
    """A finding as `--json` prints it; `work_order` and `field` are null where none is meant."""

    code: str
    severity: Severity
    work_order: str | None
    field: str | None
    message: str
    remedy: str


class ReportDocument(TypedDict):
    """A report as `check --json` prints it."""

    ok: bool
    errors: int
    warnings: int
    findings: list[FindingDocument]


@dataclass(frozen=True, slots=True)
class Report:
    """What the rules say of a plan, sorted by order, code and field: equal plan, equal report."""

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "warning")

    @property
    def ok(self) -> bool:
        """True where no error is left; warnings stop nothing."""
        return not self.errors

    def to_json(self) -> ReportDocument:
        """Return the report as the document that `check --json` prints."""
        return {
            "ok": self.ok,
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "findings": [finding_document(each) for each in self.findings],
        }

    def render(self) -> tuple[str, ...]:
        """Return one line for each finding."""
        return tuple(render_finding(each) for each in self.findings)


def finding_document(finding: Finding) -> FindingDocument:
    """Return a finding as JSON, its rule's remedy included."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "work_order": finding.order or None,
        "field": finding.field or None,
        "message": finding.message,
        "remedy": RULE_BY_CODE[finding.code].remedy,
    }


def render_finding(finding: Finding) -> str:
    """Return `[E101] WO-02 preconditions[0]: message`."""
    place = " ".join(each for each in (finding.order or "plan", finding.field) if each)
    return f"[{finding.code}] {place}: {finding.message}"


def judge(
    plan: Plan,
    repo_files: Collection[str] = (),
    sources: Mapping[str, str] | None = None,
    *,
    allowed: Allowed = NOTHING_MORE,
    checker: TypeChecker | None = None,
) -> Report:
    """Return what all rules say of `plan`, on a repo that holds `repo_files`.

    Paths in `repo_files` are as git lists them, and `sources` has the texts of those that rules
    read (see `planner.target`). A `checker` that is given stays warm for the next plan; else one
    is started where the plan needs it, and ended. Never raises, whatever a model wrote. Of one
    rule the first thousand findings count: more show nothing that these do not.
    """
    target = Target(frozenset(repo_files), sources or {}, allowed)
    chain = project(plan.drafts, target.files)
    interfaces = read_interfaces(plan.drafts)
    history = fold_history(plan.drafts, interfaces, target.files, target.sources)
    steps = tuple(
        Step(draft, _commands(draft), declared, plan, chain, history, target)
        for draft, declared in zip(plan.drafts, interfaces, strict=True)
    )
    weak = [finding for step in steps for finding in weak_commands(step)]
    decided = (*unmet_needs(steps), *weak, *judge_types(steps, checker))
    view = PlanView(plan, steps, chain, decided)
    findings = [each for rule in RULES for each in islice(rule.check(view), _MAX_FINDINGS)]
    return Report(tuple(sorted(findings, key=_sort_key)))


def _commands(draft: Draft) -> tuple[tuple[int, Command], ...]:
    return tuple((index, analyse_command(text)) for index, text in draft.commands())


def _sort_key(finding: Finding) -> tuple[int, str, str, str]:
    field = _INDEX.sub(lambda index: index[0].rjust(9, "0"), finding.field)
    return finding.position, finding.code, field, finding.message
