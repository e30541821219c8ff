"""Repeats calls whose reply broke off or was cut short, although they may have been paid for.

The client belongs outside the budget, so that the budget checks each repetition. It belongs
inside the transcript, so that the transcript holds the final outcome.
"""

from __future__ import annotations

from dataclasses import replace

from shared.errors import BudgetReached
from shared.llm.client import (
    Completion,
    LlmClient,
    ReplyBroken,
    ReplyCutShort,
    ReplyFailed,
    Request,
    Usage,
)
from shared.llm.wire.retry import RetryContext

_BROKEN_REPLIES = 3


class SecondChanceClient:
    """Repeat a call whose reply broke off; repeat it once with twice the limit if it was cut short.

    A call whose replies break off is made three times at most.
    """

    def __init__(self, inner: LlmClient, patience: RetryContext) -> None:
        self._inner = inner
        self._patience = patience

    def complete(self, request: Request) -> Completion:
        """Return the inner client's reply; its usage includes that of the failed calls before."""
        try:
            return self._complete_unbroken(request)
        except ReplyCutShort as cut:
            limit = 2 * (request.max_output_tokens or cut.usage.output_tokens)
            if limit == 0:
                raise
            # A cap that leaves less than that is no reason to ask: the reply may be cut again.
            roomier = replace(request, max_output_tokens=limit, expected_output_tokens=limit)
            return self._repeat_cut(roomier, cut, f"{cut.message}; asked again with {limit:,}")

    def _complete_unbroken(self, request: Request) -> Completion:
        spent = Usage()
        words: list[str] = []
        for turn in range(1, _BROKEN_REPLIES + 1):
            try:
                completion = self._inner.complete(request)
            except ReplyBroken as broken:
                spent += broken.usage
                if turn == _BROKEN_REPLIES:
                    raise ReplyBroken(f"{broken.message} ({turn} times)", spent) from None
                words.append(f"{broken.message}; asked again")
                seconds = self._patience.policy.backoff(turn)
                self._patience.of(request.place.order).wait(broken.message, turn, seconds)
            except ReplyFailed as failed:
                failed.usage += spent
                raise
            else:
                return _with_earlier(completion, spent, words)
        raise AssertionError("the last turn returns or raises")

    def _repeat_cut(self, request: Request, cut: ReplyCutShort, words: str) -> Completion:
        try:
            return _with_earlier(self._complete_unbroken(request), cut.usage, [words])
        except BudgetReached:
            raise cut from None
        except ReplyFailed as failed:
            failed.usage += cut.usage
            raise


def _with_earlier(completion: Completion, spent: Usage, words: list[str]) -> Completion:
    """Return the completion with the usage and the words of the failed calls before it."""
    return replace(
        completion,
        usage=spent + completion.usage,
        adjustments=(*completion.adjustments, *words),
    )
