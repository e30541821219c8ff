"""Follows a model's reply and reasoning while they arrive, and finds a plan's orders in a reply."""

from __future__ import annotations

import contextlib
import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.events.events import Channel

_KEPT_ORDERS = 3
_MAX_TEXT = 200  # characters; a title of a usable plan is shorter
_MAX_STRING = 12 * _MAX_TEXT  # where each is written as two escapes of six
_MAX_DEPTH = 50
_ID = re.compile(r"WO-\d{2,6}")


@dataclass(slots=True)
class PlannedOrder:
    """Hold what has arrived of an order; `field` is the key whose value is arriving."""

    id: str = ""
    title: str = ""
    field: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether both are there; requirements, for example, have ids of other forms."""
        return bool(_ID.fullmatch(self.id) and self.title)


@dataclass(slots=True)
class PlannedOrders:
    """Read a reply piece by piece, and keep the last orders that it has begun.

    The reply may hold prose and fences around its JSON, and may be anything else: then there are no
    orders. All texts are the model's, and not yet fit to be shown.
    """

    count: int = 0
    latest: deque[PlannedOrder] = field(default_factory=lambda: deque(maxlen=_KEPT_ORDERS))
    _objects: list[PlannedOrder | None] = field(default_factory=list)
    """The objects and arrays that are open; an array is `None`."""
    _key: str = ""
    _string: list[str] | None = None
    _last: str = ""
    _escaped: bool = False

    def add(self, piece: str) -> None:
        for character in piece:
            if self._string is None:
                self._outside(character)
            else:
                self._inside(self._string, character)

    def _inside(self, string: list[str], character: str) -> None:
        # JSON has no line break in a string, so a quote in prose is over with its line.
        if character == "\n":
            self._string, self._escaped = None, False
        elif character == '"' and not self._escaped:
            self._string = None
            self._end(_decoded("".join(string)))
        else:
            self._escaped = character == "\\" and not self._escaped
            if len(string) < _MAX_STRING:
                string.append(character)

    def _outside(self, character: str) -> None:
        match character:
            case '"':
                self._string, self._escaped = [], False
            case ":":
                self._key = self._last
                self._name_field()
            case "{" | "[":
                if len(self._objects) < _MAX_DEPTH:
                    self._objects.append(PlannedOrder() if character == "{" else None)
                self._key = ""
            case "}" | "]":
                if self._objects:
                    self._objects.pop()
                self._key = ""
            case ",":
                self._key = ""
            case _:
                pass

    def _end(self, text: str) -> None:
        """Take a string that is complete: a key, or a value."""
        self._last = text
        order = self._objects[-1] if self._objects else None
        if order is None or self._key not in ("id", "title"):
            return
        was_whole = order.is_whole
        if self._key == "id":
            order.id = text
        else:
            order.title = text
        if order.is_whole and not was_whole:
            self.count += 1
            self.latest.append(order)

    def _name_field(self) -> None:
        if self._objects and (order := self._objects[-1]) is not None:
            order.field = self._key


def _decoded(literal: str) -> str:
    """Return the text of a JSON string, as far as it is kept; it may be cut in an escape."""
    for each in (literal, literal[: literal.rfind("\\")]):
        with contextlib.suppress(ValueError):
            return str(json.loads(f'"{each}"'))[:_MAX_TEXT]
    return literal[:_MAX_TEXT]


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
        """Return how much has arrived, and how fast; "" if nothing has."""
        if not self.tokens:
            return ""
        seconds = now - self._since
        rate = round(self.tokens / seconds) if seconds >= _LEAST_SECONDS else 0
        kind = "tokens of reasoning" if self.channel == Channel.REASONING else "tokens"
        return f"about {self.tokens:,} {kind} so far" + (f", {rate:,} a second" if rate else "")


_MAX_LINE = 2000  # characters; a longer line is shown as several


class Reasoning:
    """Put the pieces of reasoning together; `protect` makes each whole line fit to be shown."""

    def __init__(self, protect: Callable[[str], str]) -> None:
        self._protect = protect
        self._rest = ""

    def add(self, piece: str) -> list[str]:
        """Return the lines that this piece completes."""
        *whole, self._rest = (self._rest + piece).split("\n")
        lines = self._shown("\n".join(whole))
        return lines + self.end() if len(self._rest) > _MAX_LINE else lines

    def end(self) -> list[str]:
        """Return the lines that are left when the reasoning is over."""
        rest, self._rest = self._rest, ""
        return self._shown(rest)

    def _shown(self, text: str) -> list[str]:
        return [line for line in self._protect(text).split("\n") if line.strip()]
