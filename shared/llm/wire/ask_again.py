"""Calls repeated although they may have been paid for: broken replies, and ones cut short.

It belongs outside the budget, which so weighs each repetition, and inside the transcript, which
so holds what came of it in the end.
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
    """Asks again for a reply that broke off, and once with a doubled limit for one cut short."""

    def __init__(self, inner: LlmClient, patience: RetryContext) -> None:
        self._inner = inner
        self._patience = patience

    def complete(self, request: Request) -> Completion:
        """Return the inner client's reply, with what the failed ones before it took added."""
        try:
            return self._past_breaks(request)
        except ReplyCutShort as cut:
            limit = 2 * (request.max_output_tokens or cut.usage.output_tokens)
            if limit == 0:
                raise
            roomier = replace(request, max_output_tokens=limit)
            return self._again(roomier, cut, f"{cut.message}; asked again with {limit:,}")

    def _past_breaks(self, request: Request) -> Completion:
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
                return _after(completion, spent, words)
        raise AssertionError("the last turn returns or raises")

    def _again(self, request: Request, cut: ReplyCutShort, words: str) -> Completion:
        try:
            return _after(self._past_breaks(request), cut.usage, [words])
        except BudgetReached:
            raise cut from None
        except ReplyFailed as failed:
            failed.usage += cut.usage
            raise


def _after(completion: Completion, spent: Usage, words: list[str]) -> Completion:
    return replace(
        completion,
        usage=spent + completion.usage,
        adjustments=(*completion.adjustments, *words),
    )
