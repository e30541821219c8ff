"""Shares replies between machines, so that what one of them has asked no other asks again."""

from __future__ import annotations

from typing import Protocol

from shared.llm.client import Completion, LlmClient, ReplyFailed, Request
from shared.llm.record.lines import CallFailure, Response
from shared.llm.record.request_json import request_key

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
            return _reply_of(outcome)
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
            return _reply_of(stays)
        reply = Response(key, completion)
        stays = self._shared.keep(request, reply)
        return completion if stays == reply else _reply_of(stays)


def _reply_of(outcome: Outcome) -> Completion:
    match outcome:
        case Response(_, completion):
            return completion
        case CallFailure(_, failed):
            raise ReplyFailed(failed.message, failed.usage, replayed=True)
