"""Judges a tree by verification, postconditions and acceptance, each command in the sandbox.

The tree is what a proposal wrote or, later, what a landing merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from factory.judging.brief import brief_of, brief_of_fault, brief_of_success, with_facts
from factory.judging.counting.of_command import tests_of
from factory.judging.declared import follow_manifests, not_installed
from factory.judging.environment import find_fault
from factory.judging.excerpt import cut, stable_excerpt, stable_text
from factory.judging.failure.account import account_of
from factory.judging.known_commits import NOTHING_KNOWN, KnownCommit
from factory.judging.known_red import NOTHING_RED, KnownRed, RedCheck, more_failures
from factory.judging.proof import find_fewer_tests, verified_by, warnings_on, why_nothing_is_proven
from factory.judging.surroundings import surroundings_of
from factory.judging.tampering import describe_tampering
from factory.judging.unending import likely_cause
from factory.judging.verification import Check, parse_check
from factory.judging.verification_key import verification_key
from factory.orders.documents import CmdResult, FailureBrief, SandboxRecord
from factory.orders.options import RunOptions
from factory.orders.stages import AttemptStage, Stage
from factory.orders.task import OrderTask
from factory.orders.verified_by import CountedTests
from factory.proposal.scope import FileKind, FileState
from factory.record.progress import Progress
from factory.repo.path_names import name_paths
from factory.sandbox import Cause, Ended, Sandbox
from factory.workbench.tree import Tree
from factory.workbench.workbench import Workbench
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.events.order_commands import CommandEnded, CommandStarted
from shared.files.atomic_io import make_folder, write_json, write_refused
from shared.work_order.schemas import WorkOrder

# The command that is observed has just ended by itself, so it takes as long again and no longer.
_OBSERVATION_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Judging:
    """Hold what it takes to judge a workbench's tree: task, options, and where the records go.

    `folder` gets results and logs. `written` maps each file that no command may change to its
    hash. `attempt` is 0 outside an attempt. `known` is what the verification showed before the
    order. `staged` is the tree as git names it; empty where it cannot become a commit. `checks` are
    the commands that verify the tree.
    """

    task: OrderTask
    options: RunOptions
    bench: Workbench
    emit: Emit
    progress: Progress
    folder: Path
    attempt: int = 0
    written: Mapping[str, str] = field(default_factory=dict)
    known: KnownCommit = NOTHING_KNOWN
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """Hold the results of the commands; `brief` says what failed, if anything did.

    `known` is what the verification showed, and `warnings` are what a person should know of checks
    that passed. `verified` is the key of the verification; empty where not all of it passed.
    """

    verify: tuple[CmdResult, ...]
    acceptance: tuple[CmdResult, ...]
    brief: FailureBrief | None
    known: KnownCommit = NOTHING_KNOWN
    verified: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Phase:
    """Hold one series of commands, their results, and the brief of a failure.

    `known` is what may fail, and `red` collects what of it did. `tests` collects the tests that
    commands reported.
    """

    stage: Stage
    purpose: AttemptStage
    known: KnownRed = NOTHING_RED
    results: list[CmdResult] = field(default_factory=list)
    red: dict[str, RedCheck] = field(default_factory=dict)
    tests: dict[str, CountedTests] = field(default_factory=dict)
    brief: FailureBrief | None = None


def run_checks(judging: Judging) -> Judgement:
    """Run every check up to the first that fails. Raises `CommandFailed` if a log is refused."""
    if refused := follow_manifests(judging.bench, judging.order):
        return Judgement((), (), refused)
    verify = _Phase(Stage.VERIFY_FAILED, AttemptStage.VERIFY, judging.known.red)
    key = _verification_key(judging)  # before a command can change what it depends on
    _run_phase(verify, judging.checks, judging)
    fewer = find_fewer_tests(judging.known.tests, verify.tests)
    if verify.brief is None and fewer is not None and fewer.none_left:
        why = f"{fewer.describe()}."
        verify.brief = brief_of_success(verify.stage, judging.order, why, verify.results[-1])
    _record(judging, "verify_result.json", verify.results)
    if verify.brief:
        return Judgement(tuple(verify.results), (), verify.brief)
    acceptance = _Phase(Stage.ACCEPTANCE_FAILED, AttemptStage.ACCEPT)
    missing = [
        each.path for each in judging.order.postconditions if not judging.tree.exists(each.path)
    ]
    if missing:
        problem = f"postcondition not met, no such file: {name_paths(missing)}"
        acceptance.brief = brief_of(acceptance.stage, judging.order, judging.excerpt(problem))
    else:
        commands = tuple(parse_check(each) for each in judging.order.acceptance_commands)
        _run_phase(acceptance, commands, judging)
    _record(judging, "acceptance_result.json", acceptance.results)
    proof = verified_by(verify.results, acceptance.results)
    return Judgement(
        verify=tuple(verify.results),
        acceptance=tuple(acceptance.results),
        brief=acceptance.brief,
        known=KnownCommit(KnownRed(verify.red), verify.tests),
        verified="" if verify.red else key,
        warnings=() if acceptance.brief else tuple(warnings_on(proof, fewer, judging.task)),
    )


def _verification_key(judging: Judging) -> str:
    """Return the key of the verification; "" where its success would not be worth keeping."""
    if judging.task.exempt or not judging.staged:
        return ""
    return verification_key(judging.staged, judging.checks, judging.bench, judging.options)


def try_acceptance(judging: Judging) -> Iterator[tuple[str, CmdResult]]:
    """Run each acceptance command once, whether or not it passes; yield its text and its result.

    No event is emitted, because such a run is not a step of an attempt. Raises as `run_checks`
    does.
    """
    judging.bench.follow_manifests()
    for number, text in enumerate(dict.fromkeys(judging.order.acceptance_commands), 1):
        check = parse_check(text)
        yield text, _result(_execute(check, judging, f"accept_{number}"), judging, "")


def _run_phase(phase: _Phase, checks: Sequence[Check], judging: Judging) -> None:
    """Run the commands up to the first that fails; if none does, check the written files."""
    judging.progress.begin_stage(judging.attempt, phase.purpose)
    for number, check in enumerate(checks, 1):
        result, ended = _run_with_retries(check, judging, phase, f"{phase.purpose}_{number}")
        phase.results.append(result)
        if result.tests is not None:
            phase.tests[check.text] = result.tests
        if check.passes(ended):
            why = why_nothing_is_proven(check.text, result.tests)
            if why and phase.purpose is AttemptStage.ACCEPT:
                phase.brief = brief_of_success(phase.stage, judging.order, why, result)
                return
            continue
        now = RedCheck.of(ended)
        if phase.known.allows(check.text, now):
            phase.red[check.text] = now
            continue
        brief = _failed_command(phase, check, ended, judging)
        phase.brief = _billed(_compared(brief, phase.known, now), ended, judging)
        return
    tampered = _changed_by_commands(judging)
    if tampered:
        problem = describe_tampering(tampered, judging.order)
        phase.brief = brief_of(phase.stage, judging.order, judging.excerpt(problem))


def _compared(brief: FailureBrief, known: KnownRed, now: RedCheck) -> FailureBrief:
    """Return the brief with a first line on what fails beyond what failed before the order."""
    before = known.checks.get(brief.command or "")
    if before is None:
        return brief
    account = f"{more_failures(before, now)}\n{brief.primary_error_excerpt}"
    return brief.model_copy(update={"primary_error_excerpt": cut(account)})


def _billed(brief: FailureBrief, ended: Ended, judging: Judging) -> FailureBrief:
    """Return the brief as a fault of the environment, if that is what made the command fail."""
    around = surroundings_of(judging.bench, judging.options, judging.task.base, judging.written)
    fault = find_fault(ended, around)
    if fault is not None:
        return brief_of_fault(fault, brief)
    if judging.options.install_dependencies:
        return brief
    return with_facts(brief, not_installed(ended, judging.tree, tuple(judging.written)))


def _run_with_retries(
    check: Check, judging: Judging, phase: _Phase, name: str
) -> tuple[CmdResult, Ended]:
    """Run a command, and run a failing one again: one that then passes is flaky, not wrong."""
    result, ended = _run_one(check, judging, phase, name)
    for retry in range(1, judging.options.retry_flaky + 1):
        if check.passes(ended):
            break
        again, ended_again = _run_one(check, judging, phase, f"{name}_again_{retry}")
        if check.passes(ended_again):
            note = f"flaky: failed with exit code {result.exit_code}, passed on run {retry + 1}"
            judging.emit(Warned(f"{judging.order.id}: `{check.text}` is {note}"))
            return again.model_copy(update={"note": note, "flaky": True}), ended_again
        result, ended = again, ended_again
    return result, ended


def _run_one(check: Check, judging: Judging, phase: _Phase, name: str) -> tuple[CmdResult, Ended]:
    order = judging.order.id
    judging.emit(CommandStarted(order, phase.purpose, check.text))
    ended = _execute(check, judging, name)
    note = _note_on(check, ended, phase.known)
    judging.emit(
        CommandEnded(
            order, phase.purpose, check.text, ended.exit_code, ended.duration_seconds, note
        )
    )
    return _result(ended, judging, note), ended


def _note_on(check: Check, ended: Ended, known: KnownRed) -> str:
    """Return why a command passes although it failed; "" if it does not pass or did not fail."""
    if check.passes(ended):
        return check.note_for(ended.exit_code) or ""
    now = RedCheck.of(ended)
    if not known.allows(check.text, now):
        return ""
    return f"red before the order too: {known.checks[check.text].describe()}, {now.describe()} now"


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


def _failed_command(phase: _Phase, check: Check, ended: Ended, judging: Judging) -> FailureBrief:
    account = account_of(
        ended,
        judging.stable(_reason(ended, judging.options.settings.timeout_seconds)),
        judging.stable,
        lambda argv: _observe(argv, judging, f"{phase.purpose}_{len(phase.results)}_values"),
    )
    return brief_of(
        phase.stage,
        judging.order,
        account.excerpt or "(the command printed nothing)",
        command=check.text,
        exit_code=ended.exit_code,
        log=judging.name_of(account.stream.log),
        facts=account.facts,
    )


def _observe(argv: Sequence[str], judging: Judging, name: str) -> str:
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


def _reason(ended: Ended, timeout_seconds: float) -> str:
    match ended.cause:
        case Cause.EXITED:
            return ""
        case Cause.TIMED_OUT:
            ended_after = f"The command was ended after {timeout_seconds:g} seconds."
            cause = likely_cause(f"{ended.stdout.text}\n{ended.stderr.text}")
            return f"{ended_after} {cause}".rstrip()
        case Cause.NOT_FOUND:
            return f"There is no program {ended.argv[0]!r} here."
        case Cause.OUTPUT_LIMIT:
            return "The command was ended because it printed too much."
        case Cause.CPU_LIMIT:
            return "The command was ended because it used too much processor time."
        case Cause.SIGNALLED | Cause.NOT_STARTED:
            return ended.reason or f"The command ended with {ended.cause}."


def _changed_by_commands(judging: Judging) -> list[str]:
    return [
        path
        for path, sha256 in judging.written.items()
        # The hash alone does not decide: a missing file has the hash of an empty one.
        if judging.tree.state_of(path) != FileState(FileKind.FILE, sha256)
    ]


def _record(judging: Judging, name: str, results: Sequence[CmdResult]) -> None:
    write_json(
        judging.folder / name,
        [result.model_dump(mode="json") for result in results],
        sync=False,
    )
