"""Finds the run that a person names, or a branch without one, and reads it as one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from factory.audit.audit_evidence import how_to_fetch
from factory.batch.decide import plan_on_branch
from factory.orders.order_commit import NOTES_REF, covered_requirements, landed_orders, parse_proof
from factory.orders.stages import NOTHING_DECIDED, Decision
from factory.preflight import RepoPlace, find_repo, holder
from factory.record.journal import journal_path
from factory.record.runs_on_record import (
    LATEST,
    NO_DOCUMENT,
    RunDocument,
    RunOnRecord,
    RunOutcome,
    choose_run,
    object_id,
    read_run_document,
    runs_on_record,
)
from llmch.runs.recorded_attempts import change_of_commit, sandboxes_of
from llmch.runs.recorded_orders import (
    NOTHING_STATED,
    RunRepo,
    Stated,
    accepted_order,
    needs_of,
    order_in,
    read_orders,
    requirements_of,
    requirements_of_orders,
    statements_on,
    with_stated,
)
from llmch.runs.recorded_planning import (
    PlanView,
    attempt_times,
    read_plan,
    tracks_of,
    usage_by_role,
)
from llmch.runs.run_model import CommandView, OrderView, RoleUsage, RunView, Standing
from shared.errors import InvalidInput, LlmchError
from shared.events.events import Noted, OrderSkipped, OrderStarted, Warned
from shared.events.run_record import ModelSettings, TimedEvent, read_events
from shared.files.typed_documents import Faults, read_record
from shared.git import commits, refs
from shared.git.client import Git
from shared.git.commits import LoggedCommit
from shared.llm.transcript import describe_uncertain, uncertain_calls
from shared.llm.usage import NO_USAGE, UsageRecord
from shared.work_order.work_order import WorkOrder, order_number

_NO_REPO = Path("/nonexistent")


@dataclass(frozen=True, slots=True)
class FoundRun:
    """Hold a run, where it is from, and the process that works on its repo, if there is one."""

    run: RunOnRecord
    ground: RunRepo
    pid: int | None
    is_latest: bool = False
    """Whether the repo's next start goes on with this run."""
    place: RepoPlace | None = None


@dataclass(frozen=True, slots=True)
class FoundBranch:
    """Hold a branch that no run on record made, and its repo."""

    branch: str
    git: Git


def find_run(wanted: str | None, repo: Path | None, artifacts: Path) -> FoundRun | FoundBranch:
    """Return the run that `wanted` names, or the branch where no run on it is on record.

    `wanted` is the folder of a run, a branch, an id of a run or the beginning of one, or `None` for
    the repo's latest run. `repo` is `None` for no repo: then only a folder can be named. Raises
    `InvalidInput`, which says what there is, where nothing fits.
    """
    folder = Path(wanted) if wanted else None
    if folder is not None and (folder / "run.json").exists():
        return _of_folder(folder.resolve(), repo)
    if repo is None:
        raise InvalidInput(
            "without a repo, only the folder of a run can be reported on",
            "name the folder that has its run.json",
        )
    place = find_repo(repo)
    pid = holder(place.common_dir)  # before the records, or a run that ends meanwhile looks cut off
    runs = tuple(runs_on_record(artifacts, place.common_dir, place.tree))
    if wanted is not None and refs.tip_of_branch(place.git, wanted):
        on_branch = tuple(each for each in runs if each.head.branch == wanted)
        if not on_branch:
            return FoundBranch(wanted, place.git)
        return _found(on_branch[0], runs, place, pid)
    if not runs:
        raise InvalidInput(
            f"there is no run of this repo in {artifacts / 'factory'}",
            "name the folder of the records with --artifacts-dir, the repo with --repo, a branch "
            "that llmch made, or the folder of the run itself",
        )
    return _found(choose_run(runs, wanted or LATEST), runs, place, pid)


def _found(
    run: RunOnRecord, runs: tuple[RunOnRecord, ...], place: RepoPlace, pid: int | None
) -> FoundRun:
    earlier = tuple(each for each in runs if each.run_id < run.run_id)
    ground = RunRepo(place.git, place.common_dir, earlier)
    is_latest = run == runs[0]
    pid = (pid or holder(place.common_dir)) if is_latest else None
    is_latest = is_latest and journal_path(place.common_dir).exists()
    return FoundRun(run, ground, pid, is_latest, place)


