"""Says what one command asks for, and records the request: in the journal and in `run.json`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from factory.attempt.graph import prepare_graph
from factory.orders.command_settings import command_settings
from factory.orders.commit_message import CommitTerms
from factory.orders.next_step import PlanAtHand
from factory.orders.options import RunOptions
from factory.orders.read import LoadedOrder
from factory.record.journal_entries import ListedOrder, RunBegun
from factory.repo.preflight import TargetBranch
from shared.events.event import Emit
from shared.llm.record.earlier_run import EarlierRun
from shared.llm.stack import ModelSource, transcript_of
from shared.run_record import ModelSettings, RunFolder
from shared.work_order.hashing import order_key


@dataclass(frozen=True, slots=True)
class Commission:
    """Hold what one command asks for: which orders to run, how, and who replies.

    `path` is the file or folder that the orders were read from. `import_ahead` imports, in a
    thread while the run begins, what takes its steps.
    """

    command: Literal["run", "run-all", "retry"]
    path: Path
    orders: tuple[LoadedOrder, ...]
    options: RunOptions
    source: ModelSource
    emit: Emit
    import_ahead: Callable[[], None] = prepare_graph

    @property
    def listed(self) -> tuple[ListedOrder, ...]:
        """Return the orders as the journal lists them."""
        return tuple(
            ListedOrder(each.order.id, each.order.title, order_key(each.order))
            for each in self.orders
        )

    @property
    def plan(self) -> PlanAtHand | None:
        """Return where the orders' plan is; `None` where no manifest vouches for them."""
        if self.orders[0].plan is None:
            return None
        return PlanAtHand(self.path if self.path.is_dir() else self.path.parent)


def run_begun(
    commission: Commission,
    folder: RunFolder,
    target: TargetBranch,
    earlier: tuple[EarlierRun, ...],
    terms: CommitTerms,
) -> RunBegun:
    """Return the first record of the run's journal."""
    plan = commission.orders[0].plan
    return RunBegun(
        run_id=folder.run_id,
        pid=os.getpid(),
        started=folder.started.isoformat(timespec="milliseconds"),
        folder=folder.path,
        orders=commission.listed,
        branch=target.branch,
        base=target.tip,
        transcript=transcript_of(commission.source, folder.path),
        earlier=earlier,
        author=str(terms.author),
        date=terms.date,
        plan=plan.root if plan else "",
    )


def describe_run(
    commission: Commission, target: TargetBranch, terms: CommitTerms
) -> dict[str, Any]:
    """Return what `run.json` says about the request for a run."""
    options, orders = commission.options, commission.orders
    plan, path = orders[0].plan, commission.path.resolve()
    return {
        "command": commission.command,
        ("work_order" if commission.command == "run" else "workdir"): str(path),
        "manifest_sha256": plan.manifest_sha256 if plan else None,
        "orders": [_describe_order(each) for each in orders],
        "repo": str(options.repo.resolve()),
        "branch": target.branch,
        "base": target.tip,
        "author": str(terms.author),
        "commit_date": terms.date,
        "model": options.models.model(1),
        "temperature": options.models.temperature,
        "model_settings": _model_settings(commission).to_json(),
        "max_attempts": options.settings.factory_attempts,
        "timeout_seconds": options.settings.timeout_seconds,
        "sandbox": options.settings.sandbox.backend,
        "python": str(options.python),
        "commands": command_settings(options).model_dump(mode="json"),
    }


def _describe_order(loaded: LoadedOrder) -> dict[str, str]:
    described = {"id": loaded.order.id, "order_key": order_key(loaded.order)}
    return {**described, "hint": loaded.hint} if loaded.hint else described


def _model_settings(commission: Commission) -> ModelSettings:
    models, attempts = commission.options.models, commission.options.settings.factory_attempts
    return ModelSettings(
        models=tuple(models.model(attempt) for attempt in range(1, attempts + 1)),
        temperature=models.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
        replies=commission.source.mode,
        base_url=commission.source.base_url,
    )
