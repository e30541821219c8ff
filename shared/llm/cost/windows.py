"""Says how many tokens each model takes at once, by a table that the configuration can extend."""

from __future__ import annotations

from collections.abc import Mapping

from shared.llm.cost.prices import by_model

Windows = Mapping[str, int]
"""For each model, the tokens of prompt and reply together that one call can take."""

# From what third parties list of May 2026, not checked against the provider's own pages; where they
# disagree, the largest, which only loosens a bound. A server may be started with a smaller window
# than its model has, so the configuration wins.
KNOWN_WINDOWS: Windows = {
    "gpt-4.1": 1_047_576,
    "gpt-4.1-mini": 1_047_576,
    "gpt-4.1-nano": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4o-mini": 128_000,
    "gpt-5": 400_000,
    "gpt-5-codex": 400_000,
    "gpt-5-mini": 400_000,
    "gpt-5-nano": 400_000,
    "gpt-5.1": 400_000,
    "gpt-5.2": 400_000,
    "gpt-5.2-codex": 400_000,
    "gpt-5.3-codex": 400_000,
    "gpt-5.4": 1_050_000,
    "gpt-5.4-mini": 400_000,
    "gpt-5.4-nano": 400_000,
    "gpt-5.5": 1_050_000,
    "o3": 200_000,
    "o4-mini": 200_000,
}


def window_of(model: str, windows: Windows = KNOWN_WINDOWS) -> int | None:
    """Return the window of `model` in tokens, or `None`. A dated snapshot has its model's."""
    return by_model(model, windows)


def extend_windows(more: Windows, windows: Windows = KNOWN_WINDOWS) -> Windows:
    """Return the table with `more` added; where both have a name, `more` wins."""
    return {**windows, **more}
