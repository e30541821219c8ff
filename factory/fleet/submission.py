"""Submits a plan to a fleet, waits for it, and brings its records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from factory.fleet.leases import (
    Link,
    died_with,
    events_after,
    forget_events,
    forget_takeovers,
    workers_seen,
)
from factory.fleet.wire import (
    Answer,
    Job,
    JobMisread,
    JobState,
    Kind,
    Refusal,
    SharedOptions,
    error_of,
    parse,
    render,
    shared_options,
    unpack,
)
from factory.orders.documents import BatchSummary
from factory.orders.order_commit import default_branch
from factory.orders.read_orders import LoadedOrder
from factory.orders.task import RunOptions
from factory.preflight import refuse_name
from factory.run.run_request import commit_terms
from shared.errors import CommandFailed, FleetUnavailable, InvalidInput
from shared.events.events import BatchEnded, Emit, Noted, Warned
from shared.events.run_record import event_from_json, new_run_id
from shared.files.atomic_io import write_bytes
from shared.git import refs, repos, trees
from shared.git.client import Git
from shared.git.repos import Identity
from shared.settings.loading import PROJECT_FILES
from shared.work_order.plan_folder import list_plan_files


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """Hold a plan with all that its coordinator needs, whichever worker that is.

    `files` are the plan's, by name. The branch begins at the commit `base` of `base_branch`, where
    the remote does not have it yet. `author`, `subject` and `date` are those of all commits.
    """

    remote: str
    repo: str
    """The name of the repo's folder, which is the name of each workspace."""
    base_branch: str
    base: str
    branch: str
    files: Mapping[str, str]
    author: Identity | None
    subject: str
    date: str
    options: SharedOptions
    protected_branches: frozenset[str]
    train: int
    keep_going: bool
    allow_verify_exempt: bool
    allow_changed: bool
    allow_lost: bool


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """Hold how the run of a plan ended: its summary, or the error that ended it before.

    `files` are its records, which were below `folder` where it ran.
    """

    summary: Mapping[str, Any] | None
    error: Refusal | None
    folder: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """Say where a plan is to land: on a branch of a remote that begins at a branch's commit."""

    remote: str
    base_branch: str
    base: str

    @property
    def repo(self) -> str:
        """Return the name that a clone of the remote gets."""
        return Path(self.remote.rstrip("/")).name.removesuffix(".git")


@dataclass(frozen=True, slots=True)
class Submitted:
    """Name a submitted plan, and the branch that it lands on."""

    plan: str
    branch: str


def find_target(git: Git, remote: str, base_branch: str) -> Target:
    """Return the target of a plan: it begins at the tip of the remote's branch or default branch.

    `git` may be of any folder. Raises `InvalidInput` for a URL with a password and for a branch
    that does not exist, and `CommandFailed` if the remote does not answer.
    """
    if refs.without_credentials(remote) != remote:
        raise InvalidInput(
            "the repo's URL has a password or a token, which would be kept in the fleet's database",
            "leave it out: each worker's git has a credential of its own",
        )
    tips = refs.branch_tips(git, remote)
    name = base_branch or refs.default_branch(git, remote)
    if not base_branch and name not in tips and len(tips) == 1:
        (name,) = tips  # a remote whose HEAD nobody has set
    if name not in tips:
        raise InvalidInput(
            f"{remote} has no branch {name!r}" if name else f"{remote} has no default branch",
            f"name one with --base: {', '.join(sorted(tips)[:5]) or 'push a first commit'}",
        )
    return Target(remote, name, tips[name])


def fetch_project(target: Target, folder: Path) -> str:
    """Write the files of the target into `folder` that may hold settings, and return its base.

    Raises `CommandFailed` if the remote does not answer.
    """
    git, ref = Git(folder), f"refs/heads/{target.base_branch}"
    repos.initialise(git)
    refs.fetch_refs(git, target.remote, (f"+{ref}:{ref}",), history=False)
    base = refs.commit_of(git, ref)
    for name in PROJECT_FILES:
        if (content := trees.content_of(git, base, name)) is not None:
            write_bytes(folder / name, content, sync=False)
    return base


def submit_plan(
    link: Link, workdir: Path, orders: Sequence[LoadedOrder], target: Target, options: RunOptions
) -> Submitted:
    """Queue a plan and return what `llmch fleet` knows it by.

    Raises `PreflightRefused` if the branch is protected or git does not allow its name.
    """
    plan = new_run_id()
    document = _document(workdir, orders, target, options)
    link.queue.put(
        Job(
            plan,
            Kind.COORDINATE,
            plan,
            {"plan": render(document)},
            # One coordinator at a time works on a branch.
            turn=f"{target.remote} {document.branch}",
            submission=plan,
            about=f"{target.repo} {document.branch}",
        )
    )
    return Submitted(plan, document.branch)


def _document(
    workdir: Path, orders: Sequence[LoadedOrder], target: Target, options: RunOptions
) -> PlanDocument:
    settings, git = options.settings, Git(workdir)
    branch = options.branch or default_branch(orders)
    refuse_name(git, branch, settings.protected_branches)
    terms = commit_terms(git, settings.commit, None)
    names = list_plan_files(workdir)
    return PlanDocument(
        remote=target.remote,
        repo=target.repo,
        base_branch=target.base_branch,
        base=target.base,
        branch=branch,
        files={name: (workdir / name).read_text("utf-8") for name in names},
        author=terms.author,
        subject=settings.commit.subject,
        date=terms.date,
        options=shared_options(options),
        protected_branches=settings.protected_branches,
        train=settings.fleet.train,
        keep_going=options.keep_going,
        allow_verify_exempt=options.allow_verify_exempt,
        allow_changed=options.allow_changed,
        allow_lost=options.allow_lost,
    )


