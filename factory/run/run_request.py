"""Reads what a command asks for, checks branch and files, and says how a run goes on.

The same command does not go on if it demanded a new branch that now exists, or if it named the
commit of a branch that has moved since. Then the text says what to change.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from factory.orders.documents import RunSummary
from factory.orders.order_commit import NOBODY, CommitTerms
from factory.orders.read_orders import Exemption, LoadedOrder, exemption_of
from factory.orders.stages import OrderState, PlanAtHand, Stage, next_step
from factory.orders.task import RunOptions, command_settings
from factory.preflight import (
    BranchPolicy,
    Repo,
    TargetBranch,
    checkout_of,
    name_paths,
    untracked_in_the_way,
)
from factory.record.journal_entries import ListedOrder, RunBegun
from factory.record.landed import ChangedFile, LandedOrders, changed_files
from factory.run.execution import prepare_graph
from shared.errors import LlmchError, PreflightRefused
from shared.events.events import Emit, Noted
from shared.events.run_record import ModelSettings, RunFolder, commit_date
from shared.git import repos, trees
from shared.git.client import Git
from shared.git.repos import parse_identity, read_identity
from shared.languages.acceptance_commands import order_files
from shared.llm.replayed_replies import EarlierRun, NotOnRecord
from shared.llm.stack import Mode, ModelSource, transcript_of
from shared.projects.build_tools import find_verification
from shared.settings.settings import CommitSettings
from shared.work_order.parse_order import order_key
from shared.work_order.plan_folder import plan_again


@dataclass(frozen=True, slots=True)
class Request:
    """Hold what one command asks for: the orders, the options, and the source of the replies.

    `path` is the file or folder that the orders were read from. `import_ahead` imports, in a
    thread while the run begins, what takes its steps.
    """

    command: Literal["run", "run-all", "retry", "accept"]
    path: Path
    orders: tuple[LoadedOrder, ...]
    options: RunOptions
    source: ModelSource
    import_ahead: Callable[[], None] = prepare_graph

    @property
    def listed(self) -> tuple[ListedOrder, ...]:
        return tuple(
            ListedOrder(each.order.id, each.order.title, order_key(each.order))
            for each in self.orders
        )

    @property
    def plan(self) -> PlanAtHand | None:
        """Return where the orders' plan is; `None` if no manifest vouches for them."""
        if self.orders[0].plan is None:
            return None
        return PlanAtHand(self.path if self.path.is_dir() else self.path.parent)


def run_begun(
    request: Request,
    folder: RunFolder,
    target: TargetBranch,
    earlier: tuple[EarlierRun, ...],
    terms: CommitTerms,
) -> RunBegun:
    """Return the first record of the run's journal."""
    plan = request.orders[0].plan
    return RunBegun(
        run_id=folder.run_id,
        pid=os.getpid(),
        started=folder.started.isoformat(timespec="milliseconds"),
        folder=folder.path,
        orders=request.listed,
        branch=target.branch,
        base=target.tip,
        transcript=transcript_of(request.source, folder.path),
        earlier=earlier,
        author=str(terms.author),
        date=terms.date,
        plan=plan.root if plan else "",
        replayed=request.source.mode is Mode.REPLAY,
    )


def describe_run(request: Request, target: TargetBranch, terms: CommitTerms) -> dict[str, Any]:
    """Return what `run.json` says about the request for a run."""
    options, orders = request.options, request.orders
    plan, path = orders[0].plan, request.path.resolve()
    return {
        "command": request.command,
        ("work_order" if request.command == "run" else "workdir"): str(path),
        "manifest_sha256": plan.manifest_sha256 if plan else None,
        "orders": [_describe_order(each) for each in orders],
        "repo": str(options.repo.resolve()),
        "branch": target.branch,
        "base": target.tip,
        "author": str(terms.author),
        "commit_date": terms.date,
        "model": options.models.model(1),
        "temperature": options.models.temperature,
        "model_settings": _model_settings(request).to_json(),
        "max_attempts": options.settings.factory_attempts,
        "timeout_seconds": options.settings.timeout_seconds,
        "sandbox": options.settings.sandbox.backend,
        "python": str(options.python),
        "commands": command_settings(options).model_dump(mode="json"),
    }


