"""Follows a model's reply while it arrives. The module does no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmch.console.planned_orders import PlannedOrders
from shared.events.model_calls import Channel

_TAIL_CHARACTERS = 4000
_CHARACTERS_PER_TOKEN = 4  # a common average; the true figure comes with the reply
# A rate says nothing before a few seconds have passed: servers send the first pieces in a burst.
_LEAST_SECONDS = 3.0


@dataclass(slots=True)
class ArrivingReply:
    """Hold what has arrived of a reply; times are seconds of the caller's clock.

    `tail` is the end of what arrived last, reasoning or text. It is the model's, and not yet fit to
    be shown.
    """

    tail: str = ""
    characters: int = 0
    channel: str = ""
    planned: PlannedOrders = field(default_factory=PlannedOrders)
    _since: float = 0.0

    def add(self, channel: str, piece: str, now: float) -> None:
        """Take the next piece."""
        if not self.channel:
            self._since = now
        if channel != self.channel:
            self.channel, self.tail = channel, ""
        self.tail = (self.tail + piece)[-_TAIL_CHARACTERS:]
        self.characters += len(piece)
        if channel == Channel.TEXT:
            self.planned.add(piece)

    @property
    def tokens(self) -> int:
        """Return the approximate number of tokens that have arrived."""
        return self.characters // _CHARACTERS_PER_TOKEN

    def describe(self, now: float) -> str:
        """Return how much has arrived, and how fast; "" where nothing has."""
        if not self.tokens:
            return ""
        seconds = now - self._since
        rate = round(self.tokens / seconds) if seconds >= _LEAST_SECONDS else 0
        kind = "tokens of reasoning" if self.channel == Channel.REASONING else "tokens"
        return f"about {self.tokens:,} {kind} so far" + (f", {rate:,} a second" if rate else "")
