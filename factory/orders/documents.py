"""The JSON documents that the factory reads from a model and records, within which limits."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import not_
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WrapSerializer

from factory.orders.stages import EndState, Failure, RepeatedFailure, Stage, VerdictWord
from shared.llm.usage import UNKNOWN_USAGE, UsageRecord

MAX_CONTEXT_BYTES: Final = 200 * 1024
"""The limit of what a prompt shows of files."""
MAX_WRITE_BYTES: Final = 200 * 1024
"""The limit of one new file."""
MAX_EDITED_BYTES: Final = 2 * 1024 * 1024
"""The limit of one existing file that a proposal changes."""
MAX_PROPOSAL_BYTES: Final = 500 * 1024
"""The limit of all new files of a proposal together."""
MAX_EDITED_IN_ALL_BYTES: Final = 4 * 1024 * 1024
"""The limit of all existing files that a proposal changes."""
MAX_REPLY_CHARACTERS: Final = 4 * 1024 * 1024
"""The limit of a reply: a whole proposal in JSON, each of its characters escaped, is shorter."""
MAX_BLOCKS: Final = 200
"""The limit of the parts that a reply changes."""
MAX_EXCERPT_CHARACTERS: Final = 2000
"""The limit of the output of a failed command, as a failure brief quotes it."""
MAX_FACTS: Final = 6
"""The limit of the facts that a failure brief tells."""
MAX_FACT_CHARACTERS: Final = 400
"""The limit of one fact of a failure brief."""
MAX_COUNTEREXAMPLES: Final = 5
"""The limit of the inputs on which code failed that a failure brief tells."""
MAX_QUOTED_CHARACTERS: Final = 240
"""The limit of what is quoted of a reply that could not be read."""


WHOLE_UP_TO_LINES: Final = 150
"""Files of up to so many lines are written whole: every model can, and it costs little."""
FALL_BACK_UP_TO_LINES: Final = 1000
"""Files of up to so many lines are written whole by a model that failed to write parts of them."""


class ReplyFormat(StrEnum):
    """Name a reply format: `json` is a strict document, the others are fenced blocks.

    In `files` each block holds a whole file, in `edits` a block may hold a part of one. Both begin
    with a summary.
    """

    JSON = "json"
    FILES = "files"
    EDITS = "edits"


class Form(StrEnum):
    """Name what a fenced block holds: a whole file, a definition, or search texts."""

    WHOLE = "whole"
    DEFINITION = "definition"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class WritableFile:
    """Hold what the choice of a form depends on, for a file that an order may write.

    A file that does not exist has no lines. `has_outline` says whether definitions of the file can
    be named: whether it has a language. `is_named` says whether the order names some of them, and
    `has_focus` that it names the one that changes.
    """

    path: str
    lines: int
    size: int
    has_outline: bool
    is_named: bool = False
    has_focus: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """Hold how a reply is asked for: its format, and for `edits` the form of each file."""

    format: ReplyFormat
    forms: Mapping[str, Form] = field(default_factory=dict)


class ReplyRecord(BaseModel):
    """Name a reply by the hash of its text.

    `asked` is the format that the prompt asked for. `focused` says that it asked for the one
    definition which the order names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    model: str
    asked: ReplyFormat
    focused: bool = False


