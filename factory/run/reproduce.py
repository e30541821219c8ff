"""Works on commits beside the runs: runs a failed command again, judges a commit, tries a plan's
commands.

Nothing is asked, nothing lands, and no run is disturbed: the repo's lock is not taken.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from factory.attempt.apply_proposal import stage_files, write_files
from factory.judging.contract import warm_tools
from factory.judging.judgement import Judgement
from factory.judging.proof import KnownCommits
from factory.judging.run_checks import parse_check, run_to_its_end
from factory.landing.stand_in import StandIn
from factory.orders.model_choice import ModelChoice
from factory.orders.task import CommandSettings, OrderTask, RunOptions, command_settings
from factory.preflight import Repo, RepoPlace, find_repo, printable
from factory.record.runs_on_record import AttemptOnRecord, RunDocument
from factory.run.baseline import Baseline
from factory.run.recovery import deferring_signals
from factory.sandbox.policy import Cause, Ended, SessionEnded
from factory.sandbox.supervision import Show
from factory.workbench.dependencies import choose_python
from factory.workbench.judging_tools import SandboxRunner
from factory.workbench.pool import Workbench, WorkbenchPool, registered, sweep_side_workspaces
from factory.workbench.tree import NotReadable, Tree, baseline_of
from shared.errors import InvalidInput, LlmchError, PreflightRefused
from shared.events.events import Emit, Warned, ignore
from shared.files.paths import PathProblem, check_path, is_git_path
from shared.git import refs, repos
from shared.languages.language_tools import ToolMissing, ToolResult, ToolRunner, Tools
from shared.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Reproduced:
    """Hold the command that failed in the attempt, and how it ended now."""

    attempt: AttemptOnRecord
    command: str
    ended: Ended


@dataclass(frozen=True, slots=True)
class UserTerminal:
    """Hold the descriptors of the user's terminal; `announce` is called before it is taken over."""

    keyboard: int
    screen: int
    announce: Callable[[], None]


def failed_command(attempt: AttemptOnRecord) -> str:
    """Return the command that an attempt failed on.

    Raises `InvalidInput`, which says what to do instead, where the attempt failed on none.
    """
    if attempt.brief is not None and attempt.brief.command and attempt.written:
        return attempt.brief.command
    name = attempt.describe()
    if attempt.brief is not None and (repeats := attempt.brief.repeats):
        raise InvalidInput(
            f"{name} gave the files of attempt {repeats.attempt} again: no command ran on them",
            f"`llmch repro {attempt.order} {repeats.attempt}` runs the command that they failed on",
        )
    if attempt.passed:
        raise InvalidInput(f"{name} passed: there is no failure to reproduce", _earlier(attempt))
    if attempt.brief is None:
        raise InvalidInput(f"{name} was cut off before a command failed", _look(attempt))
    raise InvalidInput(f"{name} failed on no command: {attempt.brief.stage}", _look(attempt))


def reproduce(
    attempt: AttemptOnRecord, place: RepoPlace, options: RunOptions, emit: Emit, show: Show
) -> Reproduced:
    """Run the command that failed on the attempt's files again; `show` gets its output.

    Raises as `failed_command` and `rejected_tree` do.
    """
    command = failed_command(attempt)
    with rejected_tree(attempt, place, options, emit) as bench:
        ended = run_to_its_end(
            parse_check(command),
            bench.sandbox,
            seconds=options.settings.timeout_seconds,
            log=bench.workspace.root.parent / "repro",
            show=show,
        )
    return Reproduced(attempt, command, ended)


def open_shell(
    attempt: AttemptOnRecord,
    place: RepoPlace,
    options: RunOptions,
    emit: Emit,
    terminal: UserTerminal,
) -> SessionEnded:
    """Open a shell on the user's terminal, in the sandbox, on the attempt's files.

    Raises as `rejected_tree` does.
    """
    term = os.environ.get("TERM", "dumb")
    argv = ("env", f"TERM={term}", f"PS1={attempt.order} \\W\\$ ", "bash", "--norc", "-i")
    with rejected_tree(attempt, place, options, emit) as bench:
        terminal.announce()
        return bench.sandbox.attach(argv, terminal.keyboard, terminal.screen)


@contextlib.contextmanager
def rejected_tree(
    attempt: AttemptOnRecord, place: RepoPlace, options: RunOptions, emit: Emit
) -> Iterator[Workbench]:
    """Lend a workbench whose tree has the attempt's files on its base, staged as they were.

    The workspace is removed when the block ends, and by the next run or `repro` if this process is
    killed. Raises `InvalidInput` if the attempt wrote no files, and `PreflightRefused` if
    they cannot be written on the base again.
    """
    _refuse_unwritten(attempt)
    sweep_side_workspaces(place.git, place.common_dir)
    baseline = baseline_of(place.git, attempt)
    with (
        open_pool_beside_runs(baseline, place, options, emit) as (_, pool),
        pool.lend(baseline) as bench,
    ):
        _put(bench, attempt)
        bench.follow_manifests()
        yield bench


