"""Defines the JSON documents that the factory reads from a model and the ones that it records."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from factory.orders.limits import MAX_EXCERPT_CHARACTERS, MAX_FACT_CHARACTERS, MAX_FACTS
from factory.orders.order_state import EndState
from factory.orders.reply_record import ReplyRecord
from factory.orders.stages import Stage, VerdictWord
from factory.orders.usage import UsageRecord
from factory.orders.verified_by import CountedTests, VerifiedBy


def _is_none(value: object) -> bool:
    return value is None


Pushed = Annotated[bool | None, Field(exclude_if=_is_none)]
"""Whether the requested push succeeded. The key is absent from the JSON if no push was made."""


def _is_empty(value: object) -> bool:
    return value == ""


Remedy = Annotated[str, Field(exclude_if=_is_empty)]
"""What a person can do where no other attempt would help; absent from the JSON if empty."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileWrite(BaseModel):
    """Hold one file of a proposal: its whole new content, and the hash of the content before."""

    model_config = ConfigDict(frozen=True, strict=True)

    path: str
    base_sha256: Sha256
    content: str


class WriteProposal(BaseModel):
    """Hold the files that are proposed to be written. Nothing has checked yet whether they may.

    There are none in the proposal that the harness makes for an order which only removes files.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    summary: str
    writes: Annotated[tuple[FileWrite, ...], Field(strict=False)]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(write.path for write in self.writes)


class ModelProposal(WriteProposal):
    """Hold the files that a model proposes to write, at least one."""

    writes: Annotated[tuple[FileWrite, ...], Field(min_length=1, strict=False)]


Fact = Annotated[str, Field(max_length=MAX_FACT_CHARACTERS)]


class FailureBrief(_Record):
    """Hold a bounded account of a failed attempt, for the next prompt and for the user.

    `facts` are sentences that say what is wrong, the most telling one last.
    """

    stage: Stage
    command: str | None = None
    exit_code: int | None = None
    primary_error_excerpt: Annotated[str, Field(max_length=MAX_EXCERPT_CHARACTERS)]
    constraints_reminder: str = ""
    log: str | None = None
    facts: Annotated[tuple[Fact, ...], Field(max_length=MAX_FACTS)] = ()
    remedy: Remedy = ""


class SandboxRecord(_Record):
    """Describe the sandbox of a command: `guarantees` maps each guarantee to whether it held.

    `limits` apply to the command with its children, in bytes, seconds and processes.
    """

    backend: str
    version: str
    guarantees: dict[str, bool]
    limits: dict[str, int]


class CmdResult(_Record):
    """Describe how one command ended.

    The `*_trunc` fields hold the head and the tail of the output; the files at `*_path` hold all
    of it. `tests` is `None` where no known test runner wrote the output.
    """

    command: tuple[str, ...]
    exit_code: int
    cause: str
    stdout_trunc: str
    stderr_trunc: str
    stdout_path: str
    stderr_path: str
    duration_seconds: float
    sandbox: SandboxRecord
    note: str = ""
    flaky: bool = False
    tests: CountedTests | None = None


class AskedAgain(_Record):
    """Say why a model was asked again within an attempt, and what it was told.

    `reason` is `unreadable`, `unchanged`, `repeated` or `hollow`.
    """

    reason: str
    note: str


class AttemptRecord(_Record):
    """Describe one pass through propose, apply and judge.

    `repeats` is the attempt whose files were given again; they were not judged a second time.
    """

    attempt_index: int
    temperature: float | None = None
    questions: tuple[AskedAgain, ...] = ()
    repeats: int | None = None
    baseline_commit: str
    proposal_path: str | None = None
    touched_files: tuple[str, ...] = ()
    write_ok: bool = False
    unjudged: str = ""
    """Why the type checker could not judge the writes against their contract; empty if it could."""
    verify: tuple[CmdResult, ...] = ()
    acceptance: tuple[CmdResult, ...] = ()
    warnings: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    model: str | None = None
    repairs: tuple[str, ...] = ()
    replies: tuple[ReplyRecord, ...] = ()
    failure_brief: FailureBrief | None = None


class OrderFailure(_Record):
    """Say why an order did not land, as `--json` shows it."""

    stage: str
    command: str | None = None
    exit_code: int | None = None
    excerpt: str
    remedy: Remedy = ""


class CommandFlag(_Record):
    """Report an acceptance command that was seen to prove less than it should.

    A command with W252 passes on the baseline. A command with W234 passes on code that keeps the
    order's interfaces and does nothing.
    """

    code: str
    command: str
    message: str


class RunSummary(_Record):
    """Summarise the run of one work order: `run_summary.json`, and the document of `run --json`."""

    verdict: VerdictWord
    state: EndState
    work_order: str
    run_id: str
    run_dir: str
    branch: str
    commit: str | None
    parent: str
    attempts: int
    failure: OrderFailure | None
    warnings: tuple[str, ...]
    flags: tuple[CommandFlag, ...] = ()
    usage: UsageRecord
    verified_by: VerifiedBy | None = None
    """The commands that passed on the order's commit; `None` where this run made no commit."""
    repo_tree_hash_after: str | None = None
    attempt_records: tuple[AttemptRecord, ...] = ()
    pushed: Pushed = None


class BatchSummary(_Record):
    """Summarise the run of a manifest: the document of `run-all --json`."""

    verdict: VerdictWord
    run_id: str
    run_dir: str
    branch: str
    base: str
    tip: str
    orders: tuple[RunSummary, ...]
    usage: UsageRecord
    pushed: Pushed = None
