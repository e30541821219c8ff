"""Opens the model of a run: metered, recorded, capped, and either live or replayed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from shared.errors import ModelUnavailable
from shared.events.events import Emit, Noted, Warned
from shared.files.secret_values import secret_values
from shared.llm import replayed_replies
from shared.llm.budget import KNOWN, Budget, CappedClient, ModelTables, SharedBudget
from shared.llm.call_retry import RetryContext, RetryPolicy, SecondChanceClient, SystemClock
from shared.llm.model_access import is_loopback
from shared.llm.model_client import LlmClient
from shared.llm.transcript import Transcript, describe_uncertain
from shared.llm.transcript_lines import LIVE, ReplyOrigin, describe_origin
from shared.llm.usage import Meter, MeteredClient


class Mode(StrEnum):
    """Represent where replies come from: a model, or a transcript alone."""

    LIVE = "live"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Hold the choice of how a run gets its replies.

    A replay answers from `transcript`. A live run records there; without a `transcript` it records
    in its own folder. `open_live` makes the client that asks the model. A client that is a context
    manager is closed at the end.
    """

    mode: Mode
    open_live: Callable[[Emit], LlmClient] | None = None
    transcript: Path | None = None
    origin: ReplyOrigin = LIVE
    """Where the replies come from, for the header of a new transcript."""
    base_url: str = ""
    """The URL of the live model's server, without credentials. It goes into the records."""
    reviewer_base_url: str = ""
    """The URL of the reviewer's server, where the reviewer has a server of its own."""
    dated: bool = True
    """Whether header and records carry the date. Without dates, equal replies make equal files."""
    budget: Budget = field(default_factory=Budget)
    purse: SharedBudget | None = None
    """The budget that several sources share, as when one command plans and then runs."""
    shared: replayed_replies.SharedReplies | None = None
    """The replies that several machines share, if they do."""
    tables: ModelTables = KNOWN
    """The known facts about models: their prices and their windows."""
    missing: ModelUnavailable | None = None
    """Why no model can be asked, for a command that may need none; who asks all the same ends."""


@dataclass(frozen=True, slots=True)
class Model:
    """Hold an open model: the client to ask, and the meter of the usage so far."""

    client: LlmClient
    meter: Meter
    origin: str
    """The origin of the replies, as a replay's transcript gives it; empty for a live model."""
    at_once: int = 1
    """How many calls may be under way at a time where a run has several to make."""


@contextlib.contextmanager
def open_model(
    source: ModelSource,
    folder: Path,
    emit: Emit,
    earlier: Sequence[replayed_replies.EarlierRun] = (),
) -> Iterator[Model]:
    """Open the model for a run that records in `folder`, and close its client and files at the end.

    A request that the transcripts of `earlier` runs answer (newest first) is not sent again.
    Raises `InvalidInput` if a transcript cannot be read or used.
    """
    meter = Meter()
    with contextlib.ExitStack() as opened:
        match source.mode:
            case Mode.REPLAY:
                assert source.transcript is not None, "the command line demands --transcript"
                transcript = Transcript.read(source.transcript)
                inner: LlmClient = replayed_replies.ReplayClient(transcript)
                origin = describe_origin(transcript.origin)
                emit(Noted(f"no model is asked: replies are replayed from {source.transcript}"))
                emit(Noted(f"origin of these replies: {origin}"))
            case Mode.LIVE:
                path = transcript_of(source, folder)
                record = opened.enter_context(_open_record(path, source, emit))
                inner = _recording(source, record, opened, emit, earlier)
                origin = ""
        client = MeteredClient(inner, meter, prices=source.tables.prices, emit=emit)
        yield Model(client, meter, origin, _calls_at_once(source.base_url))


def _calls_at_once(base_url: str) -> int:
    """Return 1 for a server on this machine: it answers one call after the other, so that the last
    of several would hear nothing for longer than a call waits.
    """
    return 1 if is_loopback(urlsplit(base_url).hostname or "") else 4


def _open_record(path: Path, source: ModelSource, emit: Emit) -> Transcript:
    """Open the transcript of a live run, and warn of calls that it holds without an outcome."""
    secrets = secret_values(os.environ)
    origin = replace(source.origin, date=_today()) if source.dated else source.origin
    today = _today if source.dated else None
    transcript = Transcript.open(path, origin, secrets=secrets, today=today)
    _warn_of_uncertain_calls([transcript], emit)
    return transcript


def _warn_of_uncertain_calls(transcripts: Sequence[Transcript], emit: Emit) -> None:
    for place in dict.fromkeys(place for each in transcripts for place in each.uncertain):
        emit(Warned(describe_uncertain(place)))


def transcript_of(source: ModelSource, folder: Path) -> Path:
    """Return the path of the transcript of a run that records in `folder`."""
    return source.transcript or folder / "transcript.jsonl"


def _recording(
    source: ModelSource,
    transcript: Transcript,
    opened: contextlib.ExitStack,
    emit: Emit,
    earlier: Sequence[replayed_replies.EarlierRun],
) -> LlmClient:
    """Stack the layers in the order that keeps their promises.

    The transcript is outermost, so that a reply on record costs nothing. The budget is inside the
    layers that repeat a call, so that each repetition is checked against it.
    """
    assert source.open_live is not None, "only a replay has no model"
    live = source.open_live(emit)
    if isinstance(live, AbstractContextManager):
        opened.enter_context(live)
    purse = source.purse or SharedBudget(source.budget)
    capped = CappedClient(live, purse, source.tables, emit)
    patience = RetryContext(RetryPolicy(), SystemClock(), emit)
    inner: LlmClient = replayed_replies.PerformingClient(SecondChanceClient(capped, patience))
    if source.shared:
        inner = replayed_replies.AskingOnceClient(inner, source.shared)
    before = [
        replayed_replies.EarlierReplies(Transcript.read(each.transcript), each.anew)
        for each in earlier
        if each.transcript != transcript.path
    ]
    if before:
        _warn_of_uncertain_calls([each.transcript for each in before], emit)
        inner = replayed_replies.ResumingClient(inner, before)
    recording = replayed_replies.RecordingClient(inner, transcript)
    return replayed_replies.SharingClient(recording, source.shared) if source.shared else recording


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
