"""Summarises orders and runs, in the documents that are recorded and printed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from factory.orders.documents import (
    AttemptRecord,
    BatchSummary,
    CommandFlag,
    RunSummary,
    VerifiedBy,
)
from factory.orders.stages import Failure, OrderState, VerdictWord
from factory.orders.task import Errored, Failed, Passed, Verdict
from factory.preflight import name_paths
from shared.llm.usage import Tally, usage_record


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Hold the facts about an order's run that do not depend on its verdict."""

    order: str
    run_id: str
    run_dir: Path
    branch: str
    parent: str
    warnings: tuple[str, ...]
    flags: tuple[CommandFlag, ...] = ()
    verified_by: VerifiedBy | None = None


def summarise_order(
    verdict: Verdict, about: Circumstances, records: Sequence[AttemptRecord], tally: Tally
) -> RunSummary:
    """Return the summary of an order that was executed."""
    return RunSummary(
        verdict=verdict_word(verdict),
        state=OrderState.LANDED if isinstance(verdict, Passed) else OrderState.FAILED,
        work_order=about.order,
        run_id=about.run_id,
        run_dir=str(about.run_dir),
        branch=about.branch,
        commit=verdict.commit if isinstance(verdict, Passed) else None,
        parent=about.parent,
        attempts=len(records),
        failure=_failure(verdict),
        warnings=(
            *about.warnings,
            *(f"{each.code} `{each.command}` {each.message}" for each in about.flags),
            *_unjudged_warnings(records),
            *_drift_warnings(records),
            *(warning for record in records for warning in record.warnings),
        ),
        flags=about.flags,
        usage=usage_record(tally),
        verified_by=about.verified_by if isinstance(verdict, Passed) else None,
        repo_tree_hash_after=verdict.tree if isinstance(verdict, Passed) else None,
        attempt_records=tuple(records),
    )


def summarise_unexecuted(
    state: Literal[OrderState.SKIPPED, OrderState.PENDING, OrderState.BLOCKED, OrderState.LEFT_OUT],
    about: Circumstances,
    commit: str | None,
) -> RunSummary:
    """Return the summary of an order that was not executed.

    Either an earlier run landed the order, or a person left it out, or this run did not reach it.
    An order that was left out is not asked for, so its verdict is PASS; orders that need it FAIL.
    """
    done = state in (OrderState.SKIPPED, OrderState.LEFT_OUT)
    return RunSummary(
        verdict="PASS" if done else "FAIL",
        state=state,
        work_order=about.order,
        run_id=about.run_id,
        run_dir=str(about.run_dir),
        branch=about.branch,
        commit=commit,
        parent=about.parent,
        attempts=0,
        failure=None,
        warnings=about.warnings,
        usage=usage_record(Tally()),
    )


def summarise_stopped(
    cause: str,
    verdict: Literal["FAIL", "ERROR"],
    about: Circumstances,
    records: Sequence[AttemptRecord],
    tally: Tally,
) -> RunSummary:
    """Return the summary of an order that was in progress when its run ended.

    Its state is pending, because the next run continues the order. The verdict must be ERROR if
    the run was interrupted, and FAIL if the run ended in another way.
    """
    stopped = summarise_order(Errored(cause), about, records, tally)
    return stopped.model_copy(update={"state": OrderState.PENDING, "verdict": verdict})


def batch_verdict(orders: Iterable[RunSummary]) -> VerdictWord:
    """Return the verdict of the whole run: the worst verdict of its orders."""
    verdicts = {order.verdict for order in orders}
    return "ERROR" if "ERROR" in verdicts else "FAIL" if "FAIL" in verdicts else "PASS"


def verdict_word(verdict: Verdict) -> VerdictWord:
    """Return the verdict as it is printed."""
    match verdict:
        case Passed():
            return "PASS"
        case Failed():
            return "FAIL"
        case Errored():
            return "ERROR"


def public_json(summary: RunSummary | BatchSummary) -> dict[str, object]:
    """Return the document that `--json` prints: the summary without the attempts' records."""
    hidden = {"attempt_records"}
    exclude: object = hidden
    if isinstance(summary, BatchSummary):
        exclude = {"orders": {"__all__": hidden}}
    return summary.model_dump(mode="json", exclude=exclude)  # type: ignore[arg-type]  # pydantic's alias is private


def _failure(verdict: Verdict) -> Failure | None:
    match verdict:
        case Passed():
            return None
        case Failed(brief):
            return brief.failure
        case Errored(cause, error):
            return Failure(stage="error", excerpt=cause, remedy=error.hint if error else "")


def _unjudged_warnings(records: Sequence[AttemptRecord]) -> tuple[str, ...]:
    reasons = dict.fromkeys(record.unjudged for record in records if record.unjudged)
    return tuple(map(unjudged_warning, reasons))


def unjudged_warning(reason: str) -> str:
    """Return the warning that the type checker gave no answer."""
    return f"the type checker cannot tell whether the code keeps its interfaces: {reason}"


def _drift_warnings(records: Sequence[AttemptRecord]) -> tuple[str, ...]:
    drift = [path for record in records for path in record.drift]
    return (drift_warning(drift),) if drift else ()


def drift_warning(paths: Sequence[str]) -> str:
    """Return the warning about files that commands changed and that the proposal does not write."""
    return f"commands changed files outside the proposal, which was undone: {name_paths(paths)}"
