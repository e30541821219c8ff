"""What one call can take, and how caps use it: lower limits, parallel calls, windows."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import BudgetReached, ModelUnavailable
from shared.events.events import BudgetCommitted, Event, Noted
from shared.llm.budget import (
    DEFAULT_OUTPUT_LIMIT,
    TEMPLATE_TOKENS,
    Budget,
    CallBound,
    CappedClient,
    ModelTables,
    SharedBudget,
    bound_call,
    estimate_input,
    estimate_tokens,
    output_left,
)
from shared.llm.model_client import Completion, ReplyFailed, Request, Usage
from shared.llm.stack import Mode, ModelSource, open_model
from shared.llm.usage import KNOWN_PRICES, KNOWN_WINDOWS, Price, by_model
from tests.shared.llm.edge import SCHEMA, chat_request

PRICES = {"small-1": Price(Decimal(1), Decimal("0.5"), Decimal(10))}
TABLES = ModelTables(PRICES, {})
PROMPT = TEMPLATE_TOKENS + 6  # what a prompt of 15 letters is counted as


class Greedy:
    """A model whose replies use up the limit that they are given, or the model's window.

    Its prompts have `share` of the tokens that they are estimated at.
    """

    def __init__(self, window: int | None = None, share: float = 1) -> None:
        self.limits: list[int] = []
        self.window, self.share = window or 10**9, share

    def complete(self, request: Request) -> Completion:
        assert request.max_output_tokens is not None
        self.limits.append(request.max_output_tokens)
        prompt = min(int(estimate_input(request) * self.share), self.window)
        reply = min(request.max_output_tokens, self.window - prompt)
        return Completion("x", request.model, Usage(1, prompt, 0, reply))


def asking(limit: int | None, expected: int | None = None) -> Request:
    request = chat_request("x" * 15, max_output_tokens=limit)
    return replace(request, expected_output_tokens=expected)


# Estimates


@pytest.mark.parametrize(
    ("text", "least"),
    [("", 1), ("word " * 100, 100), ("привет " * 100, 200), ("漢字" * 100, 150), ("7" * 90, 90)],
)
def test_estimates_are_high(text: str, least: int) -> None:
    assert estimate_tokens(text) >= least


def test_the_input_counts_prompt_schema_and_template() -> None:
    bare = estimate_input(chat_request("x" * 300))
    assert bare == 101 + TEMPLATE_TOKENS
    assert estimate_input(chat_request("x" * 300, reply_schema=SCHEMA)) > bare + 20


# Windows


def test_a_known_window_limits_what_a_call_can_take() -> None:
    request = asking(32_000, expected=1_000)
    assert bound_call(request, {}).most_output == 32_000
    assert bound_call(request, {"small-1": 8_000}) == CallBound(
        "small-1", PROMPT, 8_000 - PROMPT, 1_000
    )


def test_a_window_that_seems_too_small_lowers_no_limit_below_what_is_expected() -> None:
    bound = bound_call(asking(3_000, expected=900), {"small-1": 1_000})
    assert (bound.most_output, bound.least_output) == (1_000, 900)
    long = chat_request("x" * 9_000, max_output_tokens=3_000)
    assert bound_call(long, {"small-1": 1_000}).input_tokens == 1_000


def test_every_priced_model_has_a_window_and_the_users_windows_win() -> None:
    assert KNOWN_WINDOWS.keys() == KNOWN_PRICES.keys()
    table = {**KNOWN_WINDOWS, "gpt-5.2": 5, "local": 6}
    assert (by_model("gpt-5.2-2025-12-11", table), by_model("local", table)) == (5, 6)
    assert by_model("gpt-5.1", table) == KNOWN_WINDOWS["gpt-5.1"]
    assert by_model("nobody-knows", KNOWN_WINDOWS) is None


def test_under_a_cap_a_call_asks_for_no_more_than_its_window_leaves() -> None:
    model = Greedy()
    purse = SharedBudget(Budget(max_tokens=4_000))
    CappedClient(model, purse, ModelTables({}, {"small-1": 2_000})).complete(asking(None, 500))
    assert model.limits == [2_000 - PROMPT]


# Caps that are lower than the output limit


@pytest.mark.parametrize(
    ("budget", "room"),
    [
        (Budget(max_tokens=5_000), 5_000 - PROMPT),
        (Budget(max_cost_usd=Decimal("0.02")), (20_000 - PROMPT) // 10),
        (Budget(max_tokens=5_000, max_cost_usd=Decimal("0.02")), (20_000 - PROMPT) // 10),
    ],
)
def test_a_small_cap_lowers_the_limit_and_says_so(budget: Budget, room: int) -> None:
    model, events = Greedy(), list[Event]()
    client = CappedClient(model, SharedBudget(budget), TABLES, events.append)
    client.complete(asking(32_000, expected=1_500))
    assert model.limits == [room]
    assert [each for each in events if isinstance(each, Noted)] == [
        Noted(
            f"factory WO-01 attempt 1: the cap leaves room for a reply of {room:,} tokens "
            "instead of 32,000"
        )
    ]
    with pytest.raises(BudgetReached):
        client.complete(asking(32_000, expected=1_500))


def committed(events: list[Event]) -> list[tuple[int, float | None]]:
    return [(e.tokens, e.cost_usd) for e in events if isinstance(e, BudgetCommitted)]


def test_what_a_capped_command_may_have_spent_is_announced_before_and_after_each_call() -> None:
    events: list[Event] = []
    budget = Budget(max_tokens=100_000, max_cost_usd=Decimal(1))
    client = CappedClient(Greedy(share=0.5), SharedBudget(budget), TABLES, events.append)
    client.complete(asking(1_000))
    client.complete(asking(1_000))
    most, spent = PROMPT + 1_000, PROMPT // 2 + 1_000
    assert [tokens for tokens, _ in committed(events)] == [most, spent, spent + most, 2 * spent]
    costs = [cost for _, cost in committed(events)]
    assert costs[0] == pytest.approx((PROMPT + 10_000) / 1_000_000)
    assert costs[-1] == pytest.approx(2 * (PROMPT // 2 + 10_000) / 1_000_000)


def test_a_call_that_was_cut_off_counts_with_the_most_that_it_could_take() -> None:
    """The server may go on with the reply, and bill it."""

    class CutOff:
        def complete(self, request: Request) -> Completion:
            raise KeyboardInterrupt

    events: list[Event] = []
    purse = SharedBudget(Budget(max_tokens=100_000))
    with pytest.raises(KeyboardInterrupt):
        CappedClient(CutOff(), purse, TABLES, events.append).complete(asking(1_000))
    assert [tokens for tokens, _ in committed(events)] == [PROMPT + 1_000] * 2


@pytest.mark.parametrize("failure", [ReplyFailed("no reply"), ModelUnavailable("refused")])
def test_a_call_that_was_refused_counts_with_what_it_took(failure: Exception) -> None:
    class Refusing:
        def complete(self, request: Request) -> Completion:
            raise failure

    events: list[Event] = []
    purse = SharedBudget(Budget(max_tokens=100_000))
    with pytest.raises(type(failure)):
        CappedClient(Refusing(), purse, TABLES, events.append).complete(asking(1_000))
    assert [tokens for tokens, _ in committed(events)] == [PROMPT + 1_000, 0]


def test_a_cap_that_is_large_enough_lowers_nothing_and_says_nothing() -> None:
    model, events = Greedy(), list[Event]()
    purse = SharedBudget(Budget(max_tokens=DEFAULT_OUTPUT_LIMIT + PROMPT))
    CappedClient(model, purse, TABLES, events.append).complete(asking(None, expected=1))
    notes = [each for each in events if isinstance(each, Noted)]
    assert (model.limits, notes) == ([DEFAULT_OUTPUT_LIMIT], [])


def test_a_call_whose_reply_would_be_cut_is_not_made() -> None:
    model = Greedy()
    client = CappedClient(model, SharedBudget(Budget(max_tokens=1_605)), TABLES)
    with pytest.raises(BudgetReached, match=r"0 are spent, and the call of .* room for 1,606 more"):
        client.complete(asking(32_000, expected=1_500))
    assert model.limits == []


def test_a_lowered_limit_does_not_change_what_is_on_record(tmp_path: Path) -> None:
    def source(cap: int | None, mode: Mode = Mode.LIVE) -> ModelSource:
        path = tmp_path / "transcript.jsonl"
        return ModelSource(mode, lambda emit: Greedy(), path, budget=Budget(cap), tables=TABLES)

    request = asking(32_000, expected=1_500)
    with open_model(source(5_000), tmp_path, lambda event: None) as model:
        assert model.client.complete(request).usage.output_tokens == 5_000 - PROMPT
    with open_model(source(None, Mode.REPLAY), tmp_path, lambda event: None) as model:
        assert model.client.complete(replace(request, expected_output_tokens=7)).replayed


# Parallel calls


def test_a_call_that_does_not_fit_beside_others_waits_for_them() -> None:
    under_way, most = 0, 0
    lock, all_asked = threading.Lock(), threading.Barrier(4)

    class Counting(Greedy):
        def complete(self, request: Request) -> Completion:
            nonlocal under_way, most
            with lock:
                under_way += 1
                most = max(most, under_way)
            completion = replace(super().complete(request), usage=Usage(1, 10, 0, 10))
            with lock:
                under_way -= 1
            return completion

    client = CappedClient(Counting(), SharedBudget(Budget(max_tokens=1_300)), TABLES)

    def ask(_: int) -> str:
        all_asked.wait(60)
        return client.complete(asking(900, expected=900)).text

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == ["x"] * 4
    assert most == 1


def test_a_call_that_could_never_fit_does_not_wait() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Greedy):
        def complete(self, request: Request) -> Completion:
            entered.set()
            assert leave.wait(60)
            return super().complete(request)

    client = CappedClient(Slow(), SharedBudget(Budget(max_tokens=1_500)), TABLES)
    first = threading.Thread(target=lambda: client.complete(asking(900, expected=900)))
    first.start()
    assert entered.wait(60)
    with pytest.raises(BudgetReached):
        client.complete(asking(1_500, expected=1_500))
    leave.set()
    first.join()


COSTS = st.decimals(0, 100, places=3)


@given(
    tokens=st.none() | st.integers(0, 20_000),
    cost=st.none() | st.decimals(0, 1, places=4),
    prices=st.tuples(COSTS, COSTS),
    calls=st.lists(
        st.tuples(st.integers(1, 9_000), st.integers(1, 9_000), st.integers(0, 6_000)), max_size=8
    ),
    window=st.none() | st.integers(1, 12_000),
    share=st.sampled_from([0.2, 1]),
    jobs=st.sampled_from([1, 3]),
)
@settings(deadline=None)
def test_no_series_of_calls_exceeds_a_cap(
    tokens: int | None,
    cost: Decimal | None,
    prices: tuple[Decimal, Decimal],
    calls: list[tuple[int, int, int]],
    window: int | None,
    share: float,
    jobs: int,
) -> None:
    price = Price(prices[0], prices[0], prices[1])
    tables = ModelTables({"small-1": price}, {} if window is None else {"small-1": window})
    client = CappedClient(Greedy(window, share), SharedBudget(Budget(tokens, cost)), tables)

    def ask(call: tuple[int, int, int]) -> Usage:
        limit, expected, length = call
        request = chat_request("x" * length, max_output_tokens=limit)
        try:
            return client.complete(replace(request, expected_output_tokens=expected)).usage
        except BudgetReached:
            return Usage()

    with ThreadPoolExecutor(jobs) as pool:
        spent = sum(pool.map(ask, calls), Usage())
    taken = spent.input_tokens + spent.output_tokens
    if tokens is not None:
        assert taken <= tokens
    if cost is not None:
        paid = spent.input_tokens * price.input + spent.output_tokens * price.output
        assert paid <= cost * 1_000_000


@given(
    budget=st.builds(Budget, st.integers(0, 5_000), st.decimals(0, 1, places=4)),
    spent=st.integers(0, 3_000),
    prompt=st.integers(0, 3_000),
    most=st.integers(1, 3_000),
)
def test_the_longest_reply_fits_and_a_longer_one_would_not(
    budget: Budget, spent: int, prompt: int, most: int
) -> None:
    committed = Usage(1, spent, cost_usd=Decimal(spent) / 1_000_000)
    call = CallBound("small-1", prompt, most, 1)

    def fits(output: int) -> bool:
        both = committed + call.usage(output, PRICES)
        assert budget.max_tokens is not None and budget.max_cost_usd is not None
        assert both.cost_usd is not None
        total = both.input_tokens + both.output_tokens
        return total <= budget.max_tokens and both.cost_usd <= budget.max_cost_usd

    output = output_left(budget, committed, call, PRICES)
    assert output <= most
    assert output < 0 or fits(output)
    assert output == most or not fits(output + 1)
