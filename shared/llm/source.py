"""Where a run gets its replies: from a model, on record as they come, or from a transcript."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from shared.events import Emit
from shared.llm.client import LlmClient
from shared.llm.prices import KNOWN_PRICES, Prices
from shared.llm.redaction import secret_values
from shared.llm.stack import recorded_client, replaying_client
from shared.llm.transcript import Transcript
from shared.llm.usage import Budget, Meter


class Mode(StrEnum):
    """Where replies come from: a model, or a transcript alone."""

    LIVE = "live"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """How a run gets its replies.

    `transcript` is what a replay answers from, and where a live run records; a live run without
    one records in its own folder. `open_live` makes the client that asks the model.
    """

    mode: Mode
    open_live: Callable[[Emit], LlmClient]
    transcript: Path | None = None
    origin: Mapping[str, str] = field(default_factory=lambda: {"by": "live"})
    """What a new transcript's header says of where its replies come from."""
    dated: bool = True
    """Whether records carry the day; without it, equal replies make equal files."""
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=lambda: KNOWN_PRICES)


@dataclass(frozen=True, slots=True)
class Model:
    """An open model: whom to ask, and what it took so far."""

    client: LlmClient
    meter: Meter
    origin: str
    """What a replay's transcript says it was made from; empty for a live model."""


@contextlib.contextmanager
def open_model(source: ModelSource, folder: Path, emit: Emit) -> Iterator[Model]:
    """Open the model for a run that records in `folder`, and close its transcript at the end.

    Raises `InvalidInput` where the transcript cannot be read or used.
    """
    meter = Meter()
    match source.mode:
        case Mode.REPLAY:
            assert source.transcript is not None, "the command line demands --transcript"
            with Transcript.read(source.transcript) as transcript:
                client = replaying_client(transcript, meter, emit=emit)
                yield Model(client, meter, describe_origin(transcript.origin))
        case Mode.LIVE:
            path = source.transcript or folder / "transcript.jsonl"
            today = _today if source.dated else None
            secrets = secret_values(os.environ)
            with Transcript.open(path, source.origin, secrets=secrets, today=today) as transcript:
                client = recorded_client(
                    source.open_live(emit),
                    transcript,
                    meter,
                    budget=source.budget,
                    prices=source.prices,
                    emit=emit,
                )
                yield Model(client, meter, "")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def describe_origin(origin: Mapping[str, str]) -> str:
    """Return in words where a transcript's replies come from."""
    by = origin.get("by", "of unknown origin")
    details = ", ".join(f"{name} {value}" for name, value in origin.items() if name != "by")
    return by if by == "authored" or not details else f"{by} ({details})"