def _describe_order(loaded: LoadedOrder) -> dict[str, str]:
    described = {"id": loaded.order.id, "order_key": order_key(loaded.order)}
    return {**described, "hint": loaded.hint} if loaded.hint else described


def _model_settings(request: Request) -> ModelSettings:
    models, attempts = request.options.models, request.options.settings.factory_attempts
    return ModelSettings(
        models=tuple(models.model(attempt) for attempt in range(1, attempts + 1)),
        temperature=models.temperature,
        max_output_tokens=models.max_output_tokens,
        reasoning_effort=models.reasoning_effort,
        replies=request.source.mode,
        base_url=request.source.base_url,
    )


_DATE = re.compile(r"@[0-9]{1,12} \+0000")


def commit_terms(git: Git, settings: CommitSettings, continued: RunBegun | None) -> CommitTerms:
    """Return the terms for the commits of a run that begins now.

    A run that goes on where `continued` was cut off keeps its author and date, so that it makes
    the commits that the other run would have made. The settings and `SOURCE_DATE_EPOCH` take
    precedence. Raises `InvalidInput` if that variable is not a number of seconds.
    """
    date = commit_date(datetime.now(UTC), os.environ)
    kept_author = parse_identity(continued.author) if continued else None
    if continued and _DATE.fullmatch(continued.date) and not os.environ.get("SOURCE_DATE_EPOCH"):
        date = continued.date
    author = settings.author or kept_author or read_identity(git, os.environ) or NOBODY
    return CommitTerms(author, date, settings.subject)


def find_exemptions(
    orders: Sequence[LoadedOrder],
    landed: LandedOrders,
    git: Git,
    verify: tuple[str, ...],
    *,
    allow: bool,
) -> tuple[Exemption, ...]:
    """Return what may exempt each of a plan's orders from verification.

    Nothing does where something verified the commit that the plan began on, or where the branch,
    which `landed` describes, does not have that commit. `verify` is the setting, and with `allow` a
    person believes the orders.
    """

    @functools.cache
    def is_bare() -> bool:
        began = landed.begun_on(orders[0].plan)
        return bool(began) and not _is_verified(git, began, verify)

    return tuple(exemption_of(each, allow=allow, is_bare=is_bare) for each in orders)


def _is_verified(git: Git, commit: str, chosen: tuple[str, ...]) -> bool:
    return find_verification(trees.CommitSources(git, commit), chosen).is_known


def exemption_warnings(
    orders: Sequence[LoadedOrder], exemptions: Sequence[Exemption]
) -> Iterator[str]:
    """Yield a warning for each order that a person exempts, or that expects it and will not be."""
    for order, exemption in ((each.order, of) for each, of in zip(orders, exemptions, strict=True)):
        if exemption.granted:
            yield f"{order.id}: verification is reduced to compiling, by {exemption.granted}"
        elif order.verify_exempt and not exemption.expected:
            yield (
                f"{order.id}: its plan expects that nothing can verify it yet, but this repo has "
                "a verification, so it is verified"
            )


def refuse_files_in_the_way(
    repo: Repo, target: TargetBranch, orders: Sequence[LoadedOrder]
) -> None:
    """Raise `PreflightRefused` if untracked files are where orders write.

    It looks at the checkout, whose owner would lose them on switching to the branch, and at the
    working tree that has the branch checked out.
    """
    for tree in _trees(repo, target):
        git = repo.git.at(tree)
        if found := untracked_in_the_way(git, _written_by(orders)):
            raise PreflightRefused(
                f"{tree} has untracked files where orders would write: {name_paths(found)}",
                "commit these files, so that the orders see them, or move them elsewhere",
            )


def _trees(repo: Repo, target: TargetBranch) -> tuple[Path, ...]:
    checkout = checkout_of(target.branch, repos.checkouts(repo.git)) if target.exists else None
    return (repo.tree,) if checkout is None else tuple({repo.tree: 0, checkout.path: 0})


def _written_by(orders: Iterable[LoadedOrder]) -> frozenset[str]:
    placed = (file.path for each in orders for file in each.order.acceptance_files)
    return frozenset((*(path for each in orders for path in each.order.allowed_files), *placed))