def _of_folder(folder: Path, repo: Path | None) -> FoundRun:
    head = read_run_document(folder)
    run = RunOnRecord(folder.name, folder, head)
    if not head.made_attempts:
        raise InvalidInput(
            f"{folder} is the record of `llmch {head.command}`, not of a run of orders",
            "name a run of `llmch run`, `run-all` or `build`: a folder of artifacts/factory",
        )
    # The record may be from another machine, so the person's own choice counts before it.
    for place in (repo, head.repo or _NO_REPO) if repo else ():
        try:
            found = find_repo(place)
        except LlmchError:
            continue
        base = object_id(head.base)
        if base and refs.commit_of(found.git, base):
            pid = holder(found.common_dir)
            runs = tuple(runs_on_record(folder.parent.parent, found.common_dir, found.tree))
            return _found(run, runs or (run,), found, pid)
    return FoundRun(run, RunRepo(None, _NO_REPO), None)


_MOST_MESSAGES = 200
_MOST_UNREAD = 10
_ENDINGS = {"interrupted": Standing.INTERRUPTED, "running": Standing.CUT_OFF, "": Standing.CUT_OFF}
_CUT_SHORT = ("running", "interrupted", "killed")
_VERDICTS = {"PASS": Standing.PASSED, "FAIL": Standing.FAILED, "ERROR": Standing.ENDED_EARLY}


def read_run(found: FoundRun) -> RunView:
    """Return the run. It is never refused: what its records lack is said in `gaps`."""
    run, head, faults = found.run, found.run.head, Faults()
    read_run_document(run.folder, faults)
    events = tuple(read_events(run.folder / "events.jsonl"))
    tracks = tracks_of(events, _titles(events))
    plan = read_plan(run.folder, head)
    orders = read_orders(run, found.ground, plan.orders, events, attempt_times(tracks), faults)
    orders = _as_they_are(orders, found)
    outcome = read_record(run.folder / "run_summary.json", RunOutcome, faults) or head.summary
    outcome = outcome or RunOutcome()
    standing = _standing(head, outcome, orders, alive=found.pid is not None)
    usage = outcome.usage or sum((each.usage for each in orders), NO_USAGE)
    roles = (*plan.roles, *_with_cost(usage_by_role(events), usage))
    return RunView(
        run_id=run.run_id,
        title=plan.title or (orders[0].title if len(orders) == 1 else ""),
        standing=standing,
        branch=head.branch,
        base=object_id(head.base),
        tip=object_id(outcome.tip) or object_id(outcome.commit),
        command=head.command,
        started=head.started,
        ended=head.ended,
        seconds=_seconds(head, events),
        error=head.error,
        version=head.llmch_version,
        overview=plan.overview,
        assumptions=plan.assumptions,
        orders=orders,
        tracks=tracks,
        usage=usage + plan.usage,
        roles=roles,
        requirements=requirements_of(head, orders),
        sandboxes=sandboxes_of(_commands(orders)),
        settings=tuple(_settings(head, plan)),
        messages=tuple(_messages(events))[:_MOST_MESSAGES],
        gaps=(*_gaps(found, plan, orders, events), *_unread(faults)),
        planning=plan.planning,
    )


def _as_they_are(orders: tuple[OrderView, ...], found: FoundRun) -> tuple[OrderView, ...]:
    """Return the orders of the latest run as the branch and the person's decisions have them now.

    A retry records one order alone, and the records do not change where a person accepts a commit
    or leaves an order out.
    """
    if found.place is None or not found.is_latest or found.pid is not None:
        return orders
    common_dir = found.place.common_dir
    try:
        plan = plan_on_branch(found.place, None, None)
        landed = plan.landed(found.place.git, common_dir)
        decisions = plan.decisions(common_dir)
    except LlmchError:
        return orders  # the plan is gone, or was edited
    return tuple(
        _as_it_is(each, landed.get(each.id, ""), decisions.get(each.id, NOTHING_DECIDED))
        for each in orders
    )


def _as_it_is(order: OrderView, commit: str, decision: Decision) -> OrderView:
    if order.is_on_branch:
        return order
    if commit and (decision.accepted or order.state != "begun"):
        state = "accepted" if decision.accepted else "skipped"
        return replace(order, state=state, commit=commit)
    return replace(order, state="left_out") if decision.left_out else order


def _titles(events: Iterable[TimedEvent]) -> Mapping[str, str]:
    found = [each.event for each in events if isinstance(each.event, OrderStarted | OrderSkipped)]
    return {each.order: each.title for each in found if each.title}


