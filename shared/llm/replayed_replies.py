"""Answers from a transcript, from earlier runs, or from other machines."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from shared.errors import InvalidInput, LlmchError, ModelUnavailable
from shared.llm.model_client import Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import (
    CallFailure,
    Response,
    parse_record,
    reply_of,
    request_key,
)


class NotOnRecord(ModelUnavailable):
    """Raised when a replay gets a request that its transcript does not hold."""


class _Turn:
    """Let one thread at a time ask for a request; forgotten when none asks for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class RecordingClient:
    """Answer from the transcript what is on record; ask `inner` for the rest, and record it.

    Threads that ask the same at the same time take turns, so that only the first one pays.
    """

    def __init__(self, inner: LlmClient, transcript: Transcript) -> None:
        self._inner = inner
        self._transcript = transcript
        self._turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        """Return the reply on record, else the live reply once it is recorded."""
        with self._lock:
            turn = self._turns.setdefault(request_key(request), _Turn())
        with turn.lock:
            return self._recorded_or_live(request)

    def _recorded_or_live(self, request: Request) -> Completion:
        if recorded := self._transcript.lookup(request):
            return recorded
        if request.perform:
            return self._performed(request)
        key = self._transcript.begin(request)
        try:
            completion = self._inner.complete(request)
        except ReplyFailed as failed:
            self._transcript.fail(key, failed, handed_on=True)
            raise
        except LlmchError as error:
            self._transcript.fail(key, ReplyFailed(error.message, Usage()), handed_on=False)
            raise
        return self._transcript.finish(key, completion)

    def _performed(self, request: Request) -> Completion:
        """Return what comes of it, recorded with its outcome alone: a kill loses nothing paid."""
        try:
            completion = self._inner.complete(request)
        except ReplyFailed as failed:
            self._transcript.fail(self._transcript.begin(request), failed, handed_on=True)
            raise
        return self._transcript.finish(self._transcript.begin(request), completion)


class PerformingClient:
    """Have a request that says how it is performed do so, and ask `inner` the others."""

    def __init__(self, inner: LlmClient) -> None:
        self._inner = inner

    def complete(self, request: Request) -> Completion:
        return request.perform() if request.perform else self._inner.complete(request)


class ReplayClient:
    """Answer requests from the transcript alone, without a model."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def complete(self, request: Request) -> Completion:
        """Return the reply on record.

        Raises `NotOnRecord`, which says what part of the request changed, where there is none.
        """
        if recorded := self._transcript.lookup(request):
            return recorded
        raise NotOnRecord(
            f"no recorded reply in {self._transcript.path}: "
            f"{self._transcript.explain_miss(request)}",
            hint="a replay needs exactly the inputs that were recorded; "
            "use --llm live to ask a model",
        )


@dataclass(frozen=True, slots=True)
class EarlierReplies:
    """Hold the transcript of an `EarlierRun`, once it has been read."""

    transcript: Transcript
    anew: frozenset[str] = frozenset()

    def lookup(self, request: Request) -> Completion | None:
        """Return the reply on record; `None` if there is none or the order is in `anew`."""
        return None if request.place.order in self.anew else self.transcript.lookup(request)


class ResumingClient:
    """Answer a request from an earlier run's transcript where exactly that request is on record.

    It belongs inside the recording client, so that the reply is recorded in this run too.
    """

    def __init__(self, inner: LlmClient, earlier: Sequence[EarlierReplies]) -> None:
        self._inner = inner
        self._earlier = tuple(earlier)

    def complete(self, request: Request) -> Completion:
        """Return the reply of the first transcript that has one, else the inner client's reply."""
        for earlier in self._earlier:
            if recorded := earlier.lookup(request):
                return recorded
        return self._inner.complete(request)


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """Hold the path of an earlier run's transcript.

    `anew` names the orders whose replies in it are not reused: their requests are sent again.
    """

    transcript: Path
    anew: frozenset[str] = frozenset()


def reply_texts(path: Path) -> Iterator[str]:
    """Yield each reply on record. Lines that are not of a transcript are left out.

    Raises `InvalidInput` if the file cannot be read.
    """
    if not path.is_file():  # opening a FIFO would wait for a writer
        raise InvalidInput(f"transcript {path} is not a file", "name a transcript of a run")
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    record = parse_record(line)
                except ValueError:
                    continue
                if isinstance(record, Response):
                    yield record.completion.text
    except OSError as error:
        raise InvalidInput(
            f"cannot read the transcript {path}: {error.strerror}", "name a transcript of a run"
        ) from error


Outcome = Response | CallFailure


class SharedReplies(Protocol):
    """Hold the outcomes of calls for several machines. The first outcome of a request stays."""

    def begin(self, request: Request) -> Outcome | None:
        """Record that this machine asks; return the outcome where there is one already.

        While another living machine asks the same, this waits for its outcome.
        """

    def keep(self, request: Request, outcome: Outcome) -> Outcome:
        """Record an outcome and return the one that stays; this may be another machine's."""

    def give_up(self, request: Request) -> None:
        """Record that this machine does not ask any more, and has no outcome."""


class AskingOnceClient:
    """Answer what another machine has asked; have `inner` ask the rest.

    It belongs inside the recording client, so that another machine's reply is recorded here too.
    """

    def __init__(self, inner: LlmClient, shared: SharedReplies) -> None:
        self._inner = inner
        self._shared = shared

    def complete(self, request: Request) -> Completion:
        """Return another machine's reply, else the inner client's."""
        if outcome := self._shared.begin(request):
            return reply_of(outcome)
        try:
            return self._inner.complete(request)
        except ReplyFailed:
            raise  # a failure is an outcome
        except BaseException:
            self._shared.give_up(request)
            raise


class SharingClient:
    """Share each outcome once the inner client has it, and has recorded it on this machine.

    It belongs around the recording client: a reply that is on this machine's disk survives where
    the others cannot be reached.
    """

    def __init__(self, inner: LlmClient, shared: SharedReplies) -> None:
        self._inner = inner
        self._shared = shared

    def complete(self, request: Request) -> Completion:
        """Return the reply that all machines have."""
        key = request_key(request)
        try:
            completion = self._inner.complete(request)
        except ReplyFailed as failed:
            failure = CallFailure(key, failed, handed_on=True)
            if (stays := self._shared.keep(request, failure)) == failure:
                raise
            return reply_of(stays)
        reply = Response(key, completion)
        stays = self._shared.keep(request, reply)
        return completion if stays == reply else reply_of(stays)
