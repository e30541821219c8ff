"""Records what a person decides about an order of the plan on a branch."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from factory.batch.batch import run_orders
from factory.batch.order_graph import derive_graph
from factory.orders.documents import RunSummary
from factory.orders.read_orders import LoadedOrder, read_order, read_workdir
from factory.orders.stages import NOTHING_DECIDED, Decision, DecisionKey, PlanAtHand, Stage
from factory.orders.task import RunOptions
from factory.preflight import RepoPlace, hold
from factory.record.journal import (
    accepted_commits,
    decision_key,
    decisions_of,
    journal_path,
    left_out,
    read_understood,
    write_decision,
)
from factory.record.journal_entries import RunBegun
from factory.record.landed import LandedOrders, find_landed, plan_branch
from factory.record.run_status import read_status
from factory.record.runs_on_record import RunDocument, read_run_document
from factory.run.run_request import Request, place_option
from shared.errors import InvalidInput, PreflightRefused
from shared.events.events import Emit, Warned
from shared.git import refs
from shared.git.client import Git
from shared.llm.stack import ModelSource
from shared.work_order.plan_folder import read_manifest, read_stored_plan


@dataclass(frozen=True, slots=True)
class LatestRun:
    """Hold the folder of a run's records, and what its `run.json` says."""

    folder: Path
    head: RunDocument

    @property
    def path(self) -> Path | None:
        """Return the folder or the file that the run was asked for, as far as it is on record."""
        return self.head.workdir or self.head.work_order


@dataclass(frozen=True, slots=True)
class PlanOnBranch:
    """Hold a plan with the branch that its commits go to. `path` is its folder, or one file."""

    path: Path
    orders: tuple[LoadedOrder, ...]
    branch: str
    latest: LatestRun | None = None
    """The repo's latest run, if it was of this plan."""
    flags: str = ""
    """The options that say how commands run, each after a space, for the commands that follow."""

    def named(self, name: str) -> LoadedOrder:
        """Return the order with the id `name`. Raises `InvalidInput`, which lists the ids."""
        for each in self.orders:
            if each.order.id == name:
                return each
        ids = [each.order.id for each in self.orders]
        known = ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"
        raise InvalidInput(
            f"the plan in {self.path} has no order {name}",
            f"it has {known}; --workdir names a plan",
        )

    def key_of(self, name: str) -> DecisionKey:
        """Return the key of the decision about an order."""
        return decision_key(self.named(name), self.branch)

    def decisions(self, common_dir: Path) -> Mapping[str, Decision]:
        """Return what was decided about the orders, by id. Raises `Busy` as `read_decisions`."""
        return decisions_of(common_dir, self.branch, self.orders)

    def landed(self, git: Git, common_dir: Path) -> Mapping[str, str]:
        """Return the commits that have the work of orders, by the order's id."""
        found = self.history(git)
        accepted = accepted_commits(self.decisions(common_dir), found.first_parents)
        return found.with_accepted(accepted).landed

    def due_again(self, common_dir: Path, stage: Stage) -> Mapping[str, str]:
        """Return why orders have to be planned again, by id, as the latest run ended at `stage`.

        An order cannot be done, as the model said, or its tests are too weak.

        An order that was worded anew since then is not among them. Raises `Busy` as `read_status`.
        """
        status = read_status(common_dir)
        if status is None or status.branch != self.branch:
            return {}
        keys = {each.order.id: self.key_of(each.order.id) for each in self.orders}
        return {
            each.id: "\n".join((each.failure.excerpt, each.failure.command or ""))
            for each in status.orders.values()
            if each.failure is not None
            and each.failure.stage is stage
            and keys.get(each.id) == DecisionKey(status.branch, status.plan, each.id, each.key)
        }

    def still_to_make(self, git: Git, common_dir: Path) -> tuple[str, ...]:
        """Return the orders that are neither landed nor accepted nor left out, in sequence."""
        done = {*self.landed(git, common_dir), *left_out(self.decisions(common_dir))}
        return tuple(each.order.id for each in self.orders if each.order.id not in done)

    def history(self, git: Git) -> LandedOrders:
        """Return the commits of the branch, and which of the orders they made."""
        tip = refs.tip_of_branch(git, self.branch)
        return find_landed(git, self.branch, tip, self.orders) if tip else LandedOrders()

    def run_all(self, place: str, *, installs: bool | None = None) -> str:
        """Return the command that makes the plan's orders, or the one order without a plan.

        `place` is the option of the repo. `installs` says whether packages are prepared for it.
        Without it, the latest run decides.
        """
        commands = self.latest.head.commands if self.latest else None
        if installs is None:
            installs = isinstance(commands, dict) and commands.get("install_dependencies") is True
        more = self.flags + (" --deps auto" if installs else "")
        if self.path.is_dir():
            return self.command("run-all", place) + more
        return self._about("run --work-order", place) + more

    def command(self, words: str, place: str) -> str:
        """Return a command about the plan; `place` is the option of the repo."""
        return self._about(f"{words} --workdir", place)

    def _about(self, words: str, place: str) -> str:
        """Return a command; its last word takes the plan's folder, or the file of its one order."""
        branch = shlex.quote(self.branch)
        return f"llmch {words} {shlex.quote(str(self.path))} --branch {branch}{place}"


