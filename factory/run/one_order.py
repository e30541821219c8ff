"""Executes one work order: preflight, workspace, graph, landing, summary."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from factory.orders.command_settings import command_settings
from factory.orders.documents import RunSummary
from factory.orders.options import RunOptions
from factory.orders.order_state import OrderState
from factory.orders.read import LoadedOrder, decide_exempt, read_order
from factory.orders.task import OrderTask
from factory.record.journal import open_journal
from factory.record.journal_entries import ListedOrder, RunBegun
from factory.record.status import StateFile
from factory.record.summary import public_json
from factory.recovery.recover import recover
from factory.repo.lock import hold
from factory.repo.preflight import (
    Repo,
    TargetBranch,
    choose_target,
    find_repo,
    inspect_repo,
)
from factory.run.going_on import Standing, after_interruption
from factory.run.opening import open_session
from factory.run.parts import RunParts
from factory.run.plan_forecast import announce_forecast
from factory.run.session import Session
from shared.errors import InterruptedRun, InvalidInput, LlmchError
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.files.atomic_io import make_folder, write_json
from shared.llm.record.earlier_run import EarlierRun
from shared.llm.stack import Mode, ModelSource, open_model, transcript_of
from shared.plan_folder.read import PlanFacts
from shared.run_record import (
    ModelSettings,
    Recording,
    RunFolder,
    new_run_folder,
    new_run_id,
    recorded_run,
)
from shared.work_order.hashing import order_key
from shared.work_order.schemas import VERIFY_SCRIPT


@dataclass(frozen=True, slots=True)
class Commission:
    """Hold what one command asks for: which orders to run, how, and who replies.

    `path` is the file or folder that the orders were read from.
    """

    command: Literal["run", "run-all"]
    path: Path
    orders: tuple[LoadedOrder, ...]
    options: RunOptions
    source: ModelSource
    emit: Emit


@dataclass(frozen=True, slots=True)
class OpenRun:
    """Hold a run that has begun: the repo is held, and the run's records are open."""

    commission: Commission
    session: Session
    recording: Recording
    target: TargetBranch
    exempt: tuple[bool, ...]
    """For each order, whether it is verified by compiling alone."""

    @property
    def standing(self) -> Standing:
        """Return where the run stands now, as far as it decides how the run goes on."""
        commission, session = self.commission, self.session
        planned = commission.orders[0].plan is not None
        moved = session.tip != self.target.tip or self.target.exists != session.branch_exists
        return Standing(commission.options, session.branch, planned, moved)

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
    """Run the order in `path` and return its summary.

    Raises `InvalidInput`, `PreflightRefused`, `Busy` or `SandboxUnavailable` before anything is
    changed, and the model layer's error where asking again would not help.
    """
    loaded = read_order(path)
    with begin_run(Commission("run", path, (loaded,), options, source, emit)) as run:
        session, recording = run.session, run.recording
        run.verify_base(0)
        if source.mode is Mode.LIVE:
            announce_forecast((loaded,), session, f"order {loaded.order.id}")
        task = OrderTask(loaded, run.exempt[0], session.tip, session.date, recording.folder.path)
        summary, error = session.execute(task)
        recording.results["summary"] = public_json(summary)
        if error:
            raise error
        if summary.state is OrderState.LANDED:
            summary = summary.model_copy(update={"pushed": session.push()})
            recording.results["summary"] = public_json(summary)
    if options.out is not None:
        write_json(options.out / f"{summary.run_id}.json", public_json(summary))
    return summary


@dataclass(frozen=True, slots=True)
class HeldRepo:
    """Hold a repo that no other run can take, with what the run before left for this one."""

    repo: Repo
    earlier: tuple[EarlierRun, ...]


