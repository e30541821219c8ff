"""Begins a run, opens what it needs, and executes one order."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from factory.judging.contract import warm_tools
from factory.judging.proof import KnownCommits
from factory.landing.land import Landing, Notary
from factory.orders.documents import RunSummary
from factory.orders.order_commit import CommitTerms
from factory.orders.read_orders import LoadedOrder, decide_exempt, read_order
from factory.orders.stages import OrderState
from factory.orders.task import Decision, OrderTask, RunOptions
from factory.preflight import (
    Repo,
    TargetBranch,
    choose_target,
    find_repo,
    hold,
    inspect_repo,
    name_paths,
    start_commit,
)
from factory.record.decisions import accepted_commits, decisions_of, is_settled, with_hints
from factory.record.journal import open_journal
from factory.record.journal_entries import OrderLanded, RunBegun
from factory.record.landed import LandedOrders, find_landed, plan_branch
from factory.record.run_status import StateFile
from factory.record.summary import public_json, summarise_unexecuted
from factory.run.baseline import Baseline
from factory.run.commission import (
    Commission,
    Standing,
    after_interruption,
    commit_terms,
    describe_run,
    files_changed_since,
    note_found_by_content,
    refuse_files_in_the_way,
    remaining_orders,
    run_begun,
)
from factory.run.execution import Execution, RunParts
from factory.run.recovery import deferring_signals, recover, run_that_was_cut_off
from factory.run.session import Session, announce_forecast
from factory.workbench.pool import WorkbenchPool, registered
from shared.errors import InterruptedRun, InvalidInput, LlmchError
from shared.events.events import Emit, OrderSkipped, Warned
from shared.events.run_record import Recording, RunFolder, new_run_folder, new_run_id, recorded_run
from shared.files.atomic_io import make_folder, write_json
from shared.llm.replayed_replies import EarlierRun
from shared.llm.stack import Mode, ModelSource, open_model
from shared.work_order.work_order import VERIFY_SCRIPT


@contextlib.contextmanager
def open_session(
    parts: RunParts, target: TargetBranch, terms: CommitTerms, import_ahead: Callable[[], None]
) -> Iterator[Session]:
    """Open the workbenches and all that works on them, for as long as the block runs.

    `import_ahead` runs in a thread meanwhile: what it imports takes most of a run's start.

    The first workbench is opened at once, so that a missing sandbox is reported before anything
    else. Raises `SandboxUnavailable` then.
    """
    threading.Thread(target=import_ahead, name="import ahead").start()
    options, repo, folder, emit = parts.options, parts.repo, parts.folder, parts.emit
    pool = WorkbenchPool(options, repo, parts.journal, folder.run_id, emit)
    tools, known = warm_tools(options.settings.sandbox, repo.tree), KnownCommits()
    try:
        pool.prepare(target.tip)
        yield Session(
            parts=parts,
            baseline=Baseline(options, repo, pool, folder.path / "base", known, emit),
            landing=Landing(repo.git, repo.common_dir, target.branch, folder.run_id),
            notary=Notary(repo.git, folder.run_id, emit),
            execution=Execution(parts, pool, tools, known),
            terms=terms,
            tip=target.tip,
            branch_exists=target.exists,
        )
    finally:
        with deferring_signals():
            tools.close()
            pool.close()


def skip_order(session: Session, task: OrderTask, commit: str) -> RunSummary:
    """Record and announce that an order has landed before, and return its summary."""
    order, parts = task.order, session.parts
    parts.journal.record(OrderLanded(order.id, commit, skipped=True))
    parts.emit(OrderSkipped(order.id, order.title, commit))
    about = session.circumstances(task, session.tip)
    summary = summarise_unexecuted(OrderState.SKIPPED, about, commit)
    write_json(task.folder / "run_summary.json", summary.model_dump(mode="json"))
    return summary


@dataclass(frozen=True, slots=True)
class OpenRun:
    """Hold a run that has begun: the repo is held, and the run's records are open."""

    commission: Commission
    session: Session
    recording: Recording
    target: TargetBranch
    landed: LandedOrders
    decisions: Mapping[str, Decision]
    """What a person decided about orders, by id."""
    exempt: tuple[bool, ...]
    """For each order, whether it is verified by compiling alone."""

    @property
    def orders(self) -> tuple[LoadedOrder, ...]:
        """Return the orders, each with its hint."""
        return self.commission.orders

    @property
    def standing(self) -> Standing:
        """Return where the run stands now, as far as it decides how the run goes on."""
        commission, session = self.commission, self.session
        moved = session.tip != self.target.tip or self.target.exists != session.branch_exists
        return Standing(commission.options, moved, commission.plan)

    def verify_base(self, first: int) -> None:
        """Verify the commit that the run starts from, as its order at `first` is verified.

        A replay pays for nothing, so it needs to know only what a red base allows. Where the order
        writes the verification script and nothing else says how the base is verified, the code is
        compiled and not run. Raises `PreflightRefused` if the base is red.
        """
        commission, session = self.commission, self.session
        found = session.baseline.announce(session.tip)
        if commission.source.mode is Mode.REPLAY and not commission.options.allow_red:
            return
        writes_script = VERIFY_SCRIPT in commission.orders[first].order.allowed_files
        to_come = writes_script and not found.is_known
        session.baseline.verify(session.tip, exempt=self.exempt[first] or to_come)


