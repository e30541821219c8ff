"""Answers `plan`, and `build` where there is no valid plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmch.answers.changed_requirements import changed_requirements
from llmch.console.document import AlreadyShown, Block, Conclusion, Remark, RuleFinding
from llmch.console.figures import count

if TYPE_CHECKING:
    from llmch.preview.plan_preview import PlanPreview
    from planner.judging.validation import Report
    from planner.plan_result import PlanResult


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """Represent a plan, or why there is none; `preview` says what the plan will do."""

    result: PlanResult
    preview: PlanPreview | None = None

    def to_json(self) -> object:
        """Return the result as plain values, with the forecast where there is one."""
        from factory.run.forecast_words import forecast_document
        from planner.plan_result import plan_document

        foreseen = self.preview.forecast if self.preview else None
        forecast = forecast_document(foreseen) if foreseen is not None else None
        return {**plan_document(self.result), "forecast": forecast}

    def blocks(self) -> Iterator[Block]:
        """Return the findings and the verdict, what the plan will do, and what it can cost."""
        result = self.result
        end = Conclusion(
            "plan",
            count(result.work_orders, "order") if result.ok else "no valid plan",
            result.ok,
            count(result.attempts, "attempt"),
        )
        yield AlreadyShown((*rule_findings(result.report), end))
        if result.change is not None:
            yield from changed_requirements(result.change.task.difference)
        if self.preview is not None:
            from llmch.answers.preview import short_form

            yield from short_form(self.preview, cost=False)
            yield from _forecast(self.preview)


def _forecast(preview: PlanPreview) -> Iterator[Block]:
    from factory.run.forecast_words import forecast_lines

    if preview.forecast is not None:
        yield Remark(forecast_lines(preview.forecast))


def rule_findings(report: Report) -> tuple[RuleFinding, ...]:
    """Return the findings of a report as blocks."""
    return tuple(
        RuleFinding(
            code=finding.code,
            severity=finding.severity,
            work_order=finding.work_order,
            field=finding.field,
            message=finding.message,
            remedy=finding.remedy,
        )
        for finding in report.shown()
    )
