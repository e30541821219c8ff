"""What calls take: prices, meters, and caps that hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BudgetReached, InvalidInput
from shared.events.events import Event, ModelCallEnded, ModelCallStarted
from shared.llm.budget import DEFAULT_OUTPUT_LIMIT, Budget, CappedClient, ModelTables, SharedBudget
from shared.llm.model_client import CallPlace, Completion, ReplyFailed, Request, Role, Usage
from shared.llm.usage import KNOWN_PRICES, Meter, MeteredClient, Price, Tally, by_model, cost_of
from tests.shared.llm.edge import chat_request

PRICES = {"small-1": Price(Decimal(1), Decimal("0.5"), Decimal(10))}
TABLES = ModelTables(PRICES, {})
USED = Usage(1, input_tokens=1000, cached_tokens=200, output_tokens=100, reasoning_tokens=50)


class Answers:
    """A model whose every call takes what it is told, or fails having taken it."""

    def __init__(self, usage: Usage, fails: bool = False, replayed: bool = False) -> None:
        self.usage, self.fails, self.replayed = usage, fails, replayed
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        if self.fails:
            raise ReplyFailed("no", self.usage, replayed=self.replayed)
        return Completion("x", request.model, self.usage, replayed=self.replayed)


def test_cached_input_is_cheaper_and_reasoning_is_part_of_the_output() -> None:
    assert cost_of("small-1", USED, PRICES) == Decimal("0.0019")


def test_an_unknown_price_is_unknown_never_zero() -> None:
    assert cost_of("nobody-knows", USED) is None
    assert (Usage() + replace(USED, cost_usd=None)).cost_usd is None


def test_a_dated_snapshot_costs_what_its_model_costs() -> None:
    assert by_model("gpt-5.2-2025-12-11", KNOWN_PRICES) == KNOWN_PRICES["gpt-5.2"]
    assert by_model("gpt-5.2-nonsense", KNOWN_PRICES) is None


def test_google_s_long_form_of_a_name_has_the_price_of_the_short_one() -> None:
    short, long = "gemini-2.5-flash", "models/gemini-2.5-flash"
    assert by_model(long, KNOWN_PRICES) == KNOWN_PRICES[short]
    assert by_model(long, {short: 1, long: 2}) == 2, "the name itself comes first"


def test_the_users_prices_win() -> None:
    mine = Price(Decimal(9), Decimal(9), Decimal(9))
    table = {**KNOWN_PRICES, "gpt-5.2": mine, "local": mine}
    assert by_model("gpt-5.2", table) == by_model("local", table) == mine
    assert by_model("gpt-5.1", table) == KNOWN_PRICES["gpt-5.1"]


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), st.sampled_from(list(KNOWN_PRICES)))
def test_costs_add_up(tokens: list[int], model: str) -> None:
    usages = [Usage(1, n, n // 2, n) for n in tokens]
    apart = sum((cost_of(model, usage) or Decimal(0) for usage in usages), Decimal(0))
    assert cost_of(model, sum(usages, Usage())) == apart


def test_the_meter_counts_per_run_and_order_and_replays_apart() -> None:
    meter = Meter()
    planner = replace(chat_request(), place=CallPlace(Role.PLANNER, 1))
    metered = MeteredClient(Answers(USED), meter, prices=PRICES)
    metered.complete(chat_request())
    metered.complete(planner)
    MeteredClient(Answers(USED, replayed=True), meter, prices=PRICES).complete(chat_request())
    priced = replace(USED, cost_usd=Decimal("0.0019"))
    assert meter.run == Tally(live=priced + priced, replayed=USED)
    assert meter.of_order("WO-01") == Tally(live=priced, replayed=USED)
    assert meter.of_order("WO-02") == Tally()


@pytest.mark.parametrize("replayed", [True, False])
def test_failed_calls_are_counted_too(replayed: bool) -> None:
    meter = Meter()
    with pytest.raises(ReplyFailed):
        MeteredClient(Answers(USED, True, replayed), meter, prices=PRICES).complete(chat_request())
    tally = meter.run.replayed if replayed else meter.run.live
    assert tally.output_tokens == 100
    assert meter.run.live.cost_usd == (0 if replayed else Decimal("0.0019"))


def test_each_call_is_announced_and_concluded() -> None:
    events: list[Event] = []
    ticks = iter([10.0, 12.5])
    client = MeteredClient(Answers(USED), Meter(), emit=events.append, clock=lambda: next(ticks))
    client.complete(chat_request())
    assert events == [
        ModelCallStarted("factory WO-01 attempt 1", "small-1", "WO-01"),
        ModelCallEnded("factory WO-01 attempt 1", "small-1", 2.5, 1000, 100, False, "WO-01"),
    ]


def test_without_caps_requests_pass_as_they_are() -> None:
    model = Answers(USED)
    CappedClient(model, SharedBudget(Budget())).complete(chat_request())
    assert model.requests == [chat_request()]


def test_under_a_cap_every_call_has_a_limit() -> None:
    model = Answers(USED)
    CappedClient(model, SharedBudget(Budget(max_tokens=10**6))).complete(chat_request())
    assert model.requests[0].max_output_tokens == DEFAULT_OUTPUT_LIMIT


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (
            Budget(max_tokens=2_500),
            "token cap of 2,500 is reached: 2,200 are spent, and .* 606 more",
        ),
        (
            Budget(max_cost_usd=Decimal("0.0088")),
            r"cost cap of \$0.0088 is reached: \$0.0038 are spent, and .* \$0.0051 more",
        ),
    ],
)
def test_the_call_that_could_exceed_a_cap_is_not_made(budget: Budget, words: str) -> None:
    model = Answers(USED)
    client = CappedClient(model, SharedBudget(budget), TABLES)
    request = chat_request("x" * 15, max_output_tokens=500)
    client.complete(request)
    client.complete(request)
    with pytest.raises(BudgetReached, match=words) as caught:
        client.complete(request)
    assert len(model.requests) == 2
    assert caught.value.exit_code == 7
    assert "raise --max-" in caught.value.hint


def test_failed_calls_are_spent_too() -> None:
    client = CappedClient(Answers(USED, fails=True), SharedBudget(Budget(max_tokens=2_000)))
    request = chat_request(max_output_tokens=500)
    with pytest.raises(ReplyFailed):
        client.complete(request)
    with pytest.raises(BudgetReached, match="1,100 are spent"):
        client.complete(replace(request, max_output_tokens=1_000))


def test_a_cost_cap_needs_a_price() -> None:
    model = Answers(USED)
    with pytest.raises(InvalidInput, match="price of small-1 is not known") as caught:
        CappedClient(model, SharedBudget(Budget(max_cost_usd=Decimal(1)))).complete(chat_request())
    assert "--max-tokens" in caught.value.hint
    assert model.requests == []


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), max_size=20))
def test_no_series_of_calls_exceeds_a_cap(calls: list[tuple[int, int]]) -> None:
    spent = 0

    def model(limit: int, wanted: int) -> Callable[[Request], Completion]:
        return lambda request: Completion("x", "m", Usage(1, 5, 0, min(limit, wanted)))

    class Obedient:
        def complete(self, request: Request) -> Completion:
            return answer(request)

    client = CappedClient(Obedient(), SharedBudget(Budget(max_tokens=1_000)))
    for limit, wanted in calls:
        answer = model(limit, wanted)
        try:
            completion = client.complete(chat_request("x" * 15, max_output_tokens=limit))
        except BudgetReached:
            continue
        spent += completion.usage.input_tokens + completion.usage.output_tokens
    assert spent <= 1_000


def test_several_clients_share_one_purse() -> None:
    purse = SharedBudget(Budget(max_tokens=2_000))
    first, second = (CappedClient(Answers(USED), purse) for _ in range(2))
    first.complete(chat_request(max_output_tokens=500))
    with pytest.raises(BudgetReached, match="1,100 are spent"):
        second.complete(chat_request(max_output_tokens=1_000))


def test_what_is_written_to_a_cache_costs_its_own_price() -> None:
    usage = Usage(1, 1_000_000, cached_tokens=600_000, written_tokens=300_000)
    # 100,000 at 3.00, 600,000 at 0.30 and 300,000 at 3.75, each for a million.
    assert cost_of("claude-sonnet-4-5-20250929", usage) == Decimal("1.605")
    assert cost_of("claude-sonnet-4-5@20250929", usage) == Decimal("1.605")
    assert cost_of("gpt-4.1", usage) == Decimal("1.1"), "as other input, where none is known"
    assert cost_of("claude-haiku-5-5", usage) is None
    assert (usage + usage).written_tokens == 600_000