def run_order(path: Path, options: RunOptions, source: ModelSource, emit: Emit) -> RunSummary:
    """Run the order in `path` and return its summary; an order that has landed is left alone.

    Raises `InvalidInput`, `PreflightRefused`, `Busy` or `SandboxUnavailable` before anything is
    changed, and the model layer's error where asking again would not help.
    """
    loaded = read_order(path)
    with begin_run(Commission("run", path, (loaded,), options, source, emit)) as run:
        session, recording, (loaded,) = run.session, run.recording, run.orders
        task = OrderTask(loaded, run.exempt[0], session.tip, session.terms, recording.folder.path)
        if commit := run.landed.landed.get(task.name):
            summary, error = skip_order(session, task, commit), None
        else:
            run.verify_base(0)
            if source.mode is Mode.LIVE:
                announce_forecast((loaded,), session, f"order {loaded.order.id}")
            summary, error = session.execute(task)
        recording.results["summary"] = public_json(summary)
        if error:
            raise error
        if summary.state.is_on_branch:
            summary = summary.model_copy(update={"pushed": session.push()})
            recording.results["summary"] = public_json(summary)
    if options.out is not None:
        write_json(options.out / f"{summary.run_id}.json", public_json(summary))
    return summary


@dataclass(frozen=True, slots=True)
class HeldRepo:
    """Hold a repo that no other run can take, with what the run before left for this one.

    `cut_off` says how the run before began, if it was killed or interrupted.
    """

    repo: Repo
    earlier: tuple[EarlierRun, ...]
    cut_off: RunBegun | None


@contextlib.contextmanager
def hold_repo(options: RunOptions, emit: Emit) -> Iterator[HeldRepo]:
    """Hold the repo, clean up after a run that was cut off, and check that work can begin."""
    place = find_repo(options.repo, allow_repo_filters=options.allow_repo_filters)
    with hold(place.common_dir) as lock:
        place = replace(place, git=place.git.holding(lock))
        earlier = recover(place.git, place.common_dir, emit)
        cut_off = run_that_was_cut_off(place.common_dir)
        yield HeldRepo(inspect_repo(place, allow_dirty=options.allow_dirty), earlier, cut_off)


@contextlib.contextmanager
def begin_run(commission: Commission) -> Iterator[OpenRun]:
    """Hold the repo, make the run's folder, open journal, model, workspace and sandbox.

    All of these are closed when the block ends. Raises as `run_order` does.
    """
    options, orders = commission.options, commission.orders
    with hold_repo(options, commission.emit) as held, contextlib.ExitStack() as opened:
        prepare_export(held.repo, options.out, "--out")
        exemptions = [decide_exempt(each, allow=options.allow_verify_exempt) for each in orders]
        run_id = new_run_id()
        branch = options.branch or plan_branch(held.repo.git, orders)
        target = choose_target(
            held.repo, branch, options.policy, options.settings.protected_branches, options.start
        )
        decisions = decisions_of(held.repo.common_dir, target.branch, orders)
        commission = replace(commission, orders=with_hints(orders, decisions))
        landed = find_landed(held.repo.git, branch, target.tip, orders)
        landed = landed.with_accepted(accepted_commits(decisions, landed.first_parents))
        changed = files_changed_since(held.repo.git, commission, landed)
        remaining = remaining_orders(commission, landed)
        to_make = [each for each in remaining if not is_settled(decisions.get(each.order.id))]
        refuse_files_in_the_way(held.repo, target, to_make)
        terms = _terms(commission, held, target)
        folder = new_run_folder(options.settings.artifacts_dir, "factory", run_id)
        watch = StateFile(held.repo.common_dir)
        journal = opened.enter_context(open_journal(held.repo.common_dir, watch))
        journal.record(run_begun(commission, folder, target, held.earlier, terms))
        head = describe_run(commission, target, terms)
        recording = opened.enter_context(recorded_run(folder, head, commission.emit))
        opened.enter_context(_ensure_summary(folder))
        emit = recording.emit
        note_found_by_content(landed, emit)
        model = opened.enter_context(open_model(commission.source, folder.path, emit, held.earlier))
        parts = RunParts(options, held.repo, model, folder, journal, emit)
        session = opened.enter_context(open_session(parts, target, terms, commission.import_ahead))
        for text in (
            *_warnings_about(held.repo),
            *changed,
            *(text for each in orders for text in each.warnings),
            *(warning for _, warning in exemptions if warning),
        ):
            emit(Warned(text))
        exempt = tuple(exempt for exempt, _ in exemptions)
        run = OpenRun(commission, session, recording, target, landed, decisions, exempt)
        try:
            yield run
        except KeyboardInterrupt as interrupt:
            raise InterruptedRun(after_interruption(run.standing)) from interrupt


