"""Estimates how long the reply to an order will be, from the files that it writes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from shared.llm.cost.estimates import likely_tokens, most_tokens

# A file that an order of usual size creates has about this many bytes: a module of 100 lines.
NEW_FILE_BYTES = 4_000

# The reply has a summary and marks around its files, and a model may reason before it answers.
_ASIDE_TOKENS = 1_000


def likely_reply_tokens(sizes: Iterable[int | None]) -> int:
    """Return how many tokens a reply probably takes that writes files whole.

    `sizes` are the bytes of the files to write as they are now; `None` is a new file.
    """
    return _ASIDE_TOKENS + sum(likely_tokens(size or NEW_FILE_BYTES) for size in sizes)


def ample_reply_tokens(sizes: Iterable[int | None]) -> int:
    """Return with how many tokens a reply that writes files whole should not be cut short."""
    return _ASIDE_TOKENS + sum(most_tokens(size or NEW_FILE_BYTES) for size in sizes)
