"""Takes up the replies of an earlier run: what was paid for once is not asked again."""

from __future__ import annotations

from shared.llm.client import Completion, LlmClient, Request
from shared.llm.transcript import Transcript


class ResumingClient:
    """Answers from an earlier run's transcript where the very request is on record there.

    It belongs inside the recording client, so that the reply goes on record in this run too.
    """

    def __init__(self, inner: LlmClient, earlier: Transcript) -> None:
        self._inner = inner
        self._earlier = earlier

    def complete(self, request: Request) -> Completion:
        """Return the reply on record, else the inner client's."""
        return self._earlier.lookup(request) or self._inner.complete(request)
