"""Clients that answer from a transcript: first of all, or alone."""

from __future__ import annotations

from shared.errors import LlmchError, ModelUnavailable
from shared.llm.client import Completion, LlmClient, ReplyFailed, Request, Usage
from shared.llm.record.transcript import Transcript


class NotOnRecord(ModelUnavailable):
    """A replay met a request that its transcript does not hold."""


class RecordingClient:
    """Answers from the transcript what is on record, asks `inner` for the rest, and records it."""

    def __init__(self, inner: LlmClient, transcript: Transcript) -> None:
        self._inner = inner
        self._transcript = transcript

    def complete(self, request: Request) -> Completion:
        """Return the reply on record, else the live one, which is on record by then."""
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
    """Answers from the transcript alone; never live."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def complete(self, request: Request) -> Completion:
        """Return the reply on record; `NotOnRecord` says which part of the request changed."""
        if recorded := self._transcript.lookup(request):
            return recorded
        raise NotOnRecord(
            f"no recorded reply in {self._transcript.path}: "
            f"{self._transcript.explain_miss(request)}",
            hint="replay needs the very inputs that were recorded; use --llm live to ask a model",
        )
