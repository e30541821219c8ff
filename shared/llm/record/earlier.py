"""Reuses the replies of earlier runs, so that a reply is paid for only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.llm.client import Completion, LlmClient, Request
from shared.llm.record.transcript import Transcript


@dataclass(frozen=True, slots=True)
class EarlierReplies:
    """Hold the transcript of an `EarlierRun`, once it has been read."""

    transcript: Transcript
    anew: frozenset[str] = frozenset()

    def lookup(self, request: Request) -> Completion | None:
        """Return the reply on record; `None` where there is none or the order is in `anew`."""
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
