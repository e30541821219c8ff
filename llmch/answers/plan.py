"""Answers `plan`, and `build` where there is no valid plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmch.console.document import AlreadyShown, Block, Conclusion, Remark, RuleFinding
from llmch.console.figures import count

if TYPE_CHECKING:
    from factory.run.forecast import Forecast
    from planner.judging.validation import Report
    from planner.run import PlanResult


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """Represent a plan, or why there is none; `forecast` says what running the plan can cost."""

    result: PlanResult
    forecast: Forecast | None = None

    def to_json(self) -> object:
        """Return the result as plain values, with the forecast where there is one."""
        from factory.run.forecast_words import forecast_document
        from planner.run import plan_document

        forecast = forecast_document(self.forecast) if self.forecast is not None else None
        return {**plan_document(self.result), "forecast": forecast}

    def blocks(self) -> Iterator[Block]:
        """Return the findings and the verdict, and the forecast where there is one."""
        result = self.result
        end = Conclusion(
            "plan",
            count(result.work_orders, "order") if result.ok else "no valid plan",
            result.ok,
            count(result.attempts, "attempt"),
        )
        yield AlreadyShown((*rule_findings(result.report), end))
        if self.forecast is not None:
            from factory.run.forecast_words import forecast_lines

            yield Remark(forecast_lines(self.forecast))


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
