"""Defines what is shown of an attempt at an order. Times are seconds since the run began."""

from __future__ import annotations

from dataclasses import dataclass, field

from llmch.run_view.model.commands import CommandView
from llmch.run_view.model.states import Judged


@dataclass(frozen=True, slots=True)
class BriefView:
    """Hold why an attempt failed, as the next attempt and the user were informed."""

    stage: str
    command: str = ""
    exit_code: int | None = None
    excerpt: str = ""
    facts: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """Hold a patch, or `missing` says why there is none.

    `command` prints the whole of the patch, and `is_cut` says that this is its beginning only.
    """

    patch: str = ""
    missing: str = ""
    command: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Hold the beginning and the end of a file on record.

    `left_out` is how many bytes stand between the two, and `path` is the file's, within the records
    of the run.
    """

    head: str
    tail: str = ""
    left_out: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class CallView:
    """Hold what a model was asked once, and what it said; `reply` is `None` where it said nothing.

    `reasoning` is `None` where none is on record.
    """

    prompt: Excerpt
    reply: Excerpt | None = None
    reasoning: Excerpt | None = None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """Hold one attempt at an order."""

    number: int
    judged: Judged
    model: str = ""
    summary: str = ""
    """What the model says of its proposal."""
    start: float | None = None
    end: float | None = None
    brief: BriefView | None = None
    change: Change = field(default_factory=Change)
    commands: tuple[CommandView, ...] = ()
    asked_again: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    repeats: int | None = None
    calls: tuple[CallView, ...] = ()
    """The calls of the model, in their sequence."""
