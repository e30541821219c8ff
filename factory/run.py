"""Executes one work order: preflight, workspace, graph, landing, summary."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from factory.batch.status import StateFile
from factory.journal import Step, open_journal
from factory.lock import hold
from factory.options import RunOptions
from factory.orders import LoadedOrder, decide_exempt, read_order
from factory.preflight import (
    Repo,
    Target,
    choose_target,
    find_repo,
    inspect_repo,
)
from factory.recovery import recover, render_earlier
from factory.schemas import RunSummary
from factory.session import Session, open_session
from factory.summary import public_json
from factory.task import OrderTask
from shared.atomic_io import make_folder, write_json
from shared.errors import InvalidInput, LlmchError
from shared.events import Emit, Warned
from shared.llm.resume import Earlier
from shared.llm.stack import ModelSource, open_model, transcript_of
from shared.plan_folder.read import PlanFacts
from shared.run_context import Recording, RunFolder, new_run_folder, new_run_id, recorded_run


def run_order(path: Path, options: RunOptions, source: ModelSource, emit: Emit) -> RunSummary:
    """Run the order in `path` and return what became of it.

    Raises `InvalidInput`, `PreflightRefused`, `Busy` or `SandboxUnavailable` before anything is
    changed, and what the model layer raises where asking again would not help.
    """
    loaded = read_order(path)
    with hold_repo(options, emit) as held:
        prepare_export(held.repo, options.out, "--out")
        exempt, warning = decide_exempt(loaded, allow=options.allow_verify_exempt)
        run_id = new_run_id()
        branch = options.branch or default_branch(loaded.plan, run_id)
        target = choose_target(
            held.repo, branch, options.policy, options.settings.protected_branches, options.start
        )
        head = {"command": "run", "work_order": str(path), **describe_options(options, target)}
        with begin_run(options, source, held, target, run_id, head, [loaded], emit) as (
            session,
            recording,
        ):
            for each in (*loaded.warnings, *filter(None, (warning,))):
                recording.emit(Warned(each))
            task = OrderTask(loaded, exempt, session.tip, session.date, recording.folder.path)
            summary, error = session.execute(task)
            recording.results["summary"] = public_json(summary)
            if error:
                raise error
            if summary.state == "landed":
                summary = summary.model_copy(update={"pushed": session.push()})
                recording.results["summary"] = public_json(summary)
    if options.out is not None:
        write_json(options.out / f"{run_id}.json", public_json(summary))
    return summary


@dataclass(frozen=True, slots=True)
class HeldRepo:
    """A repo that no other run can take, and what the run before left for this one."""

    repo: Repo
    earlier: tuple[Earlier, ...]


@contextlib.contextmanager
def hold_repo(options: RunOptions, emit: Emit) -> Iterator[HeldRepo]:
    """Hold the repo, clear up after a run that was cut off, and see that it can be worked on."""
    place = find_repo(options.repo, allow_repo_filters=options.allow_repo_filters)
    with hold(place.common_dir) as lock:
        place = replace(place, git=place.git.holding(lock))
        earlier = recover(place.git, place.common_dir, emit)
        yield HeldRepo(inspect_repo(place), earlier)


@contextlib.contextmanager
def begin_run(
    options: RunOptions,
    source: ModelSource,
    held: HeldRepo,
    target: Target,
    run_id: str,
    head: Mapping[str, Any],
    orders: Sequence[LoadedOrder],
    emit: Emit,
) -> Iterator[tuple[Session, Recording]]:
    """Make the run's folder, open journal, model, workspace and sandbox; close all of it."""
    repo = held.repo
    folder = new_run_folder(options.settings.artifacts_dir, "factory", run_id)
    with contextlib.ExitStack() as opened:
        journal = opened.enter_context(open_journal(repo.common_dir, StateFile(repo.common_dir)))
        journal.record(
            Step.RUN_BEGUN,
            run_id=run_id,
            pid=os.getpid(),
            started=folder.started.isoformat(timespec="milliseconds"),
            folder=str(folder.path),
            orders=[{"id": each.order.id, "title": each.order.title} for each in orders],
            branch=target.branch,
            base=target.tip,
            transcript=str(transcript_of(source, folder.path)),
            earlier=render_earlier(held.earlier),
        )
        recording = opened.enter_context(recorded_run(folder, head, emit))
        opened.enter_context(_summary_in_any_case(folder))
        model = opened.enter_context(open_model(source, folder.path, recording.emit, held.earlier))
        session = opened.enter_context(
            open_session(options, repo, target, model, folder, journal, recording.emit)
        )
        if repo.ignored_filters:
            names = ", ".join(repo.ignored_filters)
            recording.emit(
                Warned(
                    f"filters of the repo's own config do not run here: {names} "
                    "(--allow-repo-filters runs them)"
                )
            )
        yield session, recording


@contextlib.contextmanager
def _summary_in_any_case(folder: RunFolder) -> Iterator[None]:
    """Leave a summary also where the run ends before there is anything of an order to tell."""
    try:
        yield
    except BaseException as error:
        path = folder.path / "run_summary.json"
        if not path.exists():
            cause = error.message if isinstance(error, LlmchError) else repr(error)
            with contextlib.suppress(LlmchError):  # what ended the run is told, not the disk
                write_json(path, {"verdict": "ERROR", "state": "failed", "cause": cause})
        raise


def default_branch(plan: PlanFacts | None, run_id: str) -> str:
    """Return the branch for the orders of a plan, or for an order of no plan."""
    return f"factory/{plan.planner_run_id}" if plan else f"factory/adhoc/{run_id}"


def describe_options(options: RunOptions, target: Target) -> dict[str, Any]:
    """Return what `run.json` says of how a run was asked for."""
    return {
        "repo": str(options.repo.resolve()),
        "branch": target.branch,
        "base": target.tip,
        "model": options.models.model(1),
        "temperature": options.models.temperature,
        "max_attempts": options.settings.factory_attempts,
        "timeout_seconds": options.settings.timeout_seconds,
        "sandbox": options.settings.sandbox.backend,
        "python": str(options.python),
    }


def prepare_export(repo: Repo, folder: Path | None, flag: str) -> None:
    """Make the folder that a summary is exported to, before anything else is done.

    Raises `InvalidInput` where it would lie in the repo it is about, `CommandFailed` where the
    disk refuses.
    """
    if folder is None:
        return
    if folder.resolve().is_relative_to(repo.tree.resolve()):
        raise InvalidInput(
            f"{flag} {folder} is inside the target repo", "choose a folder outside of it"
        )
    make_folder(folder)
