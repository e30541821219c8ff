"""What a plan is expected to cost, and at most, before it is run."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.record.past_usage import PastUsage
from factory.run.forecast import (
    QUESTIONS,
    OrderSize,
    bound_of_agents,
    forecast_document,
    forecast_lines,
    foresee,
)
from shared.llm.usage import Price
from shared.settings.settings import FactorySettings, Settings

PRICES = {
    "small": Price(Decimal(1), Decimal(1), Decimal(10)),
    "large": Price(Decimal(10), Decimal(10), Decimal(100)),
}
SIZES = (OrderSize(prompt=1_000, most_prompt=5_000, reply=300),) * 2
PAST = PastUsage(orders=8, calls_per_order=1.25, reply_tokens=200)


def settings(*models: str, attempts: int = 2, room: int | None = 400) -> Settings:
    role = replace(FactorySettings(), ladder=models, max_output_tokens=room)
    return Settings(factory=role, factory_attempts=attempts, prices=PRICES, windows={})


def test_the_expectation_without_a_record_is_an_assumption() -> None:
    forecast = foresee(SIZES, settings("small"))
    # A quarter of the two orders needs a second call, whose prompt is 1.6 times as long.
    assert forecast.expected.calls == 3
    assert forecast.expected.input_tokens == 2_000 + 800
    assert forecast.expected.output_tokens == 600 + 150
    assert forecast.expected.cost_usd == Decimal("0.0103")
    expected, _ = forecast_lines(forecast)
    assert expected == (
        "expected cost of running the plan: 3 calls, 3,550 tokens, $0.0103 with small, "
        "nine times of ten at most $0.0198 (assumed: 1.2 calls an order and files of usual size, "
        "as no earlier run of this repo with small is on record)"
    )


def test_earlier_runs_weigh_more_the_more_orders_they_had() -> None:
    forecast = foresee(SIZES, settings("small"), PAST)
    # Replies are those of the record: 200 tokens, where 300 would be assumed.
    assert (forecast.expected.calls, forecast.expected.output_tokens) == (3, 500)
    assert forecast.expected.input_tokens == 2_000 + 800
    assert "(1.2 calls an order, by 8 orders of earlier runs)" in forecast_lines(forecast)[0]


def test_long_replies_of_one_order_are_expected_of_the_next_ones() -> None:
    reasoning = replace(PAST, orders=1, reply_tokens=390)
    expected = foresee(SIZES, settings("small"), reasoning).expected
    assert expected.output_tokens == 2 * 1.25 * 390


def test_later_calls_are_expected_at_the_price_of_their_model() -> None:
    assert foresee(SIZES, settings("small", "large")).expected.cost_usd == Decimal("0.031")


def test_orders_that_ask_no_model_take_nothing() -> None:
    nothing = OrderSize(prompt=0, most_prompt=0, reply=0)
    assert foresee((*SIZES, nothing), settings("small")) == foresee(SIZES, settings("small"))
    alone = foresee((nothing,), settings("small"))
    assert (alone.orders, alone.expected.calls, alone.worst.calls) == (0, 0, 0)
    assert forecast_lines(alone) == ("cost of running the plan: none, because no model is asked",)


def test_the_worst_case_asks_every_question_of_every_attempt() -> None:
    forecast = foresee(SIZES, settings("small"))
    calls = 2 * 2 * QUESTIONS
    assert forecast.worst.calls == calls == 12
    assert forecast.worst.input_tokens == 2 * 5_000 + 10 * 8_000
    assert forecast.worst.output_tokens == calls * 400
    assert forecast_lines(forecast)[1] == (
        "worst case: 12 calls, 94,800 tokens, $0.14 (2 orders x 2 attempts x 3 questions; broken "
        "replies and orders made again come on top); --max-tokens and --max-cost cap it"
    )


def test_the_worst_case_has_the_price_of_the_dearest_model() -> None:
    assert foresee(SIZES, settings("small", "large")).worst.cost_usd == Decimal("1.38")


def test_no_call_takes_more_than_its_window() -> None:
    known = replace(settings("small", room=None), windows={"small": 2_000})
    worst = foresee(SIZES, known).worst
    assert (worst.input_tokens, worst.output_tokens) == (12 * 2_000, 12 * 2_000)


def test_what_agents_take_is_only_bounded() -> None:
    known = settings("small", attempts=3)
    assert bound_of_agents(known) == ""
    mixed = replace(known.factory, proposers=(("model",), ("codex",)))
    assert bound_of_agents(replace(known, factory=mixed)) == (
        "cost of attempts by codex, from attempt 2 on: at most 50 calls and 2,000,000 tokens each "
        "(factory.agent.calls, factory.agent.tokens)"
    )
    assert bound_of_agents(replace(known, factory=mixed, factory_attempts=1)) == ""


def test_an_unknown_price_is_unknown() -> None:
    forecast = foresee(SIZES, settings("small", "mine"))
    assert forecast.expected.cost_usd is forecast.worst.cost_usd is None
    assert all("cost unknown" in line for line in forecast_lines(forecast))
    document = forecast_document(forecast)
    assert document["expected"]["cost_usd"] is document["worst_case"]["cost_usd"] is None


def test_the_document_has_all_figures() -> None:
    assert forecast_document(foresee(SIZES, settings("small"), PAST)) == {
        "orders": 2,
        "attempts": 2,
        "models": ["small"],
        "expected": {
            "calls": 3,
            "input_tokens": 2_800,
            "output_tokens": 500,
            "cost_usd": 0.0078,
        },
        "nine_of_ten": {
            "calls": 4,
            "input_tokens": 4_613,
            "output_tokens": 1_095,
            "cost_usd": 0.015563,
        },
        "worst_case": {
            "calls": 12,
            "input_tokens": 90_000,
            "output_tokens": 4_800,
            "cost_usd": 0.138,
        },
        "calls_per_order": 1.25,
        "past_orders": 8,
    }


@given(
    sizes=st.lists(
        st.builds(
            lambda prompt, more, reply: OrderSize(prompt, prompt + more, reply),
            st.integers(1, 10**5),
            st.integers(0, 10**5),
            st.integers(0, 400),
        ),
        min_size=1,
        max_size=5,
    ),
    attempts=st.integers(1, 50),
    calls=st.floats(1, 3),
)
def test_what_is_expected_is_never_more_than_the_worst_case(
    sizes: list[OrderSize], attempts: int, calls: float
) -> None:
    past = PastUsage(1, calls, 400)
    forecast = foresee(sizes, settings("small", attempts=attempts), past)
    for less, more in ((forecast.expected, forecast.likely), (forecast.likely, forecast.worst)):
        assert less.calls <= more.calls
        assert less.input_tokens <= more.input_tokens
        assert less.output_tokens <= more.output_tokens


@pytest.mark.parametrize("orders", [1, 4, 20])
def test_nine_of_ten_runs_stay_below_the_bound(orders: int) -> None:
    chance = random.Random(orders)

    def an_order() -> tuple[int, int]:
        calls = 1 + sum(chance.random() < 0.2 for _ in range(4))
        return calls, sum(round(300 * chance.lognormvariate(0, 0.4)) for _ in range(calls))

    below = 0
    for _ in range(400):
        known = [an_order() for _ in range(12)]
        calls, tokens = (sum(each) for each in zip(*known, strict=True))
        spread = [
            statistics.stdev(each) for each in ([c for c, _ in known], [t / c for c, t in known])
        ]
        past = PastUsage(12, calls / 12, tokens / calls, *spread)
        foreseen = foresee(SIZES[:1] * orders, settings("small", attempts=5, room=None), past)
        run = [an_order() for _ in range(orders)]
        below += sum(tokens for _, tokens in run) <= foreseen.likely.output_tokens
    assert 0.88 <= below / 400 <= 1


@pytest.mark.parametrize("calls", [0.01, 1e9])
def test_a_record_of_odd_figures_gives_a_forecast_all_the_same(calls: float) -> None:
    assert foresee(SIZES, settings("small"), PastUsage(1, calls, 10**9)).expected.calls >= 1
