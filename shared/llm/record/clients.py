"""Answers requests from a transcript, before a model is asked or instead of one."""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from shared.errors import LlmchError, ModelUnavailable
from shared.llm.client import Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.record.request_json import request_key
from shared.llm.record.transcript import Transcript


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