def plan_on_branch(place: RepoPlace, workdir: Path | None, branch: str | None) -> PlanOnBranch:
    """Return the plan in `workdir` on `branch`; where they are `None`, those of the latest run.

    A plan that is not the latest run's has the branch that `run-all` would choose. Raises
    `InvalidInput` if there was no run, or if its plan no longer exists.
    """
    begun, latest = _latest_run(place.common_dir)
    path = workdir or (latest.path if latest else None)
    if path is None:
        raise InvalidInput(
            "no run of this repo says which plan is meant",
            "name the plan's folder with --workdir DIR, and its branch with --branch B",
        )
    if workdir is None and not path.exists():
        raise InvalidInput(
            f"the plan of the latest run is not in {path} any more",
            "name its folder with --workdir DIR, and its branch with --branch B",
        )
    path, orders = _read(path)
    if begun is None or latest is None or not _is_of(begun, latest, path, orders):
        return PlanOnBranch(path, orders, branch or plan_branch(place.git, orders))
    return PlanOnBranch(path, orders, branch or begun.branch, latest)


def plan_at_hand(common_dir: Path) -> PlanAtHand | None:
    """Return where the plan of the latest run is; `None` if that run has no plan with a hash."""
    _, latest = _latest_run(common_dir)
    path = latest.path if latest else None
    if path is None:
        return None
    folder = path if path.is_dir() else path.parent
    try:
        manifest = read_manifest(folder)
    except InvalidInput:
        return None
    if manifest is None or not manifest.stated_hash:
        return None
    try:
        read_stored_plan(folder)
    except InvalidInput:
        return PlanAtHand(folder, edited=True)
    return PlanAtHand(folder, edited=manifest.was_edited)


def _latest_run(common_dir: Path) -> tuple[RunBegun | None, LatestRun | None]:
    entries = read_understood(journal_path(common_dir))
    begun = next((each for each in entries if isinstance(each, RunBegun)), None)
    return begun, LatestRun(begun.folder, read_run_document(begun.folder)) if begun else None


def _is_of(begun: RunBegun, latest: LatestRun, path: Path, orders: tuple[LoadedOrder, ...]) -> bool:
    """Return whether the latest run was of this plan, or of one before it."""
    plan = orders[0].plan
    if plan is not None and begun.plan:
        return begun.plan == plan.root
    of_run = latest.path
    return of_run is not None and of_run.resolve() in (path.resolve(), path.parent.resolve())