def _standing(
    head: RunDocument, outcome: RunOutcome, orders: Sequence[OrderView], *, alive: bool
) -> Standing:
    status = head.status
    if status in ("running", "") and alive:
        return Standing.RUNNING
    if status in _ENDINGS and outcome == RunOutcome():
        return _ENDINGS[status]
    if status == "interrupted":
        return Standing.INTERRUPTED
    if verdict := _VERDICTS.get(outcome.verdict):
        return verdict
    done = orders and all(each.is_on_branch or each.state == "left_out" for each in orders)
    return Standing.PASSED if done and status == "completed" else Standing.ENDED_EARLY


def _seconds(head: RunDocument, events: Sequence[TimedEvent]) -> float | None:
    """Return how long the run took, or how long its events go on where it has no end."""
    try:
        began = datetime.fromisoformat(head.started)
        return (datetime.fromisoformat(head.ended) - began).total_seconds()
    except (ValueError, TypeError):
        return max((each.at for each in events), default=None)


def _commands(orders: Iterable[OrderView]) -> Iterator[CommandView]:
    for order in orders:
        yield from order.trials
        for attempt in order.attempts:
            yield from attempt.commands


def _with_cost(roles: Sequence[RoleUsage], usage: UsageRecord) -> Iterator[RoleUsage]:
    """Yield the roles; where there is one alone, the record's own figures are more exact."""
    for each in roles:
        whole = usage if len(roles) == 1 and usage.calls + usage.replayed_calls else each.usage
        yield RoleUsage(each.role, each.model, whole, each.seconds)


def _settings(head: RunDocument, plan: PlanView) -> Iterator[tuple[str, str]]:
    models = head.model_settings
    yield "models", ", ".join(dict.fromkeys(models.models)) or head.model
    yield "replies", _replies(models)
    yield "attempts at an order, at most", str(head.max_attempts or "")
    yield "time for a command, at most", _seconds_text(head.timeout_seconds)
    yield "repository", str(head.repo or "")
    yield "plan", str(head.workdir or "")
    yield "plan's hash", head.manifest_sha256
    yield "specification", plan.spec
    yield "author of the commits", head.author
    yield "llmch", head.llmch_version


def _replies(models: ModelSettings) -> str:
    if models.replies == "replay":
        return "replayed from a transcript: no model was asked"
    return f"live, from {models.base_url}" if models.base_url else models.replies


def _seconds_text(seconds: float | None) -> str:
    return f"{seconds:g} s" if seconds else ""


def _messages(events: Iterable[TimedEvent]) -> Iterator[str]:
    for each in events:
        if isinstance(each.event, Warned | Noted):
            yield each.event.message


def _unread(faults: Faults) -> Iterator[str]:
    """Yield what is damaged, or written by a version that wrote something else."""
    named = tuple(dict.fromkeys(faults.named))
    yield from named[:_MOST_UNREAD]
    if len(named) > _MOST_UNREAD:
        yield f"{len(named) - _MOST_UNREAD} more parts of records cannot be read"


def _gaps(
    found: FoundRun, plan: PlanView, orders: Sequence[OrderView], events: Sequence[TimedEvent]
) -> Iterator[str]:
    """Yield what the records lack, each with what that means for the page."""
    run, head = found.run, found.run.head
    if head == NO_DOCUMENT:
        yield f"run.json cannot be read in {run.folder}: neither branch nor orders are known"
    elif not run.orders():
        yield "run.json names no order"
    if head.status == "running" and found.pid is None:
        goes_on = "; the same command again goes on from there" if found.is_latest else ""
        yield (
            "the run did not end by itself: it was killed, or it goes on where nothing here can "
            f"see it{goes_on}"
        )
    if head.status in _CUT_SHORT and found.pid is None:
        yield from map(describe_uncertain, uncertain_calls(run.folder / "transcript.jsonl"))
    if not events:
        yield "there are no events on record, so there is no time line"
    if found.ground.git is None:
        yield (
            f"the repository {head.repo or ''} is not here: the changes of commits are "
            "missing; `--repo DIR` names a clone"
        )
    if plan.missing:
        yield plan.missing
    lost = [each.id for each in orders if not each.intent]
    if lost and run.orders():
        yield (
            f"what {len(lost)} of {len(orders)} orders ask for is not on record: they had not "
            "begun, and the plan is gone"
        )
    if not (run.folder / "transcript.jsonl").is_file() and head.model_settings.replies != "replay":
        yield "the transcript of the run is not beside its records"


_MOST_COMMITS = 10_000
_FETCH = f"git fetch origin {NOTES_REF}:{NOTES_REF}"