@contextlib.contextmanager
def open_pool_beside_runs(
    commit: str, place: RepoPlace, options: RunOptions, emit: Emit
) -> Iterator[tuple[Repo, WorkbenchPool]]:
    """Open workbenches that the next start removes if this process is killed.

    The first one is opened on `commit` at once. Raises `SandboxUnavailable`.
    """
    with registered(place.common_dir) as register:
        git = place.git.holding(register.descriptor)
        whereabouts = (git, place.tree, place.git_dir, place.common_dir, place.ignored_filters)
        repo = Repo(*whereabouts, head=commit, branch="")
        pool = WorkbenchPool(options, repo, register, register.owner, emit)
        try:
            pool.prepare(commit)
            yield repo, pool
        finally:
            with deferring_signals():
                pool.close()


def recorded_options(
    attempt: AttemptOnRecord, options: RunOptions, place: RepoPlace, emit: Emit
) -> RunOptions:
    """Return `options` with the choices that the attempt's run made for its commands.

    See `options_of_run`.
    """
    return options_of_run(attempt.run.head, attempt.run.folder, options, place, emit)


def options_of_run(
    head: RunDocument, folder: Path, options: RunOptions, place: RepoPlace, emit: Emit
) -> RunOptions:
    """Return `options` with the choices for commands of the run in `folder`, whose head is `head`.

    A record that came with the repo's commits is a stranger's word: it could switch the sandbox
    off. So it is not followed, and neither is one that cannot be read.
    """
    try:
        recorded = CommandSettings.model_validate(head.commands)
    except ValidationError:
        return options
    if recorded == command_settings(options):
        return options
    if _came_with_the_repo(folder, place):
        text = "the run's record is among the repo's own files: its settings are not followed"
        emit(Warned(text))
        return options
    return recorded.applied_to(options)


def _came_with_the_repo(folder: Path, place: RepoPlace) -> bool:
    """Return whether git tracks the record, or a repo inside the repo holds it."""
    folder = folder.resolve()
    if not folder.is_relative_to(place.tree):
        return False
    layout = repos.layout(place.git.at(folder))
    if layout is None or layout[0] != place.tree:
        return True
    name = str(folder.relative_to(place.tree))
    tracked = place.git.try_run("ls-files", "-z", "--", f"{name}/run.json")
    return bool(tracked.exit_code or tracked.stdout)


def _refuse_unwritten(attempt: AttemptOnRecord) -> None:
    if attempt.proposal is None:
        raise InvalidInput(f"{attempt.describe()} proposed nothing", _look(attempt))
    if not attempt.written:
        raise InvalidInput(
            f"the files of {attempt.describe()} were never written, so no command ran on them",
            _look(attempt),
        )


def _put(bench: Workbench, attempt: AttemptOnRecord) -> None:
    tree = bench.workspace.tree
    for path in attempt.removed:
        _remove(path, tree, attempt)
    for write in attempt.writes:
        if problem := _problem_with(write.path, write.base_sha256, tree):
            raise _cannot_apply(attempt, f"{printable(write.path)} {problem}")
    refusals = (
        write_files(tree, attempt.writes)
        or stage_files(bench.workspace.git, attempt.writes, attempt.removed).refusals
    )
    if refusals:
        raise _cannot_apply(attempt, refusals[0].message)


def _remove(path: str, tree: Tree, attempt: AttemptOnRecord) -> None:
    if not _is_usable(path):
        raise _cannot_apply(attempt, f"{printable(path)} is not a path that an order may remove")
    try:
        tree.remove(path)
    except (OSError, NotReadable) as error:
        raise _cannot_apply(attempt, f"{printable(path)} was not removed: {error}") from error


def _problem_with(path: str, base_sha256: str, tree: Tree) -> str:
    if not _is_usable(path):
        return "is not a path that a proposal may have"
    return "" if tree.state_of(path).sha256 == base_sha256 else "has other content there"


def _is_usable(path: str) -> bool:
    try:
        return check_path(path) == path and not is_git_path(path)
    except PathProblem:
        return False


def _cannot_apply(attempt: AttemptOnRecord, problem: str) -> PreflightRefused:
    return PreflightRefused(
        f"{attempt.describe()} no longer applies to the commit {attempt.baseline[:12]}: {problem}",
        f"`llmch diff {attempt.order} {attempt.number}` shows what it changed",
    )


def _earlier(attempt: AttemptOnRecord) -> str:
    if attempt.number > 1:
        return f"name an earlier attempt: `llmch repro {attempt.order} {attempt.number - 1}`"
    return f"`llmch repro {attempt.order} --shell` opens a shell on its files"