def reply_sha256(text: str) -> str:
    """Return the hash of a reply; also half of a surrogate pair, which is no text, has one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Longer than what is said of a few commands. A command may be a program of many lines.
_LONGEST_LINE: Final = 600  # characters


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CountedTests(_Record):
    """Hold how many tests a command reported.

    `at_least` is in the JSON only where it is true: the runner did not count all of its tests, as
    `go test` without -v, and the numbers are the least that can be concluded.
    """

    passed: int
    failed: int
    skipped: int
    at_least: Annotated[bool, Field(exclude_if=not_)] = False

    @property
    def ran(self) -> int:
        """Return how many tests ran to their end. A skipped test did not."""
        return self.passed + self.failed

    def describe(self) -> str:
        """Return the numbers in a few words: `12 tests, 2 of them failed`."""
        least = "at least " if self.at_least and self.ran else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{least}{count_of_tests(self.ran)}{failed}{skipped}"


def count_of_tests(number: int) -> str:
    """Return `no test`, `1 test` or `12 tests`."""
    return "no test" if not number else f"{number} test{'' if number == 1 else 's'}"


Exempt = Annotated[str, Field(exclude_if=not_)]
"""Why the code was compiled and not run; absent from the JSON if it was verified."""


class JudgingCommand(_Record):
    """Hold a command that judged an order. `tests` is `None` where nothing counts them."""

    command: str
    exit_code: int
    tests: CountedTests | None


NO_FAULTS: Final = "the commit has no line of code that can be changed"


class Strength(_Record):
    """Say how many small faults in an order's lines the order's own commands notice.

    `survivors` are those that they do not, each on one line. Those that cannot change what the code
    does, or do not compile, do not count. `untried` are those that time was too short for, and
    `unmeasured` the files that were not looked into. `why_not` says why nothing was measured.
    """

    killed: int = 0
    of: int = 0
    survivors: tuple[str, ...] = ()
    seed: int = 0
    equivalent: Annotated[int, Field(exclude_if=not_)] = 0
    invalid: Annotated[int, Field(exclude_if=not_)] = 0
    untried: Annotated[int, Field(exclude_if=not_)] = 0
    unmeasured: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()
    why_not: Annotated[str, Field(exclude_if=not_)] = ""

    def reaches(self, least: float) -> bool:
        """Return whether the commands notice such a part of the faults, if there are any."""
        return self.why_not == NO_FAULTS or (self.of > 0 and self.killed >= least * self.of)

    @property
    def score(self) -> str:
        """Return `strength 17 of 20`."""
        if self.why_not:
            return f"strength not measured: {self.why_not}"
        return f"strength {self.killed} of {self.of}"

    def describe(self) -> str:
        """Return the score in one line: `strength 17 of 20, survivors: a.py:3 ...`."""
        survivors = f", survivors: {'; '.join(self.survivors)}" if self.survivors else ""
        beside = f" (not measured: {', '.join(self.unmeasured)})" if self.unmeasured else ""
        return f"{self.score}{beside}{survivors}"


Measured = Annotated[Strength | None, Field(exclude_if=lambda value: value is None)]
"""How strong the tests are; absent from the JSON where nobody measured it."""


class VerifiedBy(_Record):
    """Say which commands judged an order, in their sequence.

    `rests_on_acceptance` says that the verification ran no test, as far as its commands and their
    output show, so that nothing but the acceptance commands speaks for the order. `exempt` says
    why the verification only compiled the code.
    """

    verification: tuple[JudgingCommand, ...]
    acceptance: tuple[JudgingCommand, ...]
    rests_on_acceptance: bool
    exempt: Exempt = ""
    strength: Measured = None

    def describe(self) -> str:
        """Return what speaks for the order, in one line of at most 600 characters."""
        said = self._describe()
        if self.strength is not None:
            said += f"; {self.strength.describe()}"
        return textwrap.shorten(said, _LONGEST_LINE, placeholder=" ...")

    def _describe(self) -> str:
        number = len(self.acceptance)
        commands = f"{number} acceptance command{'' if number == 1 else 's'}"
        if self.exempt:
            return f"proven by compiling alone ({self.exempt}): the order rests on {commands}"
        if self.rests_on_acceptance:
            return f"the verification ran no test: the order rests on {commands}"
        named = [each for each in self.verification if each.tests is None or each.tests.ran]
        tested = [each for each in named if each.tests] or named
        return f"verified by {'; '.join(map(_describe, tested))}"


def _describe(command: JudgingCommand) -> str:
    return f"{command.command}: {command.tests.describe()}" if command.tests else command.command


Pushed = Annotated[bool | None, Field(exclude_if=lambda value: value is None)]
"""Whether the requested push succeeded. The key is absent from the JSON if no push was made."""


Remedy = Annotated[str, Field(exclude_if=not_)]
"""What a person can do where no other attempt would help; absent from the JSON if empty."""


Repeats = Annotated[RepeatedFailure | None, Field(exclude_if=lambda value: value is None)]
"""The failure of an earlier attempt whose files were given again; absent from the JSON if none."""


def _without_empty_keys(failure: Failure, render: Callable[[Failure], dict[str, object]]) -> object:
    """Return the JSON of a failure, in which `remedy` and `repeats` have no key if empty."""
    return {k: v for k, v in render(failure).items() if v or k not in ("remedy", "repeats")}


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


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
Counterexamples = Annotated[
    tuple[Fact, ...], Field(max_length=MAX_COUNTEREXAMPLES, exclude_if=not_)
]


class FailureBrief(_Record):
    """Hold a bounded account of a failed attempt, for the next prompt and for the user.

    `facts` are sentences that say what is wrong, the most telling one last. `counterexamples` are
    inputs on which tests on generated inputs failed, as these printed them; the JSON has the key
    where there are any. An attempt that gave earlier files again has the account of their failure,
    which `repeats` names.
    """

    stage: Stage
    command: str | None = None
    exit_code: int | None = None
    primary_error_excerpt: Annotated[str, Field(max_length=MAX_EXCERPT_CHARACTERS)]
    constraints_reminder: str = ""
    log: str | None = None
    facts: Annotated[tuple[Fact, ...], Field(max_length=MAX_FACTS)] = ()
    counterexamples: Counterexamples = ()
    remedy: Remedy = ""
    repeats: Repeats = None

    @property
    def failure(self) -> Failure:
        """Return the failure, as summaries record it."""
        return Failure(
            stage=self.stage,
            command=self.command,
            exit_code=self.exit_code,
            excerpt=self.primary_error_excerpt,
            remedy=self.remedy,
            repeats=self.repeats,
        )

    @property
    def excerpt(self) -> str:
        """Return the output of the failed command, as far as it is quoted."""
        return self.primary_error_excerpt


class SandboxRecord(_Record):
    """Describe the sandbox of a command: `guarantees` maps each guarantee to whether it held.

    `limits` apply to the command with its children, in bytes, seconds and processes.
    """

    backend: str
    version: str
    guarantees: dict[str, bool]
    limits: dict[str, int]

    @property
    def held(self) -> tuple[str, ...]:
        """Return the guarantees that held."""
        return tuple(name for name, holds in self.guarantees.items() if holds)

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the guarantees that did not hold."""
        return tuple(name for name, holds in self.guarantees.items() if not holds)