_LOOK_EVERY_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 10.0


@dataclass(slots=True)
class Awaited:
    """Wait for one submitted plan, and pass the events of its run to `emit`."""

    link: Link
    plan: str
    emit: Emit
    _last_event: int = 0
    _told: str = ""
    _end: BatchEnded | None = None
    """How the run ended, which is reported when its records are here."""

    def summary(self, artifacts: Path) -> BatchSummary:
        """Return how the plan ended, once it has; its records are below `artifacts` then.

        Raises the error that ended the run, as `run-all` would have; `CommandFailed` where the plan
        was cancelled; and `InvalidInput` if the fleet does not know it.
        """
        outcome = self._outcome()
        try:
            unpack(outcome.files, artifacts, outcome.folder)
        except ValueError as bad:
            self._forget()
            raise _unreadable(str(bad)) from None
        if self._end:
            run_dir = self._end.run_dir.replace(outcome.folder, str(artifacts))
            self.emit(replace(self._end, run_dir=run_dir))
        self._forget()
        if outcome.error is not None:
            raise error_of(outcome.error)
        return _summary(outcome, artifacts)

    def _outcome(self) -> PlanOutcome:
        began = time.monotonic()
        while True:
            try:
                answer = self._look(began)
            except FleetUnavailable as lost:
                self._tell(Warned(f"{lost.message}; the plan goes on without this command"))
                answer = None
            if isinstance(answer, Refusal):
                self._forget()
                raise error_of(answer)
            if answer is not None:
                return _parsed(answer)
            time.sleep(_LOOK_EVERY_SECONDS)

    def _look(self, began: float) -> Answer | None:
        """Show the new events; return the answer once the queue has one."""
        found = self.link.queue.look([self.plan])
        if self.plan not in found or found[self.plan].kind != Kind.COORDINATE:
            raise unknown_plan(self.plan, self.link)
        standing = found[self.plan]
        self._show_events()
        if standing.state is JobState.CANCELLED:
            raise self._cancelled()
        if standing.state is JobState.WAITING and time.monotonic() - began > _PATIENCE_SECONDS:
            self._say_why_it_waits()
        return standing.answer if standing.state is JobState.DONE else None

    def _show_events(self) -> None:
        while seen := events_after(self.link.database, {self.plan: self._last_event}):
            for each in seen:
                self._last_event = each.id
                event = event_from_json(each.document)
                if isinstance(event, BatchEnded):
                    self._end = event
                elif event:
                    self.emit(event)

    def _cancelled(self) -> CommandFailed:
        victims = died_with(self.link.database, self.plan)
        self._forget()
        if victims:
            return CommandFailed(
                f"{len(victims)} workers died while they ran the plan ({', '.join(victims)}): it "
                "is given to no other one",
                "see why they died, and submit the plan again: it goes on from there",
            )
        return CommandFailed(
            f"plan {self.plan} was cancelled by `llmch fleet cancel`",
            "what has landed stays; the plan submitted again goes on from there",
        )

    def _say_why_it_waits(self) -> None:
        workers = [each for each in workers_seen(self.link.database) if each.lives and each.slots]
        if workers:
            self._tell(Noted("the plan waits for its turn"))
        else:
            self._tell(Warned("no worker of the fleet is alive: the plan waits for one"))

    def _tell(self, event: Noted | Warned) -> None:
        """Emit an event, unless it was the last one of its kind here."""
        if event.message != self._told:
            self._told = event.message
            self.emit(event)

    def _forget(self) -> None:
        self.link.queue.forget([self.plan])
        forget_events(self.link.database, [self.plan])
        forget_takeovers(self.link.database, [self.plan])


def unknown_plan(plan: str, link: Link) -> InvalidInput:
    """Return the error for a plan that the fleet does not know; it lists those that it does."""
    known = ", ".join(each.id for each in link.queue.submitted())
    return InvalidInput(
        f"the fleet knows no submitted plan {plan!r}",
        f"it knows {known}" if known else "none is queued, and the end of none waits to be read",
    )


def _parsed(answer: Mapping[str, Any]) -> PlanOutcome:
    try:
        return parse(PlanOutcome, answer.get("outcome"))
    except JobMisread as misread:
        raise _unreadable(str(misread)) from None


def _summary(outcome: PlanOutcome, artifacts: Path) -> BatchSummary:
    from pydantic import ValidationError

    try:
        return BatchSummary.model_validate(_moved(outcome.summary, outcome.folder, str(artifacts)))
    except (ValidationError, RecursionError) as error:
        raise _unreadable(str(error)[:300]) from None


def _moved(value: Any, was: str, now: str) -> Any:
    """Return a document in which the paths below `was` are below `now`."""
    match value:
        case str():
            return value.replace(was, now) if was else value
        case dict():
            return {key: _moved(each, was, now) for key, each in value.items()}
        case list():
            return [_moved(each, was, now) for each in value]
        case _:
            return value


def _unreadable(why: str) -> CommandFailed:
    return CommandFailed(
        f"the end of the plan cannot be read: {why}",
        "see that all workers run this llmch: `llmch fleet status` names their versions",
    )