def _warnings_about(repo: Repo) -> Iterator[str]:
    """Yield what a run leaves out of the repo as its owner sees it."""
    if repo.ignored_filters:
        names = ", ".join(repo.ignored_filters)
        yield (
            f"filters of the repo's own config do not run here: {names} "
            "(--allow-repo-filters runs them)"
        )
    if repo.changed:
        yield f"uncommitted changes are not part of this run: {name_paths(repo.changed)}"


@contextlib.contextmanager
def _ensure_summary(folder: RunFolder) -> Iterator[None]:
    """Write a summary even where the run ends before an order has one."""
    try:
        yield
    except BaseException as error:
        path = folder.path / "run_summary.json"
        if not path.exists():
            cause = error.message if isinstance(error, LlmchError) else repr(error)
            with contextlib.suppress(LlmchError):  # the run's error matters more than the disk's
                write_json(path, {"verdict": "ERROR", "state": "failed", "cause": cause})
        raise


def _terms(commission: Commission, held: HeldRepo, target: TargetBranch) -> CommitTerms:
    before = held.cut_off
    if before and (before.branch, before.orders) != (target.branch, commission.listed):
        before = None  # this run does other work
    options = commission.options
    terms = commit_terms(held.repo.git, options.settings.commit, before)
    return replace(terms, date=options.date) if options.date else terms


def prepare_export(repo: Repo, folder: Path | None, flag: str) -> None:
    """Make the folder for an exported summary, before anything else is done.

    Raises `InvalidInput` where the folder would lie in the target repo, and `CommandFailed` where
    it cannot be made.
    """
    if folder is None:
        return
    if folder.resolve().is_relative_to(repo.tree.resolve()):
        raise InvalidInput(
            f"{flag} {folder} is inside the target repo", "choose a folder outside the repo"
        )
    make_folder(folder)


def check_before_plan(options: RunOptions, emit: Emit, *, verify: bool) -> None:
    """Raise the refusals that the orders of a plan would meet, whatever the plan is.

    With `verify`, the base is verified as `Baseline` does, unless `options` allow it to be red. The
    run of the orders then finds the verdict and does not verify the base again. Nothing of this
    goes into the records of a run. Raises as `factory.run.run_order.run_order` does.
    """
    with hold_repo(options, emit) as held:
        prepare_export(held.repo, options.out, "--out")
        base = _base_of(held.repo, options)
        if verify and not options.allow_red:
            _verify(base, held.repo, options, emit)


def _base_of(repo: Repo, options: RunOptions) -> str:
    """Return the commit that the plan's orders start from; a plan's own branch does not exist."""
    if options.branch is None:
        return start_commit(repo, options.start)
    protected = options.settings.protected_branches
    return choose_target(repo, options.branch, options.policy, protected, options.start).tip


def _verify(base: str, repo: Repo, options: RunOptions, emit: Emit) -> None:
    with (
        registered(repo.common_dir) as register,
        tempfile.TemporaryDirectory(prefix="llmch-base-") as logs,
    ):
        pool = WorkbenchPool(options, repo, register, register.owner, emit)
        try:
            pool.prepare(base)
            baseline = Baseline(options, repo, pool, Path(logs), KnownCommits(), emit)
            # Where nothing verifies the repo, the first orders of the plan may bring what does,
            # and are then only compiled.
            baseline.verify(base, exempt=not baseline.look(base).is_known)
        finally:
            with deferring_signals():
                pool.close()