@contextlib.contextmanager
def hold_repo(options: RunOptions, emit: Emit) -> Iterator[HeldRepo]:
    """Hold the repo, clean up after a run that was cut off, and check that work can begin."""
    place = find_repo(options.repo, allow_repo_filters=options.allow_repo_filters)
    with hold(place.common_dir) as lock:
        place = replace(place, git=place.git.holding(lock))
        earlier = recover(place.git, place.common_dir, emit)
        yield HeldRepo(inspect_repo(place), earlier)


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
        branch = options.branch or default_branch(orders[0].plan, run_id)
        target = choose_target(
            held.repo, branch, options.policy, options.settings.protected_branches, options.start
        )
        folder = new_run_folder(options.settings.artifacts_dir, "factory", run_id)
        watch = StateFile(held.repo.common_dir)
        journal = opened.enter_context(open_journal(held.repo.common_dir, watch))
        journal.record(_run_begun(commission, folder, target, held.earlier))
        head = describe_run(commission, target)
        recording = opened.enter_context(recorded_run(folder, head, commission.emit))
        opened.enter_context(_ensure_summary(folder))
        emit = recording.emit
        model = opened.enter_context(open_model(commission.source, folder.path, emit, held.earlier))
        session = opened.enter_context(
            open_session(RunParts(options, held.repo, model, folder, journal, emit), target)
        )
        if held.repo.ignored_filters:
            names = ", ".join(held.repo.ignored_filters)
            emit(
                Warned(
                    f"filters of the repo's own config do not run here: {names} "
                    "(--allow-repo-filters runs them)"
                )
            )
        for text in (
            *(text for each in orders for text in each.warnings),
            *(warning for _, warning in exemptions if warning),
        ):
            emit(Warned(text))
        exempt = tuple(exempt for exempt, _ in exemptions)
        run = OpenRun(commission, session, recording, target, exempt)
        try:
            yield run
        except KeyboardInterrupt as interrupt:
            raise InterruptedRun(after_interruption(run.standing)) from interrupt


def _run_begun(
    commission: Commission, folder: RunFolder, target: TargetBranch, earlier: tuple[EarlierRun, ...]
) -> RunBegun:
    orders = (each.order for each in commission.orders)
    return RunBegun(
        run_id=folder.run_id,
        pid=os.getpid(),
        started=folder.started.isoformat(timespec="milliseconds"),
        folder=folder.path,
        orders=tuple(ListedOrder(each.id, each.title) for each in orders),
        branch=target.branch,
        base=target.tip,
        transcript=transcript_of(commission.source, folder.path),
        earlier=earlier,
    )


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


def default_branch(plan: PlanFacts | None, run_id: str) -> str:
    """Return the branch for the orders of a plan, or for an order without a plan."""
    return f"factory/{plan.planner_run_id}" if plan else f"factory/adhoc/{run_id}"


def describe_run(commission: Commission, target: TargetBranch) -> dict[str, Any]:
    """Return what `run.json` says about the request for a run."""
    options, orders = commission.options, commission.orders
    plan = orders[0].plan
    return {
        "command": commission.command,
        ("work_order" if commission.command == "run" else "workdir"): str(commission.path),
        "manifest_sha256": plan.manifest_sha256 if plan else None,
        "orders": [{"id": each.order.id, "order_key": order_key(each.order)} for each in orders],
        "repo": str(options.repo.resolve()),
        "branch": target.branch,
        "base": target.tip,
        "model": options.models.model(1),
        "temperature": options.models.temperature,
        "model_settings": _model_settings(commission).to_json(),
        "max_attempts": options.settings.factory_attempts,
        "timeout_seconds": options.settings.timeout_seconds,
        "sandbox": options.settings.sandbox.backend,
        "python": str(options.python),
        "commands": command_settings(options).model_dump(mode="json"),
    }


def _model_settings(commission: Commission) -> ModelSettings:
    models, attempts = commission.options.models, commission.options.settings.factory_attempts
    return ModelSettings(
        models=tuple(models.model(attempt) for attempt in range(1, attempts + 1)),
        temperature=models.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
        replies=commission.source.mode,
        base_url=commission.source.base_url,
    )


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