def _read(path: Path) -> tuple[Path, tuple[LoadedOrder, ...]]:
    if path.is_dir():
        return path, read_workdir(path)
    loaded = read_order(path)
    return (path, (loaded,)) if loaded.plan is None else (path.parent, read_workdir(path.parent))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Hold the result of leaving an order out or taking it up again.

    `reason` is empty if it is taken up. `blocked` are the orders that cannot be made without it,
    and `others` those that still can.
    """

    order: str
    branch: str
    reason: str
    blocked: tuple[str, ...]
    others: tuple[str, ...] = ()


def retry_order(
    plan: PlanOnBranch,
    name: str,
    hint: str | None,
    place: RepoPlace,
    options: RunOptions,
    source: ModelSource,
    emit: Emit,
) -> RunSummary:
    """Make one order of a plan again, on its branch, and return its summary.

    Where the options hold what was given, that is judged in the place of replies. `hint` holds
    from now on, also in later runs; `None` leaves the hint that is on record. An order
    that has landed is left alone. Raises `PreflightRefused` if an order that it needs has not
    landed, and as `factory.batch.batch.run_all` does.
    """
    with hold(place.common_dir):
        landed = _take_up(plan, name, hint, place)
        if landed and hint:
            instead = f"`llmch do TEXT --branch {shlex.quote(plan.branch)}`"
            emit(
                Warned(
                    f"{name} has landed as {landed[:12]} on {plan.branch}, so the hint is not "
                    f"used: {instead} changes what the order made, and so does a plan of a "
                    "changed specification (`llmch plan --from`)"
                )
            )
        rest = _rest(plan, name, place, options)
    options = replace(options, branch=plan.branch)
    command: Literal["accept", "retry"] = "accept" if options.given else "retry"
    request = Request(command, plan.path, plan.orders, options, source)
    (summary,) = run_orders(request, emit, name, rest).orders
    return summary


def leave_out(plan: PlanOnBranch, name: str, reason: str, place: RepoPlace) -> LeftOut:
    """Record that an order is left out, and why. Raises `InvalidInput` if it has landed."""
    return _decide(plan, name, reason, place)


def take_up(plan: PlanOnBranch, name: str, place: RepoPlace) -> LeftOut:
    """Record that an order is not left out. Raises `InvalidInput` if it has landed."""
    return _decide(plan, name, "", place)


def _decide(plan: PlanOnBranch, name: str, reason: str, place: RepoPlace) -> LeftOut:
    key = plan.key_of(name)
    with hold(place.common_dir):
        landed = plan.landed(place.git, place.common_dir)
        if name in landed:
            raise InvalidInput(
                f"{name} has landed as {landed[name][:12]} on {plan.branch}",
                "an order that has landed cannot be left out; `git revert` takes its change back",
            )
        before = plan.decisions(place.common_dir).get(name, NOTHING_DECIDED)
        write_decision(place.common_dir, key, replace(before, left_out=reason, accepted=None))
        blocked = _dependents(plan, name, landed)
        left = plan.still_to_make(place.git, place.common_dir)
        others = tuple(each for each in left if each not in (name, *blocked))
        return LeftOut(name, plan.branch, reason, blocked, others)


def _take_up(plan: PlanOnBranch, name: str, hint: str | None, place: RepoPlace) -> str:
    """Record that an order is to be made, with the hint; return its commit where it has landed."""
    key = plan.key_of(name)
    landed = plan.landed(place.git, place.common_dir)
    if name in landed:
        return landed[name]
    decisions = plan.decisions(place.common_dir)
    graph = derive_graph([each.order for each in plan.orders])
    needed = (graph.ids[each] for each in sorted(graph.needs[graph.ids.index(name)]))
    if missing := [each for each in needed if each not in landed]:
        raise _lacks(name, missing, plan.branch, left_out(decisions))
    before = decisions.get(name, NOTHING_DECIDED)
    kept = before.hint if hint is None else hint
    write_decision(place.common_dir, key, replace(NOTHING_DECIDED, hint=kept))
    return ""


def _rest(plan: PlanOnBranch, name: str, place: RepoPlace, options: RunOptions) -> str:
    others = set(plan.still_to_make(place.git, place.common_dir)) - {name}
    if not others:
        return ""
    rest = plan.run_all(place_option(options.repo), installs=options.install_dependencies)
    return rest + options.model_flags


def _lacks(
    name: str, missing: Sequence[str], branch: str, left_out: Collection[str]
) -> PreflightRefused:
    first = missing[0]
    if first in left_out:
        hint = f"{first} is left out: `llmch skip {first} --undo` takes it up again"
    else:
        hint = f"`llmch retry {first}` makes {first} first"
    return PreflightRefused(f"{name} needs {', '.join(missing)}, not yet on {branch}", hint)


def _dependents(plan: PlanOnBranch, name: str, landed: Collection[str]) -> tuple[str, ...]:
    """Return the orders that cannot be made without an order, in the plan's sequence."""
    graph = derive_graph([each.order for each in plan.orders])
    found = (graph.ids[each] for each in sorted(graph.all_dependents(graph.ids.index(name))))
    return tuple(each for each in found if each not in landed)
