"""What travels along the graph's edges, and what its nodes work with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from factory.bench import Bench
from factory.evidence import Evidence
from factory.options import RunOptions
from factory.progress import AttemptProgress
from factory.prompt import ShownFile
from factory.sandbox import Sandbox
from factory.schemas import AttemptRecord, CmdResult, FailureBrief, WriteProposal
from factory.task import OrderTask
from factory.verdict import Verdict
from factory.warm_checker import WarmChecker
from factory.workspace import Workspace
from shared.atomic_io import make_folder
from shared.events import Emit
from shared.git import CommitFacts
from shared.llm.client import LlmClient
from shared.schemas import WorkOrder


class FactoryState(TypedDict):
    """One order's progress; `evidence` is gathered once.

    The fields below `verdict` belong to the attempt under way. `touched` says that the workspace
    may differ from the baseline, `tree` what git made of the files written, `unjudged` why it
    could not be told whether they keep their contract.
    """

    attempt: int
    previous: FailureBrief | None
    records: tuple[AttemptRecord, ...]
    evidence: Evidence | None
    verdict: Verdict | None
    shown: tuple[ShownFile, ...]
    proposal: WriteProposal | None
    touched: bool
    write_ok: bool
    tree: str
    unjudged: str
    verify: tuple[CmdResult, ...]
    acceptance: tuple[CmdResult, ...]
    brief: FailureBrief | None
    model: str | None
    repairs: tuple[str, ...]


def fresh_attempt(attempt: int) -> FactoryState:
    """Return the state that an attempt starts from, nothing known yet."""
    return FactoryState(
        attempt=attempt,
        previous=None,
        records=(),
        evidence=None,
        verdict=None,
        shown=(),
        proposal=None,
        touched=False,
        write_ok=False,
        tree="",
        unjudged="",
        verify=(),
        acceptance=(),
        brief=None,
        model=None,
        repairs=(),
    )


@dataclass(frozen=True, slots=True)
class FactoryContext:
    """What the nodes of one order need; nothing in it changes while the order runs."""

    task: OrderTask
    options: RunOptions
    bench: Bench
    client: LlmClient
    checker: WarmChecker
    emit: Emit
    progress: AttemptProgress
    commit_facts: CommitFacts

    @property
    def order(self) -> WorkOrder:
        return self.task.loaded.order

    @property
    def binding(self) -> tuple[WorkOrder, ...]:
        """The orders whose declarations bind what this one writes, itself last."""
        return self.task.loaded.binding

    @property
    def folder(self) -> Path:
        """The folder of the order's records."""
        return self.task.folder

    @property
    def workspace(self) -> Workspace:
        return self.bench.workspace

    @property
    def sandbox(self) -> Sandbox:
        return self.bench.sandbox

    @property
    def is_cancelled(self) -> bool:
        """Whether the order is to stop at its next step."""
        return self.progress.cancelled.is_set()

    def attempt_folder(self, attempt: int) -> Path:
        """Return (and make) the folder of one attempt's artifacts."""
        return make_folder(self.folder / f"attempt_{attempt}")
