"""Waits for a submitted plan, shows what happens meanwhile, and brings its records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from factory.fleet.carried_files import unpack
from factory.fleet.jobs import Answer, JobMisread, JobState, Kind, Refusal
from factory.fleet.leases import workers_seen
from factory.fleet.link import Link
from factory.fleet.live_events import events_after, forget_events
from factory.fleet.plans.documents import PlanOutcome
from factory.fleet.rescue import died_with, forget_takeovers
from factory.fleet.wire import error_of, parse
from factory.orders.documents import BatchSummary
from shared.errors import CommandFailed, FleetUnavailable, InvalidInput
from shared.events.event import Emit
from shared.events.from_json import event_from_json
from shared.events.messages import Noted, Warned
from shared.events.orders import BatchEnded

_LOOK_EVERY_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 10.0


@dataclass(slots=True)
class Awaited:
    """Wait for one submitted plan. What happens meanwhile goes to `emit`."""

    link: Link
    plan: str
    emit: Emit
    _last_event: int = 0
    _told: str = ""
    _end: BatchEnded | None = None
    """How the run ended, which is told when its records are here."""

    def summary(self, artifacts: Path) -> BatchSummary:
        """Return how the plan ended, once it has; its records are below `artifacts` then.

        Raises the error that ended the run, as `run-all` would have; `CommandFailed` where the plan
        was cancelled; and `InvalidInput` where the fleet does not know it.
        """
        outcome = self._outcome()
        unpack(outcome.files, artifacts, outcome.folder)
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
        """Show what happened since; return the answer once there is one."""
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
        """Remove what the fleet has of a plan whose end was told."""
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
    except ValidationError as error:
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
