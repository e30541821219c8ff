"""The model as a run sees it: metered, recorded, capped, and live or replayed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from shared.events import Emit
from shared.llm.client import LlmClient
from shared.llm.prices import KNOWN_PRICES, Prices
from shared.llm.transcript import RecordingClient, ReplayClient, Transcript
from shared.llm.usage import Budget, CappedClient, Meter, MeteredClient


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
                inner: LlmClient = ReplayClient(transcript)
                origin = str(transcript.origin.get("origin", "unknown"))
                client = MeteredClient(inner, meter, prices=source.prices, emit=emit)
                yield Model(client, meter, origin)
        case Mode.LIVE:
            path = source.transcript or folder / "transcript.jsonl"
            with Transcript.open(path, {"origin": "live"}) as transcript:
                live = CappedClient(source.open_live(emit), source.budget, source.prices)
                inner = RecordingClient(live, transcript)
                client = MeteredClient(inner, meter, prices=source.prices, emit=emit)
                yield Model(client, meter, "")