@dataclass(frozen=True, slots=True)
class Continuation:
    """Hold what decides how a run goes on: its options, and whether its branch has moved.

    `plan` is where the orders' plan is, if they have one. `rest` is the command that makes the
    other orders of the plan, after a run of a single one. `replayed` says that a transcript alone
    answers, so that the same command brings the same replies.
    """

    options: RunOptions
    moved: bool
    plan: PlanAtHand | None = None
    rest: str = ""
    replayed: bool = False

    @property
    def place(self) -> str:
        """Return the option with which other verbs find the repo, after a space; "" in it."""
        return place_option(self.options.repo)

    @property
    def command(self) -> str:
        """Return, in words, the command that goes on."""
        if self.rest:
            return f"`{self.rest}`"
        changes = []
        if self.moved and self.options.policy is BranchPolicy.CREATE:
            changes.append("with --reuse-branch instead of --create-branch")
        if self.moved and self.options.start is not None:
            changes.append("without --commit-hash")
        return f"the same command {' and '.join(changes) or 'again'}"


def place_option(repo: Path) -> str:
    """Return the option that names `repo`, after a space; "" for the current folder."""
    return "" if repo == Path() else f" --repo {shlex.quote(str(repo))}"


def after_interruption(continuation: Continuation) -> str:
    """Return what goes on after Ctrl-C or another signal."""
    return f"the state is kept: {continuation.command} goes on from here"


def after_the_orders(
    continuation: Continuation, orders: Sequence[RunSummary], error: LlmchError | None
) -> str:
    """Return what to do after a run of orders; "" if none is left to be made.

    `error` is what ended the run early. It is reported after this, with a hint of its own.
    """
    if all(each.verdict == "PASS" for each in orders):
        return f"{continuation.command} goes on with the other orders" if continuation.rest else ""
    goes_on = f"{continuation.command} goes on where this one stopped"
    if isinstance(error, NotOnRecord):
        return ""  # the same replay ends in the same way, and the error says what helps
    if error is not None:
        return f"once the error below is dealt with, {goes_on}"
    all_failed = [e for e in orders if e.state is OrderState.FAILED and e.failure]
    failed = next(iter(all_failed), None)
    if failed is None or failed.failure is None:
        return _after_left_out(orders, continuation.place) or goes_on
    stage, order = failed.failure.stage, failed.work_order
    if stage == "error":
        return f"{goes_on} and makes {order} again"
    stage = Stage(stage)
    remedy = failed.failure.remedy
    step = next_step(
        stage,
        order,
        place=continuation.place,
        model=continuation.options.model_flags,
        remedy=remedy,
        plan=continuation.plan,
        beside=[e.work_order for e in all_failed[1:] if e.failure and e.failure.stage == stage],
    )
    if remedy:
        return f"{step}; then {goes_on}"
    match stage:
        case Stage.ENVIRONMENT | Stage.WRITE_FAILED:
            return f"{step}; then {goes_on}"
        case Stage.PREFLIGHT:
            return f"{step}; the same command would refuse this order again"
        case Stage.IMPOSSIBLE | Stage.WEAK_TESTS:
            return f"{step}; the same command would end in the same way"
        case Stage.REPEATED:
            return step
        case _ if continuation.options.given:
            return f"correct what was proposed and accept that, or have a model try: {step}"
        case _ if continuation.replayed:
            return f"{step}; the same command would replay the same replies"
        case _:
            return f"{step}; {goes_on} and asks for {order} anew"


def _after_left_out(orders: Sequence[RunSummary], place: str) -> str:
    """Return how to make the orders that a left-out one blocks; "" if it blocks none."""
    out = next((each for each in orders if each.state is OrderState.LEFT_OUT), None)
    if out is None or any(each.state is OrderState.PENDING for each in orders):
        return ""
    return (
        f"`llmch skip {out.work_order}{place} --undo` takes up {out.work_order} again, "
        "so that the orders that need it can be made"
    )


_SHOWN = 10  # files, or commits of a file


