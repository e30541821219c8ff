"""Looks what comes of the steps that were asked of the fleet, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from factory.fleet.asked import Asked, AskedSteps
from factory.fleet.candidates import announced
from factory.fleet.jobs import PROTOCOL, JobState, Standing
from factory.fleet.leases import Lease, WorkerSeen, workers_seen
from factory.fleet.link import Link
from factory.fleet.live_events import events_after
from factory.fleet.outcomes import Outcomes
from shared.errors import CommandFailed, FleetUnavailable
from shared.events.event import Emit
from shared.events.from_json import event_from_json
from shared.events.messages import Noted, Warned

LOOK_EVERY_SECONDS: Final = 0.2
_SHOW_EVERY_SECONDS: Final = 0.5
# How long jobs may wait before the person is told why, and told again.
_PATIENCE_SECONDS: Final = 10.0
_TELL_AGAIN_SECONDS: Final = 60.0

GOES_ON: Final = "the same command again goes on from there"
_STOOD_STILL: Final = "this process stood still for longer than its lease, and the fleet gave it up"
_DROPPED: Final = "the plan was cancelled, or given to another worker"


@dataclass(slots=True)
class Looking:
    """Bring back what came of steps, and say that the run lives, until it is closed.

    An outage of the database is waited for. Where no worker is alive, the run `waits` for one, or
    its steps are given up. `dropped` says that another process has the run.
    """

    link: Link
    asked: AskedSteps
    outcomes: Outcomes
    lease: Lease
    emit: Emit
    waits: bool = True
    dropped: threading.Event = field(default_factory=threading.Event)
    _closed: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _shown_at: float = 0.0
    _beaten_at: float = 0.0
    _idle_since: float | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._closed.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        told = False
        while not self._closed.wait(LOOK_EVERY_SECONDS):
            try:
                self._look()
            except FleetUnavailable as lost:
                if not told:
                    self.emit(Warned(f"{lost.message}; the run waits for it"))
                told = True
            else:
                if told:
                    self.emit(Noted("the fleet's database is back"))
                told = False

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._beaten_at > self.lease.seconds_between_beats:
            if not self.lease.beat():
                self.asked.give_up(CommandFailed(_STOOD_STILL, GOES_ON))
            self._beaten_at = now
        if self.dropped.is_set():
            self.asked.give_up(CommandFailed(_DROPPED, GOES_ON))
        asked = self.asked.now()
        standing = self.link.queue.look(list(asked))
        self._announce(asked)
        self._show_events(asked)
        for each in standing.values():
            if each.state in (JobState.DONE, JobState.CANCELLED):
                self._conclude(each)
        self._say_why_nothing_happens(list(standing.values()))

    def _announce(self, asked: Mapping[str, Asked]) -> None:
        for job, commits in announced(self.link.database, list(asked)).items():
            for commit in commits:
                if commit not in asked[job].told:
                    asked[job].told.add(commit)
                    asked[job].step.announce(commit)

    def _show_events(self, asked: Mapping[str, Asked]) -> None:
        """Pass on what happened since, while the steps are taken."""
        if time.monotonic() - self._shown_at < _SHOW_EVERY_SECONDS:
            return
        self._shown_at = time.monotonic()
        last = {job: each.last_event for job, each in asked.items()}
        for seen in events_after(self.link.database, last):
            asked[seen.job].last_event = seen.id
            asked[seen.job].shown[seen.worker] += 1
            if event := event_from_json(seen.document):
                self.emit(event)

    def _conclude(self, standing: Standing) -> None:
        asked = self.asked.take(standing.id)
        if asked is None:
            return  # it was dropped
        try:
            if standing.state is JobState.CANCELLED:
                making = self.outcomes.of_cancelled(standing.id, asked.step)
            else:
                shown = asked.shown[standing.worker]
                making = self.outcomes.of(asked.step, standing.answer, shown)
        except BaseException as error:
            asked.fail(error)
        else:
            asked.settle(making)

    def _say_why_nothing_happens(self, standing: Sequence[Standing]) -> None:
        """Say it where jobs have waited for a while and none runs."""
        now = time.monotonic()
        if {each.state for each in standing} != {JobState.WAITING}:
            self._idle_since = None
            return
        self._idle_since = self._idle_since or now
        if now - self._idle_since < _PATIENCE_SECONDS:
            return
        self._idle_since = now + _TELL_AGAIN_SECONDS
        alive = [each for each in workers_seen(self.link.database) if each.lives and each.slots]
        if not alive and not self.waits:
            hint = f"start one by `llmch worker`; {GOES_ON}"
            self.asked.give_up(FleetUnavailable("no worker of the fleet is alive", hint))
        else:
            self.emit(Warned(_why(alive)))


def _why(alive: Sequence[WorkerSeen]) -> str:
    if not alive:
        return "no worker of the fleet is alive: the run waits for one (`llmch worker`)"
    if any(each.protocol == PROTOCOL for each in alive):
        return "all workers of the fleet are at work for other plans: the run waits"
    named = (f"{each.id} speaks {each.protocol} (llmch {each.version})" for each in alive)
    return f"no worker speaks this llmch's protocol {PROTOCOL}: {', '.join(named)}"