_UNKNOWN_SANDBOX: Final = SandboxRecord(backend="", version="", guarantees={}, limits={})


class CmdResult(_Record):
    """Describe how one command ended.

    The `*_trunc` fields hold the head and the tail of the output; the files at `*_path` hold all
    of it. `tests` is `None` where no known test runner wrote the output. `doubt` says why an exit
    with 0 shows no success; the code is then 1. `undone` names the files that the command changed
    or made, which was undone after it. The first version named a sandbox by one word, which is read
    as a sandbox without a `backend`.
    """

    command: tuple[str, ...]
    exit_code: int
    cause: str = "exited"
    stdout_trunc: str = ""
    stderr_trunc: str = ""
    stdout_path: str = ""
    stderr_path: str = ""
    duration_seconds: float = 0.0
    sandbox: SandboxRecord = _UNKNOWN_SANDBOX
    note: str = ""
    flaky: bool = False
    tests: CountedTests | None = None
    doubt: Annotated[str, Field(exclude_if=not_)] = ""
    undone: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()


class AskedAgain(_Record):
    """Say why a model was asked again within an attempt, and what it was told.

    `reason` is `unreadable`, `unchanged`, `repeated` or `hollow`.
    """

    reason: str
    note: str


class QuotedFile(_Record):
    """Name a file of the repo that a prompt quotes, and the SHA-256 of its bytes."""

    path: str
    sha256: str


class AgentRecord(_Record):
    """Name the agent that proposed, and count what it took.

    `sha256` is the hash of its executable. `masks` name what was left out of the agent's calls
    when they were compared with those on record. `dropped` are the paths that it changed although
    the order does not allow it, and `account` says in words what llmch removed, refused or ended.
    Where the proposal is a commit carried over from another branch, `version` is that commit,
    `merged` are the files that both branches changed, and `replies` has the hashes of the replies
    that the commit was made from.
    """

    name: str
    version: str = ""
    sha256: str = ""
    calls: int = 0
    masks: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    merged: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()
    replies: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()


ProposedBy = Annotated[AgentRecord | None, Field(exclude_if=not_)]
"""The agent that proposed; absent from the JSON where the model's own reply is the proposal."""


class AttemptRecord(_Record):
    """Describe one pass through propose, apply and judge.

    `repeats` is the attempt whose files were given again; they were not judged a second time.
    """

    attempt_index: int
    temperature: float | None = None
    questions: tuple[AskedAgain, ...] = ()
    repeats: int | None = None
    baseline_commit: str = ""
    proposal_path: str | None = None
    touched_files: tuple[str, ...] = ()
    write_ok: bool = False
    unjudged: str = ""
    """Why the type checker could not judge the writes against their contract; empty if it could."""
    verify: tuple[CmdResult, ...] = ()
    acceptance: tuple[CmdResult, ...] = ()
    exempt: Exempt = ""
    warnings: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    conventions: QuotedFile | None = None
    """The file of conventions that the last prompt quotes."""
    model: str | None = None
    repairs: tuple[str, ...] = ()
    replies: tuple[ReplyRecord, ...] = ()
    agent: ProposedBy = None
    strength: Measured = None
    failure_brief: FailureBrief | None = None


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
    run_id: str = ""
    run_dir: str = ""
    branch: str = ""
    commit: str | None = None
    parent: str = ""
    attempts: int = 0
    failure: Annotated[Failure, WrapSerializer(_without_empty_keys)] | None = None
    warnings: tuple[str, ...] = ()
    flags: tuple[CommandFlag, ...] = ()
    usage: UsageRecord = UNKNOWN_USAGE
    verified_by: VerifiedBy | None = None
    """The commands that passed on the order's commit; `None` where this run made no commit."""
    repo_tree_hash_after: str | None = None
    attempt_records: tuple[AttemptRecord, ...] = ()
    pushed: Pushed = None


class BatchSummary(_Record):
    """Summarise the run of a manifest: the document of `run-all --json`."""

    verdict: VerdictWord
    run_id: str = ""
    run_dir: str = ""
    branch: str = ""
    base: str = ""
    tip: str = ""
    orders: tuple[RunSummary, ...] = ()
    usage: UsageRecord = UNKNOWN_USAGE
    pushed: Pushed = None