def files_changed_since(git: Git, request: Request, landed: LandedOrders) -> tuple[str, ...]:
    """Return a warning for each file that changed since the plan and does not stop the run.

    It looks at the files that the plan recorded and that orders which have not landed touch or
    read. A change by an order of the plan, or by a commit that was accepted for one, is as it
    should be. A change by somebody who worked on the branch after the plan's first order is a
    warning. Raises `PreflightRefused` if any other commit changed such a file, unless the options
    allow that.
    """
    concerned = _concerned(request.orders, landed.landed)
    plan = request.orders[0].plan
    if plan is None or not concerned:
        return ()
    base = {each.path: each.sha256 for each in plan.base_files if each.path in concerned}
    own = {*landed.of_plans, *landed.landed.values()}
    changed = changed_files(git, landed.first_parents, base, own)
    of_plan = {each for each, digest in landed.of_plans.items() if digest == plan.manifest_sha256}
    since_begun = _since_begun(landed.first_parents, of_plan)
    foreign = [
        each for each in changed if not each.commits or not since_begun.issuperset(each.commits)
    ]
    if foreign and not request.options.allow_changed:
        raise _refusal(request, foreign, concerned)
    return tuple(
        f"{each.path} has changed since the plan was made{_by(each)}: "
        f"{', '.join(concerned[each.path])} goes on with it as it is"
        for each in changed[:_SHOWN]
    )


def _concerned(
    orders: Sequence[LoadedOrder], landed: Mapping[str, str]
) -> Mapping[str, Sequence[str]]:
    """Return, by file, the orders that have not landed and that touch or read it."""
    found: dict[str, list[str]] = {}
    for each in orders:
        if each.order.id not in landed:
            for path in order_files(each.order):
                found.setdefault(path, []).append(each.order.id)
    return found


def _since_begun(first_parents: Sequence[str], of_plan: Collection[str]) -> frozenset[str]:
    """Return the commits made on the branch itself after the plan's first order landed there."""
    last = max((n for n, each in enumerate(first_parents) if each in of_plan), default=0)
    return frozenset(first_parents[:last])


def _refusal(
    request: Request, changed: Sequence[ChangedFile], concerned: Mapping[str, Sequence[str]]
) -> PreflightRefused:
    lines = [
        f"  {each.path}, which {_listed(concerned[each.path])} touches or reads{_by(each)}"
        for each in changed[:_SHOWN]
    ]
    if len(changed) > _SHOWN:
        lines.append(f"  and {len(changed) - _SHOWN} more")
    path = request.path.parent if request.command == "run" else request.path
    options = request.options
    branch = f" --branch {shlex.quote(options.branch)}" if options.branch else ""
    return PreflightRefused(
        "files have changed since the plan was made for them:\n" + "\n".join(lines),
        "look at what changed: --allow-changed goes on where the orders still fit, and "
        "`llmch accept ORDER --commit SHA` says that a commit is the work of an order; once the "
        f"specification says something else, `{plan_again(path)}"
        f"{place_option(options.repo)}{branch}` plans for the files as they are now",
    )


def _by(file: ChangedFile) -> str:
    commits = [each[:12] for each in file.commits]
    return f" (changed by {_listed(commits)})" if commits else " (no commit here has it as it was)"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def remaining_orders(request: Request, landed: LandedOrders) -> tuple[LoadedOrder, ...]:
    """Return the orders that the run makes: of a plan those that have not landed.

    Raises `PreflightRefused` if the branch lost the commit of an order and nothing on the
    branch changes the same, unless the options allow that the order is made again.
    """
    if request.command == "run":
        return request.orders
    if landed.lost and not request.options.allow_lost:
        raise _lost(request, landed)
    return tuple(each for each in request.orders if each.order.id not in landed.landed)


def note_found_by_content(landed: LandedOrders, emit: Emit) -> None:
    """Report the orders whose commits do not name them."""
    for order in landed.by_content:
        commit = landed.landed[order][:12]
        emit(Noted(f"{order} counts as landed: {commit} changes the same, and does not name it"))


def _lost(request: Request, landed: LandedOrders) -> PreflightRefused:
    names = ", ".join(f"{each.order} ({each.commit[:12]})" for each in landed.lost)
    first = landed.lost[0].order
    return PreflightRefused(
        f"the branch had commits of orders that it no longer has: {names}; none of the "
        f"{landed.compared} commits compared names these orders or changes the same",
        f"`llmch accept {first} --commit SHA` says which commit has the work of an order now; "
        "--allow-lost makes such orders again",
    )
