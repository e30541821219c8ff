"""Renders the documents that record a compilation, however it ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.compile.attempt import Judged, chosen
from planner.judging.validation import Report, shown
from planner.repair.repair import Fix


def last_report(attempts: Sequence[Judged]) -> Report:
    """Return the report on the plan that counts, else on the latest reply."""
    if (last := chosen(attempts)) is not None and last.ok:
        return last.report
    judged = (each.report for each in reversed(attempts) if each.plan is not None)
    return next(judged, Report(()))


def summary_document(
    attempts: Sequence[Judged], error: str | None, seconds: float, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `compile_summary.json`; `error` is the message that ended the compilation early."""
    report = last_report(attempts)
    return {
        "success": succeeded(attempts) and error is None,
        "compile_attempts": len(attempts),
        "work_orders": _work_orders(attempts),
        "error": error,
        "errors": [shown(finding).to_json() for finding in report.errors],
        "warnings": [shown(finding).to_json() for finding in report.warnings],
        "fixes": [fix.to_json() for fix in _fixes(attempts)],
        "attempts": [_attempt_document(each) for each in attempts],
        "seconds": round(seconds, 3),
        "defaults": dict(defaults),
    }


def errors_document(attempts: Sequence[Judged], error: str | None) -> dict[str, Any]:
    """Return `validation_errors.json`, which says why there is no plan."""
    failure = error or (attempts[-1].failure if attempts else "") or None
    return {**last_report(attempts).to_json(), "ok": False, "error": failure}


def succeeded(attempts: Sequence[Judged]) -> bool:
    """Return whether an attempt brought a valid plan."""
    last = chosen(attempts)
    return last is not None and last.ok


def _fixes(attempts: Sequence[Judged]) -> tuple[Fix, ...]:
    """Return the repairs, made without a model, in the plan that counts."""
    last = chosen(attempts)
    return last.fixes if last else ()


def _work_orders(attempts: Sequence[Judged]) -> int:
    last = chosen(attempts)
    return len(last.plan.drafts) if last and last.ok and last.plan else 0


def _attempt_document(judged: Judged) -> dict[str, Any]:
    return {
        "attempt": judged.attempt,
        "failure": judged.failure or None,
        "errors": [shown(finding).to_json() for finding in judged.report.errors],
        "fixes": [fix.to_json() for fix in judged.fixes],
    }