def _look(attempt: AttemptOnRecord) -> str:
    return f"`llmch diff {attempt.order} {attempt.number}` shows what is on record of it"


@dataclass(frozen=True, slots=True)
class CommitJudge:
    """Judge commits as if attempts at orders had made them. Nothing is moved or written."""

    options: RunOptions
    repo: Repo
    pool: WorkbenchPool
    tools: Tools
    emit: Emit

    def judge(
        self, commit: str, task: OrderTask, changed: frozenset[str], base_folder: Path
    ) -> Judgement:
        """Return the commands that judged a commit, and why it does not do what the order asks for.

        The task's base is the parent, and `changed` are the files that differ from it. Where the
        user allows failures, the parent is verified too, with records in `base_folder`. So it is
        where a command finds nothing to run on the commit: it may have found nothing before.
        """
        known, pool = KnownCommits(), self.pool
        base = Baseline(self.options, self.repo, pool, base_folder, known, self.emit)
        if self.options.allow_red:
            base.verify(task.base, task.exemption)
        judge = StandIn(self.options, self.repo.git, pool, self.tools, known, self.emit)
        judged = judge.judge(commit, task, changed)
        if self.options.allow_red or not judged.found_nothing:
            return judged
        with contextlib.suppress(PreflightRefused):  # then the parent is red in another way
            base.verify(task.base, task.exemption)
            return judge.judge(commit, task, changed)
        return judged


@contextlib.contextmanager
def open_judge(
    commit: str, place: RepoPlace, options: RunOptions, emit: Emit
) -> Iterator[CommitJudge]:
    """Open what judges commits; the first workbench is opened on `commit` at once.

    Raises `SandboxUnavailable`.
    """
    with (
        open_pool_beside_runs(commit, place, options, emit) as (repo, pool),
        contextlib.closing(warm_tools(options.settings.sandbox, place.tree)) as tools,
    ):
        yield CommitJudge(options, repo, pool, tools, emit)


class DryRunner:
    """Implement `ToolRunner` on the files that a plan begins with, as a run would show them.

    Without a repo, or without a commit in it, there are none. Everything is opened by the first
    run. Several threads may ask; they take turns.
    """

    def __init__(
        self, settings: Settings, repo: Path | None, branch: str | None, start: str | None
    ) -> None:
        """Begin with the tip of `branch` where that exists, else with `start`, else with HEAD."""
        self._settings = settings
        self._repo = repo
        self._begin = (branch, start or "HEAD")
        self._lock = threading.Lock()
        self._opened = ExitStack()
        self._bench: Workbench | None = None
        self._bare: ToolRunner | None = None

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run `argv` on the tree with `files` in it. Raises `ToolMissing` as the protocol says."""
        with self._lock:
            try:
                if self._bench is None and self._bare is None:
                    self._open()
                if self._bare is not None:
                    return self._bare.run(files, argv, seconds=seconds)
                assert self._bench is not None, "one of both is open"
                return _run(self._bench, files, argv, seconds)
            except (LlmchError, OSError) as error:
                raise ToolMissing(f"{argv[0]} could not be run: {error}") from error

    def _open(self) -> None:
        python = choose_python(self._settings.python, self._repo).python
        commit = ""
        if self._repo is not None:
            place = find_repo(self._repo)
            branch, start = self._begin
            tip = refs.tip_of_branch(place.git, branch) if branch else None
            commit = tip or refs.commit_of(place.git, start) or ""
        if self._repo is None or not commit:
            self._bare = SandboxRunner(self._settings.sandbox, self._repo, python)
            return
        options = RunOptions(self._repo, self._settings, ModelChoice(()), python)
        _, pool = self._opened.enter_context(open_pool_beside_runs(commit, place, options, ignore))
        self._bench = self._opened.enter_context(pool.lend(commit))

    def close(self) -> None:
        """Remove all folders. Nothing may be running."""
        with self._lock:
            if self._bare is not None:
                self._bare.close()
            self._bench = self._bare = None
            self._opened.close()


def _run(
    bench: Workbench, files: Mapping[str, str], argv: Sequence[str], seconds: float
) -> ToolResult:
    tree = bench.workspace.tree
    log = bench.workspace.root.parent / "dry-run"
    try:
        for path, text in files.items():
            tree.write(path, text.encode("utf-8", "replace"))
        ended = bench.sandbox.run(argv, timeout_seconds=seconds, log=log)
    except NotReadable as refused:
        raise ToolMissing(f"{argv[0]} was not run: a file is in the way ({refused})") from refused
    finally:
        bench.restore()
    exit_code = ended.exit_code if ended.cause is Cause.EXITED else None
    if ended.cause is Cause.NOT_FOUND:
        raise ToolMissing(f"{argv[0]} is not installed")
    return ToolResult(exit_code, ended.stdout.text, ended.stderr.text)
