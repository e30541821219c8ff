"""Builds every failure brief, so that all stages give the next attempt the same kind of account."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from factory.judging.environment import Fault
from factory.judging.excerpt import cut, shorten
from factory.orders.documents import CmdResult, FailureBrief
from factory.orders.limits import MAX_FACT_CHARACTERS, MAX_FACTS
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
    facts: Sequence[str] = (),
) -> FailureBrief:
    """Return the brief of a failure at `stage`; `account` and `facts` are cut to their bounds.

    `log` is the path of the whole output, relative to the order's folder. The most telling fact
    comes last.
    """
    return FailureBrief(
        stage=stage,
        command=command,
        exit_code=exit_code,
        primary_error_excerpt=cut(account),
        constraints_reminder=reminder(stage, order),
        log=log,
        facts=_bounded((), facts),
    )


def with_facts(brief: FailureBrief, facts: Sequence[str]) -> FailureBrief:
    """Return the brief with `facts` after its own, as the more telling ones.

    Where there are too many, the last of the brief's own facts are left out first.
    """
    return brief.model_copy(update={"facts": _bounded(brief.facts, facts)})


def _bounded(earlier: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    last = [shorten(" ".join(each.split()), MAX_FACT_CHARACTERS) for each in added][-MAX_FACTS:]
    kept = [each for each in earlier if each not in last][: MAX_FACTS - len(last)]
    return (*kept, *dict.fromkeys(last))


def brief_of_success(stage: Stage, order: WorkOrder, why: str, result: CmdResult) -> FailureBrief:
    """Return the brief of a command that succeeded and proves too little, for the reason `why`."""
    return brief_of(
        stage,
        order,
        "\n".join(each for each in (why, result.stdout_trunc, result.stderr_trunc) if each),
        command=shlex.join(result.command),
        exit_code=result.exit_code,
        log=result.stdout_path,
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
