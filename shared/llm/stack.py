"""How the layers stand on each other, in the one order that keeps their promises."""

from __future__ import annotations

from shared.events import Emit, ignore
from shared.llm.client import LlmClient
from shared.llm.prices import KNOWN_PRICES, Prices
from shared.llm.retry import Patience, RetryPolicy, SystemClock
from shared.llm.second_chance import SecondChanceClient
from shared.llm.transcript import RecordingClient, ReplayClient, Transcript
from shared.llm.usage import Budget, CappedClient, Meter, MeteredClient


def recorded_client(
    live: LlmClient,
    transcript: Transcript,
    meter: Meter,
    *,
    budget: Budget | None = None,
    prices: Prices = KNOWN_PRICES,
    emit: Emit = ignore,
    patience: Patience | None = None,
) -> MeteredClient:
    """Return a client that answers from `transcript` first, and asks `live` within `budget`."""
    capped = CappedClient(live, budget or Budget(), prices)
    patience = patience or Patience(RetryPolicy(), SystemClock(), emit)
    recording = RecordingClient(SecondChanceClient(capped, patience), transcript)
    return MeteredClient(recording, meter, prices=prices, emit=emit)


def replaying_client(transcript: Transcript, meter: Meter, *, emit: Emit = ignore) -> MeteredClient:
    """Return a client that answers from `transcript` alone, at no cost."""
    return MeteredClient(ReplayClient(transcript), meter, emit=emit)