def read_branch(found: FoundBranch) -> RunView:
    """Return what the branch has. Raises `InvalidInput` if it has no commit of an order."""
    git = found.git
    history = commits.log(git, refs.tip_of_branch(git, found.branch), limit=_MOST_COMMITS)
    statements = statements_on(git, [each.id for each in history])
    orders = tuple(_orders(git, history, statements))
    if not orders:
        raise InvalidInput(
            f"the branch {found.branch} has no commit of an order, and no run on it is on record",
            "name a branch that llmch made, a run, or the folder of a run",
        )
    notes = commits.notes(git, NOTES_REF, [each.commit for each in orders])
    orders = tuple(
        replace(each, proof=parse_proof(notes.get(each.commit, "")) or each.proof)
        for each in orders
    )
    sandboxes = sandboxes_of(command for each in orders for command in each.stated)
    return RunView(
        run_id="",
        title="",
        standing=Standing.NOT_ON_RECORD,
        branch=found.branch,
        base=orders[0].parent,
        tip=history[0].id,
        orders=orders,
        requirements=requirements_of_orders(orders),
        sandboxes=sandboxes,
        gaps=tuple(_gaps_branch(git, orders, notes)),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold an order of the branch; `order` is its content, where a statement holds it."""

    view: OrderView
    order: WorkOrder | None


def _orders(
    git: Git, history: Sequence[LoggedCommit], statements: Mapping[str, Stated]
) -> Iterator[OrderView]:
    """Yield the orders that commits name or were accepted for, those that landed first first."""
    found = [
        one
        for each in reversed(history)
        for one in _of_commit(git, each, statements.get(each.id, NOTHING_STATED))
    ]
    known = {each.view.id: each.order for each in found if each.order is not None}
    # Orders of several plans may have the same id, and then nobody knows which one is needed.
    needs = (
        needs_of(tuple(known.values()))
        if len({each.view.id for each in found}) == len(found)
        else {}
    )
    for each in found:
        yield replace(each.view, needs=needs.get(each.view.id, ()))


def _of_commit(git: Git, commit: LoggedCommit, stated: Stated) -> Iterator[_Found]:
    parent = commit.parents[0] if commit.parents else ""
    covers = covered_requirements(commit.message)
    for identity in landed_orders([(commit.id, commit.message)]):
        if order_number(identity.work_order) is None:
            continue
        head, _, rest = commit.message.partition("\n")
        view = OrderView(
            id=identity.work_order,
            title=head.removeprefix(f"{identity.work_order}: "),
            state="landed",
            intent=_body(rest),
            covers=tuple(name for order, name in covers if order == identity.work_order),
            commit=commit.id,
            parent=parent,
            change=change_of_commit(git, parent, commit.id),
        )
        yield _Found(with_stated(view, identity, stated) or view, order_in(identity, stated))
    for each in stated.accepted:
        view = accepted_order(each, commit.id, parent)
        change = change_of_commit(git, parent, commit.id)
        yield _Found(replace(view, change=change), each.predicate.order.document)


def _body(message: str) -> str:
    """Return what a commit's message says of the work, without the trailers."""
    paragraphs = message.strip().split("\n\n")
    return " ".join(each for each in paragraphs if not each.startswith("Llmch-"))


def _gaps_branch(git: Git, orders: Sequence[OrderView], notes: Mapping[str, str]) -> Iterator[str]:
    yield (
        "no run on this branch is on record here: attempts, output, times and costs are in the "
        "artifacts of the machine that made it; `llmch report DIR` reads the folder of a run"
    )
    silent = [each for each in orders if not each.maker]
    if silent:
        yield (
            f"{len(silent)} of {len(orders)} commits have no statement of what their orders ask "
            "for, what these need and which commands judged them; "
            f"`{how_to_fetch(git)}` fetches the statements, if the remote has them"
        )
    if len({each.id for each in orders}) < len(orders):
        yield "the orders of several plans have the same ids, so the graph is not known"
    without = [each for each in orders if each.commit not in notes]
    if without:
        yield (
            f"{len(without)} of {len(orders)} commits have no note that says what verified them; "
            f"`{_FETCH}` fetches the notes, if the remote has them"
        )


def read_report(wanted: str | None, repo: Path | None, artifacts: Path) -> RunView:
    """Return the run that `wanted` names; see `find_run`. `repo` is `None` for no repo."""
    found = find_run(wanted, repo, artifacts)
    return read_branch(found) if isinstance(found, FoundBranch) else read_run(found)
