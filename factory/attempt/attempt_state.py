"""Defines the state that moves along the graph's edges, and what its nodes work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from factory.judging.acceptance_evidence import Evidence
from factory.judging.proof import NOTHING_KNOWN, KnownCommit, KnownCommits
from factory.judging.run_checks import BaseVerification
from factory.orders.documents import (
    AgentRecord,
    AskedAgain,
    AttemptRecord,
    CmdResult,
    FailureBrief,
    FileWrite,
    Form,
    ReplyRecord,
    Strength,
    WriteProposal,
)
from factory.orders.model_choice import PastAttempt
from factory.orders.task import OrderTask, RunOptions, Verdict
from factory.preflight import Repo
from factory.proposal.reply_formats import ImpossibleClaim
from factory.proposal.shown_code import ShownFile
from factory.record.journal import Journal
from factory.record.progress import AttemptProgress
from factory.workbench.pool import Workbench, WorkbenchPool
from factory.workbench.workspace import Workspace
from shared.events.events import Emit
from shared.events.run_record import RunFolder
from shared.files.atomic_io import make_folder
from shared.languages.language_tools import Tools
from shared.llm.model_client import LlmClient
from shared.llm.stack import Model
from shared.projects.conventions import Conventions
from shared.work_order.work_order import WorkOrder


@dataclass(frozen=True, slots=True)
class Attempt:
    """Hold the current attempt: each node adds what it found out, and a `brief` ends it."""

    number: int
    rung: int = 0
    temperature: float | None = None
    questions: tuple[AskedAgain, ...] = ()
    """How often the model was asked again within this attempt, and why."""
    misfits: frozenset[tuple[str, Form]] = frozenset()
    """By path, the forms of blocks that could not be applied."""
    shown: tuple[ShownFile, ...] = ()
    is_short: bool = False
    """Whether the order has a short prompt, which small models are asked afresh."""
    conventions: Conventions | None = None
    """What the repo says to those who change it."""
    quoted: Conventions | None = None
    """The same, if the last prompt has it."""
    model: str | None = None
    repairs: tuple[str, ...] = ()
    replies: tuple[ReplyRecord, ...] = ()
    """The replies of this attempt so far."""
    agent: AgentRecord | None = None
    """The agent that made the proposal, if one did."""
    proposal: WriteProposal | None = None
    claim: ImpossibleClaim | None = None
    """The last reply's claim that the order cannot be done, if it makes one."""
    touched: bool = False
    """Whether the workspace may differ from the baseline."""
    placed: tuple[FileWrite, ...] = ()
    """The acceptance files of the plan, which are written beside the proposal or in its place."""
    formatted: tuple[FileWrite, ...] = ()
    """Those of all these files that the project's formatter changed, as it made them."""
    tree: str = ""
    """The tree that git made of the files written; empty if they were not all written."""
    filtered: frozenset[str] = frozenset()
    """Those of the files written that a filter of the person's rewrites on their way into git."""
    commit: str = ""
    """The commit of that tree on its parent: it lands if it passes."""
    unjudged: str = ""
    """The reason why the type checker could not judge the files written, if there is one."""
    verify: tuple[CmdResult, ...] = ()
    acceptance: tuple[CmdResult, ...] = ()
    exempt: str = ""
    """The reason why the verification only compiled the files written, if it did."""
    known: KnownCommit = NOTHING_KNOWN
    """The evidence from the verification of the files written, if they passed."""
    warnings: tuple[str, ...] = ()
    """The notes for a person on the checks that passed."""
    strength: Strength | None = None
    """How strong the order's commands are, where the settings ask for it."""
    verified: str = ""
    """The key of the verification that the tree passed; empty if it did not pass all of it."""
    brief: FailureBrief | None = None

    @property
    def waits_for_parent(self) -> bool:
        """Return whether a proposal waits for the commit on which it is judged."""
        return self.proposal is not None and self.brief is None

    @property
    def proposed(self) -> WriteProposal:
        """Return the proposal; only nodes that follow a proposal may ask for it."""
        assert self.proposal is not None, "the router leads here only with a proposal"
        return self.proposal

    @property
    def writes(self) -> tuple[FileWrite, ...]:
        """Return all that is written and committed: the proposal, and the acceptance files.

        They are as the project's formatter made them, where it ran.
        """
        files = (*self.proposed.writes, *self.placed, *self.formatted)
        return tuple({each.path: each for each in files}.values())


class FactoryState(TypedDict):
    """Hold one order's progress: the current attempt, the earlier ones, and the verdict.

    `past` is what later attempts know of the earlier ones. `evidence` is gathered once for all
    attempts.
    """

    attempt: Attempt
    past: tuple[PastAttempt, ...]
    records: tuple[AttemptRecord, ...]
    evidence: Evidence | None
    verdict: Verdict | None


class StateUpdate(TypedDict, total=False):
    """Hold the fields of `FactoryState` that a node changes."""

    attempt: Attempt
    past: tuple[PastAttempt, ...]
    records: tuple[AttemptRecord, ...]
    evidence: Evidence | None
    verdict: Verdict | None


def first_state() -> FactoryState:
    return FactoryState(attempt=Attempt(1), past=(), records=(), evidence=None, verdict=None)


@dataclass(frozen=True, slots=True)
class Run:
    """Hold what is open for as long as a run goes on, whichever orders it makes.

    `known` is what the commands showed of commits. Several threads may use all of it.
    """

    options: RunOptions
    repo: Repo
    journal: Journal
    model: Model
    folder: RunFolder
    pool: WorkbenchPool
    tools: Tools
    known: KnownCommits
    emit: Emit


@dataclass(frozen=True, slots=True)
class Step:
    """Hold what the nodes work with in one walk of the graph; nothing in it changes meanwhile.

    The workspace of `bench` holds `parent`: the order's base while the model is asked, and then the
    commit that the order's own is to follow. `announce` takes the commit that is judged.
    """

    run: Run
    task: OrderTask
    parent: str
    bench: Workbench
    client: LlmClient
    verification: BaseVerification
    emit: Emit
    progress: AttemptProgress
    announce: Callable[[str], None]

    @property
    def order(self) -> WorkOrder:
        return self.task.order

    @property
    def workspace(self) -> Workspace:
        return self.bench.workspace

    def attempt_folder(self, attempt: Attempt) -> Path:
        """Make the folder of one attempt's artifacts and return it."""
        return make_folder(self.task.folder / f"attempt_{attempt.number}")
