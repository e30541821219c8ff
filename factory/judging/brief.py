"""Builds every failure brief, so that all stages give the next attempt the same kind of account."""

from __future__ import annotations

from factory.judging.environment import Fault
from factory.judging.excerpt import cut
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.proposal.prompt import reminder
from shared.work_order.schemas import WorkOrder


def brief_of(
    stage: Stage,
    order: WorkOrder,
    account: str,
    *,
    command: str | None = None,
    exit_code: int | None = None,
    log: str | None = None,
) -> FailureBrief:
    """Return the brief of a failure at `stage`; `account` is cut to the bound of an excerpt.

    `log` is the path of the whole output, relative to the order's folder.
    """
    return FailureBrief(
        stage=stage,
        command=command,
        exit_code=exit_code,
        primary_error_excerpt=cut(account),
        constraints_reminder=reminder(stage, order),
        log=log,
    )


def brief_of_fault(fault: Fault, brief: FailureBrief) -> FailureBrief:
    """Return the brief of a failed command, as a fault of the environment with its remedy."""
    excerpt = brief.primary_error_excerpt
    account = excerpt if fault.what in excerpt else f"{fault.what}\n{excerpt}"
    return brief.model_copy(
        update={
            "stage": Stage.ENVIRONMENT,
            "primary_error_excerpt": cut(account),
            "constraints_reminder": "",
            "remedy": fault.remedy,
        }
    )
