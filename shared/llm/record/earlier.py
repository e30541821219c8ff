"""Takes up the replies of earlier runs: what was paid for once is not asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shared.llm.client import Completion, LlmClient, Request
from shared.llm.record.transcript import Transcript


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The transcript of an earlier run; `anew` are the orders that are asked anew all the same."""

    transcript: Path
    anew: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EarlierReplies:
    """The transcript of an earlier run, read; see `EarlierRun`."""

    transcript: Transcript
    anew: frozenset[str] = frozenset()

    def lookup(self, request: Request) -> Completion | None:
        """Return the reply on record, or `None` where the order is to be asked anew."""
        return None if request.place.order in self.anew else self.transcript.lookup(request)


class ResumingClient:
    """Answers from an earlier run's transcript where the very request is on record there.

    It belongs inside the recording client, so that the reply goes on record in this run too.
    """

    def __init__(self, inner: LlmClient, earlier: Sequence[EarlierReplies]) -> None:
        self._inner = inner
        self._earlier = tuple(earlier)

    def complete(self, request: Request) -> Completion:
        """Return the reply on record, that of the first transcript that has one, or ask."""
        for earlier in self._earlier:
            if recorded := earlier.lookup(request):
                return recorded
        return self._inner.complete(request)
