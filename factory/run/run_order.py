"""Begins a run, opens what it needs, and executes one order."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from factory.agents import run_agent
from factory.attempt.attempt_state import Run
from factory.judging.contract import warm_tools
from factory.judging.proof import KnownCommit, KnownCommits, sum_of
from factory.landing.land import Landing, Notary
from factory.orders.documents import RunSummary
from factory.orders.order_commit import AS_REPOSITORY, CommitTerms
from factory.orders.read_orders import NOT_EXEMPT, LoadedOrder, read_order
from factory.orders.stages import NOTHING_DECIDED, Decision
from factory.orders.task import RunOptions
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
from factory.record.journal import (
    accepted_commits,
    decisions_of,
    is_settled,
    open_journal,
    with_hints,
)
from factory.record.journal_entries import RunBegun
from factory.record.landed import find_landed, plan_branch, style_of
from factory.record.run_status import StateFile
from factory.record.summary import public_json
from factory.run import reproduce
from factory.run.baseline import NOTHING_TO_RUN, Baseline
from factory.run.execution import Execution
from factory.run.forecast import announce_forecast
from factory.run.recovery import deferring_signals, recover, run_that_was_cut_off
from factory.run.run_request import (
    Request,
    after_interruption,
    commit_terms,
    describe_run,
    exemption_warnings,
    files_changed_since,
    find_exemptions,
    note_found_by_content,
    refuse_files_in_the_way,
    remaining_orders,
    run_begun,
)
from factory.run.session import Outset, Session
from factory.workbench.pool import WorkbenchPool
from factory.workbench.workspace import workspaces_root
from shared.errors import InterruptedRun, InvalidInput, LlmchError, PreflightRefused
from shared.events.events import Emit, Warned
from shared.events.run_record import RunFolder, new_run_folder, new_run_id, recorded_run
from shared.files.atomic_io import make_folder, write_json
from shared.git import trees
from shared.git.client import Git
from shared.languages.language_tools import Tools
from shared.languages.registry import is_test_file
from shared.llm.replayed_replies import EarlierRun
from shared.llm.stack import Mode, ModelSource, open_model


def run_order(path: Path, options: RunOptions, source: ModelSource, emit: Emit) -> RunSummary:
    """Run the order in `path` and return its summary; an order that has landed is left alone.

    Raises `InvalidInput`, `PreflightRefused`, `Busy` or `SandboxUnavailable` before anything is
    changed, and the model layer's error where asking again would not help.
    """
    with begin_run(Request("run", path, (read_order(path),), options, source), emit) as session:
        task = session.task(0, session.tip, session.run.folder.path)
        if commit := session.outset.landed.landed.get(task.name):
            summary, error = session.skip(task, commit), None
        else:
            session.verify_base(0)
            if source.mode is Mode.LIVE:
                announce_forecast((task.loaded,), session.run, session.tip, f"order {task.name}")
            summary, error = session.execute(task)
        session.results["summary"] = public_json(summary)
        if error:
            raise error
        if summary.state.is_on_branch:
            summary = summary.model_copy(update={"pushed": session.push()})
            session.results["summary"] = public_json(summary)
    if options.out is not None:
        write_json(options.out / f"{summary.run_id}.json", public_json(summary))
    return summary


@contextlib.contextmanager
def begin_run(request: Request, emit: Emit) -> Iterator[Session]:
    """Open all that a run works with; when the block ends, it is closed in reverse.

    The first workbench is opened at once, so that a missing sandbox is reported before anything
    is done. Raises as `run_order` does.
    """
    options = request.options
    if options.settings.factory.agents and request.source.mode is Mode.LIVE:
        run_agent.check_proposers(options.settings)
    with contextlib.ExitStack() as opened:
        repo, earlier, cut_off = opened.enter_context(hold_repo(options, emit))
        prepare_export(repo, options.out)
        run_id = new_run_id()
        request, outset = _look_at(request, repo, cut_off)
        outset = replace(outset, earlier=earlier)
        target = outset.target
        folder = new_run_folder(options.settings.artifacts_dir, "factory", run_id)
        journal = opened.enter_context(open_journal(repo.common_dir, StateFile(repo.common_dir)))
        journal.record(run_begun(request, folder, target, earlier, outset.terms))
        head = describe_run(request, target, outset.terms)
        recording = opened.enter_context(recorded_run(folder, head, emit))
        opened.enter_context(_ensure_summary(folder))
        note_found_by_content(outset.landed, recording.emit)
        model = opened.enter_context(
            open_model(request.source, folder.path, recording.emit, earlier)
        )
        # These imports take most of a run's start.
        # An interrupt in the midst of an import can leave it waiting for ever for Python's lock.
        threading.Thread(target=request.import_ahead, name="import ahead", daemon=True).start()
        pool = WorkbenchPool(options, repo, journal, run_id, recording.emit)
        tools = warm_tools(options.settings.sandbox, repo.tree)
        opened.callback(_close, tools, pool, recording.results)
        pool.prepare(target.tip)
        run = Run(
            options, repo, journal, model, folder, pool, tools, KnownCommits(), recording.emit
        )
        for text in outset.warnings:
            run.emit(Warned(text))
        session = Session(
            request,
            outset,
            run,
            recording.results,
            Baseline(options, repo, pool, folder.path / "base", run.known, run.emit),
            Landing(repo.git, repo.common_dir, target.branch, run_id),
            Notary(repo.git, run_id, run.emit),
            Execution(run),
            target.tip,
            target.exists,
        )
        try:
            yield session
        except KeyboardInterrupt as interrupt:
            raise InterruptedRun(after_interruption(session.continuation)) from interrupt
        finally:
            with deferring_signals():
                session.finish_notes()


def _close(tools: Tools, pool: WorkbenchPool, results: dict[str, Any]) -> None:
    with deferring_signals():
        tools.close()
        if left := pool.close():
            results["rollback_failed"] = list(left)


@contextlib.contextmanager
def hold_repo(
    options: RunOptions, emit: Emit
) -> Iterator[tuple[Repo, tuple[EarlierRun, ...], RunBegun | None]]:
    """Hold the repo, clean up after a run that was cut off, and check that work can begin.

    Yield the repo, the runs whose replies are used again, and how the last run began, if it was
    killed or interrupted.
    """
    place = find_repo(options.repo, allow_repo_filters=options.allow_repo_filters)
    with hold(place.common_dir) as lock:
        place = replace(place, git=place.git.holding(lock))
        earlier = recover(place.git, place.common_dir, emit)
        cut_off = run_that_was_cut_off(place.common_dir)
        detached = options.branch is not None
        repo = inspect_repo(place, allow_dirty=options.allow_dirty, allow_detached=detached)
        yield repo, earlier, cut_off


def _look_at(request: Request, repo: Repo, cut_off: RunBegun | None) -> tuple[Request, Outset]:
    """Return the request with the hints of its orders, and the facts before the run begins.

    Raises `PreflightRefused` if the branch or the files do not allow the run.
    """
    options, orders = request.options, request.orders
    branch = options.branch or plan_branch(repo.git, orders)
    target = choose_target(
        repo, branch, options.policy, options.settings.protected_branches, options.start
    )
    decisions = decisions_of(repo.common_dir, target.branch, orders)
    request = replace(request, orders=with_hints(orders, decisions))
    landed = find_landed(repo.git, branch, target.tip, orders)
    landed = landed.with_accepted(accepted_commits(decisions, landed.first_parents))
    exemptions = find_exemptions(
        orders, landed, repo.git, options.settings.verify, allow=options.allow_verify_exempt
    )
    changed = files_changed_since(repo.git, request, landed)
    remaining = remaining_orders(request, landed)
    if request.command == "run":
        open_orders = [each for each in remaining if each.order.id not in landed.landed]
        _refuse_left_out(open_orders, decisions, target.branch)
    to_make = [each for each in remaining if not is_settled(decisions.get(each.order.id))]
    refuse_files_in_the_way(repo, target, to_make)
    warnings = (
        *_warnings_about(repo, target),
        *changed,
        *(text for each in orders for text in each.warnings),
        *exemption_warnings(orders, exemptions),
    )
    plan = orders[0].plan
    base = (plan and landed.begun_on(plan)) or target.tip
    terms = _terms(request, repo, cut_off, target, base)
    return request, Outset(target, landed, decisions, exemptions, terms, warnings)


def _refuse_left_out(
    orders: Sequence[LoadedOrder], decisions: Mapping[str, Decision], branch: str
) -> None:
    for each in orders:
        name = each.order.id
        if reason := decisions.get(name, NOTHING_DECIDED).left_out:
            raise PreflightRefused(
                f"{name} is left out on {branch}: {reason}",
                f"`llmch skip {name} --undo` takes it up again",
            )


def _warnings_about(repo: Repo, target: TargetBranch) -> Iterator[str]:
    """Yield what a run does otherwise than the owner may think who looks at the repo."""
    if target.upstream:
        yield f"{target.branch} goes on from {target.upstream} at {target.tip[:10]}"
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


def _terms(
    request: Request, repo: Repo, before: RunBegun | None, target: TargetBranch, base: str
) -> CommitTerms:
    """Return the terms of the commits. Their style is that of `base`, whatever lands meanwhile."""
    if before and (before.branch, before.orders) != (target.branch, request.listed):
        before = None  # this run does other work
    options = request.options
    terms = commit_terms(repo.git, options.settings.commit, before)
    if terms.subject == AS_REPOSITORY:
        terms = replace(terms, subject=style_of(repo.git, base))
    return replace(terms, date=options.date) if options.date else terms


def prepare_export(repo: Repo, folder: Path | None) -> None:
    """Make the folder for an exported summary, before anything else is done.

    Raises `InvalidInput` if the folder would lie in the target repo, and `CommandFailed` if
    it cannot be made.
    """
    if folder is None:
        return
    if folder.resolve().is_relative_to(repo.tree.resolve()):
        raise InvalidInput(
            f"--out {folder} is inside the target repo", "choose a folder outside the repo"
        )
    make_folder(folder)


def check_before_plan(options: RunOptions, emit: Emit, *, verify: bool) -> None:
    """Raise the refusals that the orders of a plan would meet, whatever the plan is.

    With `verify`, the base is verified as `Baseline` does, unless `options` allow it to be red. The
    run of the orders then finds the verdict and does not verify the base again. Nothing of this
    goes into the records of a run. Raises as `factory.run.run_order.run_order` does.
    """
    if verify and options.settings.factory.agents:
        run_agent.check_proposers(options.settings)
    with hold_repo(options, emit) as (repo, _, _):
        prepare_export(repo, options.out)
        base = _base_of(repo, options)
        if verify and not options.allow_red:
            _verify(base, repo, options, emit)


def _base_of(repo: Repo, options: RunOptions) -> str:
    """Return the commit that the plan's orders start from; a plan's own branch does not exist."""
    if options.branch is None:
        return start_commit(repo, options.start)
    protected = options.settings.protected_branches
    return choose_target(repo, options.branch, options.policy, protected, options.start).tip


def _verify(base: str, repo: Repo, options: RunOptions, emit: Emit) -> KnownCommit:
    known = KnownCommits()
    with (
        reproduce.open_pool_beside_runs(base, repo, options, emit) as (repo, pool),
        tempfile.TemporaryDirectory(prefix="llmch-base-") as logs,
    ):
        baseline = Baseline(options, repo, pool, Path(logs), known, emit)
        # Where nothing verifies the repo, the first orders of the plan may bring what does, and are
        # then only compiled.
        baseline.verify(base, NOT_EXEMPT if baseline.look(base).is_known else NOTHING_TO_RUN)
    return known.of(base)


@dataclass(frozen=True, slots=True)
class BaseTrial:
    """Hold what the verification of HEAD came to, and what a person can do about it.

    `tests` is the number of tests that ran, `None` where no command counted any.
    """

    ok: bool
    detail: str
    remedy: str = ""
    tests: int | None = None
    commit: str = ""


def try_base(options: RunOptions, emit: Emit) -> BaseTrial:
    """Verify HEAD as a run would that starts from it, which then finds the verdict.

    Raises as `run_order` does.
    """
    place = find_repo(options.repo, allow_repo_filters=options.allow_repo_filters)
    with hold(place.common_dir) as lock:
        place = replace(place, git=place.git.holding(lock))
        repo = inspect_repo(place, allow_dirty=True, allow_detached=True)
        counts = _verify(repo.head, repo, options, emit).tests
    said, tests = f"HEAD {repo.head[:10]} passes its verification", None
    if counts:
        counted = sum_of(counts)
        said, tests = f"HEAD {repo.head[:10]} passes {counted.describe()}", counted.ran
        # Some test runners leave out what is below a folder such as `.cache`.
        if not tests and "/." in str(workspaces_root()) and _has_tests(repo.git, repo.head):
            said += ": if it should, set LLMCH_WORKSPACES to a folder without dots in its path"
    return BaseTrial(ok=True, detail=said, tests=tests, commit=repo.head)


def _has_tests(git: Git, commit: str) -> bool:
    """Return whether a commit has a file that holds tests, in a language that is known."""
    return any(map(is_test_file, trees.files_of(git, commit)))
