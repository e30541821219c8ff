"""Runs the commands that judge a tree, each in the sandbox, and records their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from factory.judging.counting.of_command import tests_of
from factory.judging.excerpt import stable_excerpt, stable_text
from factory.judging.known_commits import NOTHING_KNOWN, KnownCommit
from factory.judging.known_red import KnownRed, RedCheck
from factory.judging.verification import Check, parse_check
from factory.orders.documents import CmdResult, SandboxRecord
from factory.orders.options import RunOptions
from factory.orders.stages import AttemptStage
from factory.orders.task import OrderTask
from factory.record.progress import Progress
from factory.sandbox import Ended, Sandbox
from factory.workbench.tree import Tree
from factory.workbench.workbench import Workbench
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.events.order_commands import CommandEnded, CommandStarted
from shared.files.atomic_io import make_folder, write_json, write_refused
from shared.work_order.schemas import WorkOrder

LookUp = Callable[[], KnownRed]
"""Returns what failed before the order. It may wait, so it is called only where a command fails."""

# The command that is observed has just ended by itself, so it takes as long again and no longer.
_OBSERVATION_SECONDS: Final = 60.0


def _nothing_known() -> KnownCommit:
    return NOTHING_KNOWN


def _keep_to_oneself(known: KnownCommit) -> None:
    """Tell nobody what a verification showed."""


@dataclass(frozen=True, slots=True)
class Judging:
    """Hold what it takes to judge a workbench's tree: task, options, and where the records go.

    `folder` gets results and logs. `written` maps each file that no command may change to its
    hash, and `removed` has the files that no command may bring back. `attempt` is 0 outside an
    attempt. `known` returns what the verification showed before the order, and may wait for it;
    `learn` is told what it shows now, as soon as it passes. `staged` is the tree as git names it;
    empty where it cannot become a commit. `checks` are the commands that verify the tree.
    """

    task: OrderTask
    options: RunOptions
    bench: Workbench
    emit: Emit
    progress: Progress
    folder: Path
    attempt: int = 0
    written: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    known: Callable[[], KnownCommit] = _nothing_known
    learn: Callable[[KnownCommit], None] = _keep_to_oneself
    staged: str = ""
    checks: tuple[Check, ...] = ()

    @property
    def order(self) -> WorkOrder:
        return self.task.order

    @property
    def tree(self) -> Tree:
        return self.bench.workspace.tree

    def name_of(self, log: Path) -> str:
        """Return the path of a log as records spell it, relative to the order's folder."""
        return str(log).removeprefix(f"{self.task.folder}/")

    def excerpt(self, text: str) -> str:
        """Return an output without what differs between machines, cut to an excerpt's bound."""
        return stable_excerpt(text, self.bench.path_names().items())

    def stable(self, text: str) -> str:
        """Return the whole of an output without what differs between machines."""
        return stable_text(text, self.bench.path_names().items())


def try_acceptance(judging: Judging) -> Iterator[tuple[str, CmdResult]]:
    """Run each acceptance command once, whether or not it passes; yield its text and its result.

    No event is emitted, because such a run is not a step of an attempt. Raises as `run_checks`
    does.
    """
    judging.bench.follow_manifests()
    for number, text in enumerate(dict.fromkeys(judging.order.acceptance_commands), 1):
        check = parse_check(text)
        yield text, _result(_execute(check, judging, f"accept_{number}"), judging, "")


def run_check(
    check: Check, judging: Judging, purpose: AttemptStage, known: LookUp, name: str
) -> tuple[CmdResult, Ended]:
    """Run a command, and run a failing one again: one that then passes is flaky, not wrong.

    `known` looks up what may fail, and `name` is that of the log. Raises `CommandFailed` if the log
    is refused.
    """
    result, ended = _run_one(check, judging, purpose, known, name)
    for retry in range(1, judging.options.retry_flaky + 1):
        if check.passes(ended):
            break
        judging.progress.check_cancelled()  # it may have failed because it was killed
        again, ended_again = _run_one(check, judging, purpose, known, f"{name}_again_{retry}")
        if check.passes(ended_again):
            note = f"flaky: failed with exit code {result.exit_code}, passed on run {retry + 1}"
            judging.emit(Warned(f"{judging.order.id}: `{check.text}` is {note}"))
            return again.model_copy(update={"note": note, "flaky": True}), ended_again
        result, ended = again, ended_again
    return result, ended


def _run_one(
    check: Check, judging: Judging, purpose: AttemptStage, known: LookUp, name: str
) -> tuple[CmdResult, Ended]:
    order = judging.order.id
    judging.emit(CommandStarted(order, purpose, check.text))
    ended = _execute(check, judging, name)
    note = _note_on(check, ended, known)
    judging.emit(
        CommandEnded(order, purpose, check.text, ended.exit_code, ended.duration_seconds, note)
    )
    return _result(ended, judging, note), ended


def _note_on(check: Check, ended: Ended, known: LookUp) -> str:
    """Return why a command passes although it failed; "" if it does not pass or did not fail."""
    if check.passes(ended):
        return check.note_for(ended.exit_code) or ""
    now, before = RedCheck.of(ended), known()
    if not before.allows(check.text, now):
        return ""
    return f"red before the order too: {before.checks[check.text].describe()}, {now.describe()} now"


def observe(argv: Sequence[str], judging: Judging, name: str) -> str:
    """Run a command that only shows why another one failed; return its standard error.

    Raises `Interrupted` if the order was cancelled.
    """
    judging.progress.check_cancelled()
    log = make_folder(judging.folder / "logs") / name
    seconds = min(judging.options.settings.timeout_seconds, _OBSERVATION_SECONDS)
    try:
        return judging.bench.sandbox.run(argv, timeout_seconds=seconds, log=log).stderr.text
    except OSError as error:
        raise write_refused(log, error) from error


def _execute(check: Check, judging: Judging, name: str) -> Ended:
    log = make_folder(judging.folder / "logs") / name
    seconds = judging.options.settings.timeout_seconds
    try:
        return judging.bench.sandbox.run(check.argv, timeout_seconds=seconds, log=log)
    except OSError as error:
        raise write_refused(log, error) from error


def _result(ended: Ended, judging: Judging, note: str) -> CmdResult:
    return CmdResult(
        command=ended.argv,
        exit_code=ended.exit_code,
        cause=ended.cause,
        stdout_trunc=judging.excerpt(ended.stdout.text),
        stderr_trunc=judging.excerpt(ended.stderr.text),
        stdout_path=judging.name_of(ended.stdout.log),
        stderr_path=judging.name_of(ended.stderr.log),
        duration_seconds=round(ended.duration_seconds, 3),
        sandbox=_sandbox_record(judging.bench.sandbox),
        note=note or ended.reason,
        tests=tests_of(ended),
    )


def _sandbox_record(sandbox: Sandbox) -> SandboxRecord:
    return SandboxRecord(
        backend=sandbox.backend,
        version=sandbox.version,
        guarantees={str(name): held for name, held in sandbox.guarantees.items()},
        limits=asdict(sandbox.limits),
    )


def record_results(judging: Judging, name: str, results: Sequence[CmdResult]) -> None:
    """Write the results to the file `name` of the folder of records."""
    write_json(
        judging.folder / name,
        [result.model_dump(mode="json") for result in results],
        sync=False,
    )
