"""The layers on each other: another chance inside the transcript, the budget inside that."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from shared.errors import BudgetReached
from shared.events.events import Event, ModelRetryScheduled, Warned
from shared.llm.budget import Budget, CappedClient, ModelTables, SharedBudget
from shared.llm.call_retry import RetryContext, SecondChanceClient
from shared.llm.model_client import (
    Completion,
    LlmClient,
    ReplyBroken,
    ReplyCutShort,
    ReplyFailed,
    Request,
    Usage,
)
from shared.llm.stack import Mode, ModelSource, open_model
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import AUTHORED
from shared.llm.usage import Price
from tests.shared.llm.edge import POLICY, FakeClock, chat_request

TAKEN = Usage(1, 10, 0, 5)
GOOD = Completion("good", "small-1", TAKEN)
BROKEN = ReplyBroken("it broke off", TAKEN)
CUT = ReplyCutShort("it was cut", TAKEN)


class Scripted:
    """A model that gives one outcome after another."""

    def __init__(self, *outcomes: Completion | Exception) -> None:
        self.outcomes = list(outcomes)
        self.limits: list[int | None] = []

    def complete(self, request: Request) -> Completion:
        self.limits.append(request.max_output_tokens)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def chance(inner: LlmClient, events: list[Event] | None = None) -> SecondChanceClient:
    emit = events.append if events is not None else (lambda event: None)
    return SecondChanceClient(inner, RetryContext(POLICY, FakeClock(), emit))


def test_a_transcript_keeps_what_came_of_replies_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    estimated = Usage(1, 10, 0, 5, estimated_calls=1)
    with Transcript.open(path, AUTHORED, secrets=("s3cret-key",)) as transcript:
        key = transcript.begin(chat_request())
        failed = ReplyFailed("it broke off", estimated, lost=("half", "of s3cret-key"))
        transcript.fail(key, failed, handed_on=True)
        key = transcript.begin(chat_request("Again."))
        transcript.finish(key, Completion("good", "small-1", estimated, lost=("half",)))
    read = Transcript.read(path)
    with pytest.raises(ReplyFailed) as caught:
        read.lookup(chat_request())
    assert caught.value.lost == ("half", "of [redacted]")
    assert caught.value.usage.estimated_calls == 1
    assert (again := read.lookup(chat_request("Again.")))
    assert (again.lost, again.usage.estimated_calls) == (("half",), 1)


def test_a_broken_reply_is_asked_for_again_and_all_of_it_is_counted() -> None:
    events: list[Event] = []
    completion = chance(Scripted(BROKEN, BROKEN, GOOD), events).complete(chat_request())
    assert completion.text == "good"
    assert completion.usage == TAKEN + TAKEN + TAKEN
    assert completion.adjustments == ("it broke off; asked again",) * 2
    assert events == [
        ModelRetryScheduled("it broke off", 1.0, 1, "WO-01"),
        ModelRetryScheduled("it broke off", 2.0, 2, "WO-01"),
    ]


def test_a_reply_that_breaks_three_times_is_a_failed_attempt() -> None:
    with pytest.raises(ReplyBroken, match=r"it broke off \(3 times\)") as caught:
        chance(Scripted(BROKEN, BROKEN, BROKEN)).complete(chat_request())
    assert caught.value.usage == TAKEN + TAKEN + TAKEN


def test_a_cut_reply_gets_twice_the_room_once() -> None:
    model = Scripted(CUT, BROKEN, GOOD)
    completion = chance(model).complete(chat_request(max_output_tokens=100))
    assert model.limits == [100, 200, 200]
    assert completion.usage.calls == 3
    with pytest.raises(ReplyCutShort) as caught:
        chance(Scripted(ReplyCutShort("cut", TAKEN), ReplyCutShort("again", TAKEN))).complete(
            chat_request(max_output_tokens=100)
        )
    assert caught.value.usage.calls == 2


def test_a_cut_reply_of_which_parts_will_be_asked_for_gets_no_more_room() -> None:
    model = Scripted(ReplyCutShort("cut", TAKEN), GOOD)
    with pytest.raises(ReplyCutShort):
        chance(model).complete(replace(chat_request(), in_parts=True))
    assert len(model.limits) == 1


def test_a_reply_cut_by_the_servers_own_limit_gets_twice_of_what_it_used() -> None:
    model = Scripted(ReplyCutShort("cut", TAKEN), GOOD)
    chance(model).complete(chat_request())
    assert model.limits == [None, 10]


def test_a_cut_reply_that_no_budget_can_mend_stays_a_cut_reply() -> None:
    capped = CappedClient(
        Scripted(ReplyCutShort("cut", TAKEN)), SharedBudget(Budget(max_tokens=250))
    )
    with pytest.raises(ReplyCutShort):
        chance(capped).complete(chat_request(max_output_tokens=100))


def test_every_repetition_is_weighed_against_the_budget() -> None:
    broken = ReplyBroken("it broke off", Usage(1, 10, 0, 60))
    model = Scripted(broken, broken, GOOD)
    capped = CappedClient(model, SharedBudget(Budget(max_tokens=300)))
    with pytest.raises(BudgetReached):
        chance(capped).complete(chat_request(max_output_tokens=100))
    assert len(model.limits) == 2


def source(mode: Mode, model: LlmClient, path: Path | None = None) -> ModelSource:
    prices = {"small-1": Price(Decimal(1), Decimal(1), Decimal(1))}
    return ModelSource(
        mode,
        lambda emit: model,
        path,
        budget=Budget(max_tokens=10_000_000),
        tables=ModelTables(prices, {}),
    )


def test_a_live_run_records_in_its_folder_and_a_replay_answers_from_there(tmp_path: Path) -> None:
    with open_model(source(Mode.LIVE, Scripted(GOOD)), tmp_path, lambda event: None) as model:
        assert model.client.complete(chat_request()).text == "good"
        assert model.meter.run.live.cost_usd == Decimal("0.000015")
        assert model.origin == ""
    path = tmp_path / "transcript.jsonl"
    with open_model(source(Mode.REPLAY, Scripted(), path), tmp_path, lambda event: None) as model:
        assert model.client.complete(chat_request()).replayed
        assert model.meter.run.live == Usage()
        assert model.meter.run.replayed.input_tokens == 10
        assert model.origin.startswith("live (date: 20")


def test_a_resumed_run_pays_only_for_what_is_not_on_record(tmp_path: Path) -> None:
    first, second = chat_request("one"), chat_request("two")
    with open_model(source(Mode.LIVE, Scripted(GOOD)), tmp_path, lambda event: None) as model:
        model.client.complete(first)
    with open_model(source(Mode.LIVE, Scripted(GOOD)), tmp_path, lambda event: None) as model:
        assert model.client.complete(first).replayed
        assert not model.client.complete(second).replayed
        assert model.meter.run.live.calls == model.meter.run.replayed.calls == 1


def test_a_call_in_doubt_is_told(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    with Transcript.open(path, AUTHORED) as transcript:
        transcript.begin(chat_request())
    events: list[Event] = []
    with open_model(source(Mode.LIVE, Scripted()), tmp_path, events.append):
        pass
    (warning,) = events
    assert isinstance(warning, Warned)
    assert "factory WO-01 attempt 1 was begun" in warning.message


def test_no_key_of_the_environment_reaches_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    told = Completion("sk-very-secret", "small-1", TAKEN)
    with open_model(source(Mode.LIVE, Scripted(told)), tmp_path, lambda event: None) as model:
        model.client.complete(chat_request("sk-very-secret"))
    assert b"sk-very-secret" not in (tmp_path / "transcript.jsonl").read_bytes()


def test_what_was_opened_is_closed(tmp_path: Path) -> None:
    closed: list[str] = []

    class Closing(Scripted):
        def __enter__(self) -> Closing:
            return self

        def __exit__(self, *error: object) -> None:
            closed.append("model")

    live = source(Mode.LIVE, Closing(ReplyFailed("no")))
    with (
        pytest.raises(ReplyFailed),
        open_model(live, tmp_path, lambda event: None) as model,
    ):
        model.client.complete(chat_request())
    assert closed == ["model"]


def test_what_is_performed_asks_no_model_and_is_on_record_with_its_outcome(tmp_path: Path) -> None:
    made: list[str] = []

    def perform() -> Completion:
        made.append("once")
        return Completion("done", "tool", Usage(calls=0), adjustments=("as it went",))

    def source(mode: Mode) -> ModelSource:
        return ModelSource(mode, open_live=lambda emit: Scripted(), transcript=path)

    path = tmp_path / "transcript.jsonl"
    request = replace(chat_request(), perform=perform)
    for mode in (Mode.LIVE, Mode.REPLAY):
        with open_model(source(mode), tmp_path, lambda event: None) as model:
            reply = model.client.complete(request)
        assert (reply.text, reply.adjustments, reply.usage.calls) == ("done", ("as it went",), 0)
    assert made == ["once"]


def test_a_kill_leaves_nothing_of_what_was_performed_and_a_failure_stays(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"

    def killed() -> Completion:
        raise KeyboardInterrupt

    def failing() -> Completion:
        raise ReplyFailed("it wrote nothing", Usage(calls=0), lost=("bye",))

    source = ModelSource(Mode.LIVE, open_live=lambda emit: Scripted(), transcript=path)
    with open_model(source, tmp_path, lambda event: None) as model:
        with pytest.raises(KeyboardInterrupt):
            model.client.complete(replace(chat_request(), perform=killed))
        assert not Transcript.read(path).uncertain
        with pytest.raises(ReplyFailed):
            model.client.complete(replace(chat_request(), perform=failing))
    with pytest.raises(ReplyFailed) as found:
        Transcript.read(path).lookup(chat_request())
    assert (found.value.message, found.value.lost) == ("it wrote nothing", ("bye",))
