"""Foresees what executing a plan costs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from factory.orders.documents import MAX_CONTEXT_BYTES, Offer, ReplyFormat
from factory.orders.model_choice import Rung, parse_ladder, rung_for_attempt
from factory.orders.read_orders import LoadedOrder
from factory.preflight import find_repo
from factory.proposal.prompt import render_prompt
from factory.proposal.request import NEW_FILE_BYTES, likely_reply_tokens
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import ShownFile
from factory.record.past_usage import PastUsage, read_past_usage
from shared.errors import LlmchError
from shared.events.events import Noted
from shared.git import refs, trees
from shared.git.client import Git
from shared.languages.appended_tests import files_of_tests
from shared.languages.registry import language_of
from shared.llm.budget import (
    DEFAULT_OUTPUT_LIMIT,
    TEMPLATE_TOKENS,
    likely_tokens,
    most_tokens,
    total_tokens,
)
from shared.llm.model_client import Usage
from shared.llm.usage import by_model, priced
from shared.settings.setting_values import MODEL
from shared.settings.settings import Settings
from shared.work_order.parse_order import EMPTY_SHA256
from shared.work_order.work_order import WorkOrder

if TYPE_CHECKING:
    from factory.attempt.attempt_state import Run

# The commands that verify the tree, and the hashes and the schema of the format `json`.
_ASIDE_BYTES = 3_000

# Of a file of more than some 150 lines, only what changes is written, and of a test file only the
# head and what is added are shown; of one of more than some 1,000 lines, the parts that matter are.
_WRITTEN_WHOLE = 6_000
_PARTS_OF_LARGE = (30_000, 8_000)
_EDITS_BYTES = 1_500
_HEAD_BYTES = 1_500


@dataclass(frozen=True, slots=True)
class OrderSize:
    """Hold the tokens of an order's first prompt and of its reply.

    `most_prompt` is a bound that holds whatever the orders before write. All are 0 if no model
    is asked.
    """

    prompt: int
    most_prompt: int
    reply: int

    @property
    def asks_model(self) -> bool:
        return self.prompt > 0


def measure_orders(orders: Sequence[LoadedOrder], git: Git, commit: str) -> tuple[OrderSize, ...]:
    """Return the sizes of the orders on the files of `commit`, which may be empty for no files."""
    paths = sorted({path for each in orders for path in _paths(each.order)})
    sizes = trees.sizes_of(git, commit, paths) if commit and paths else {}
    return size_orders(orders, sizes)


def size_orders(orders: Sequence[LoadedOrder], sizes: Mapping[str, int]) -> tuple[OrderSize, ...]:
    """Return the sizes of the orders; `sizes` are the bytes of the files that there are now.

    A file that an earlier order creates is taken for one of usual size. Pure.
    """
    likely, most = dict(sizes), dict(sizes)
    found: list[OrderSize] = []
    for loaded in orders:
        found.append(_measure(loaded, likely, most))
        for path in loaded.order.allowed_files:
            likely.setdefault(path, NEW_FILE_BYTES)
            most[path] = MAX_CONTEXT_BYTES
        for file in loaded.order.acceptance_files:
            size = len(file.text.encode())
            for known in (likely, most):
                there = 0 if file.append is None else known.get(file.path, 0)
                known[file.path] = there + size
    return tuple(found)


def _measure(loaded: LoadedOrder, likely: Mapping[str, int], most: Mapping[str, int]) -> OrderSize:
    """Return the sizes of an order on files that are likely to be so large, and at most so large.

    An order starts without what it writes itself, also on a later attempt.
    """
    order, paths = loaded.order, _paths(loaded.order)
    if not order.asks_model:
        return OrderSize(0, 0, 0)
    shown = {path: _shown(order, path, likely.get(path, 0)) for path in paths}
    prompt = _prompt_bytes(loaded, shown)
    bare = _prompt_bytes(loaded, dict.fromkeys(paths, 0))
    files = min(sum(most.get(path, 0) for path in paths), MAX_CONTEXT_BYTES)
    return OrderSize(
        prompt=likely_tokens(prompt) + TEMPLATE_TOKENS,
        most_prompt=most_tokens(bare + files + _ASIDE_BYTES) + TEMPLATE_TOKENS,
        reply=likely_reply_tokens(_written(likely.get(path)) for path in order.allowed_files),
    )


def _written(size: int | None) -> int | None:
    return size if size is None or size <= _WRITTEN_WHOLE else _EDITS_BYTES


def _shown(order: WorkOrder, path: str, size: int) -> int:
    large, parts = _PARTS_OF_LARGE
    in_parts = size > large and path in order.allowed_files and language_of(path)
    return parts if in_parts else size


def _prompt_bytes(loaded: LoadedOrder, sizes: Mapping[str, int]) -> int:
    """Return the size of the first prompt where the files that it shows have these sizes."""
    shown = [_stand_in(path, min(size, MAX_CONTEXT_BYTES)) for path, size in sizes.items()]
    shown += [
        _stand_in(each.path, len(each.text.encode()) + _HEAD_BYTES * (each.append is not None))
        for each in loaded.order.acceptance_files
    ]
    prompt = render_prompt(loaded.order, shown, (), Offer(ReplyFormat.FILES), loaded.known)
    return len(prompt.encode())


def _stand_in(path: str, size: int) -> ShownFile:
    """Return a file of the given size, absent where that is 0: only its length counts."""
    kind = FileKind.FILE if size else FileKind.ABSENT
    return ShownFile(path, FileState(kind, EMPTY_SHA256), "x" * size)


def _paths(order: WorkOrder) -> tuple[str, ...]:
    placed = files_of_tests(order)
    paths = dict.fromkeys((*order.context_files, *order.allowed_files))
    return tuple(path for path in paths if path not in placed)


# A prompt that asks again is at most this much longer than the first.
_RETRY_GROWTH = 1.6

# The first question of an attempt, and at most two more where a reply is empty.
QUESTIONS = 3

# Without any record, every fourth order is taken to need a second call; in the demos it is a third.
_ASSUMED_CALLS = 1.25

# Without a record, an order that takes a further call with the same chance after each one, and
# replies that are half as long again or half as long, as if both were known of four orders. A
# record of few orders says little: these four count beside it, and nothing varies less than that.
_ASSUMED_ORDERS = 4
_CALLS_DEVIATION = math.sqrt(_ASSUMED_CALLS * (_ASSUMED_CALLS - 1))
_REPLY_DEVIATION = 0.5
_NINE_OF_TEN = 1.2816  # standard deviations above the mean of a normal distribution


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold what executing a plan takes: probably, nine times of ten, and at most.

    `likely` is what nine of ten runs stay below, if orders are like those of the record. `orders`
    are those that a model is asked for; an order that only removes files takes nothing. Costs are
    `None` if a price is unknown. `past` holds the earlier runs that this is made from; without them
    it is an assumption. The worst case leaves out replies that break
    off on their way, and orders that are made a second time on a newer state.
    """

    orders: int
    attempts: int
    models: tuple[str, ...]
    expected: Usage
    likely: Usage
    worst: Usage
    calls_per_order: float
    past: PastUsage | None


def foresee(
    sizes: Sequence[OrderSize], settings: Settings, past: PastUsage | None = None
) -> Forecast:
    """Return the forecast for orders of these sizes.

    Those that ask no model are left out. The worst case has the price of the most expensive model,
    because a model of the ladder may be asked sooner than its attempt.
    """
    sizes = [each for each in sizes if each.asks_model]
    ladder = parse_ladder(",".join(settings.factory.ladder))
    most_calls = float(settings.factory_attempts * QUESTIONS)
    calls = _calls(past)
    calls = min(most_calls, max(1.0, calls))
    models = tuple(rung.model for rung in ladder)
    more_calls, longer = _margins(len(sizes), calls, past)
    bound = min(most_calls, calls + more_calls)
    return Forecast(
        orders=len(sizes),
        attempts=settings.factory_attempts,
        models=models,
        expected=_expected(sizes, ladder, settings, calls, past),
        likely=_expected(sizes, ladder, settings, bound, past, longer),
        worst=_dearest([_worst(sizes, model, settings) for model in models]),
        calls_per_order=calls,
        past=past,
    )


def _calls(past: PastUsage | None) -> float:
    """Return the calls that an order takes, with what is assumed as if of four orders more.

    Replies are as long as in the record: how long they are is a matter of the model.
    """
    if past is None:
        return _ASSUMED_CALLS
    known = past.orders * past.calls_per_order + _ASSUMED_ORDERS * _ASSUMED_CALLS
    return known / (past.orders + _ASSUMED_ORDERS)


def _margins(orders: int, calls: float, past: PastUsage | None) -> tuple[float, float]:
    """Return how many more calls an order takes, and how many times longer a reply is, at most.

    That holds nine times of ten for the mean of so many orders, of which a record of few others
    is known.
    """
    known = past.orders if past else _ASSUMED_ORDERS
    width = _NINE_OF_TEN * math.sqrt(1 / max(1, orders) + 1 / known)
    reply = past.reply_deviation / past.reply_tokens if past else 0.0
    varied = max(past.calls_deviation if past else 0.0, _CALLS_DEVIATION)
    return width * varied, 1 + width * max(reply, _REPLY_DEVIATION)


def _expected(
    sizes: Sequence[OrderSize],
    ladder: Sequence[Rung],
    settings: Settings,
    calls: float,
    past: PastUsage | None,
    longer: float = 1.0,
) -> Usage:
    """Return the probable usage where an order takes so many calls, each at its model's price.

    Replies are `longer` than the record or the files of the order say.
    """
    attempts = settings.factory_attempts
    room = settings.factory.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    usual = (past.reply_tokens if past else each.reply for each in sizes)
    replies = sum(min(room, longer * each) for each in usual)
    total = Usage()
    for number in range(1, math.ceil(calls) + 1):
        share = min(1.0, calls - (number - 1))
        growth = 1.0 if number == 1 else _RETRY_GROWTH
        usage = Usage(
            calls=math.ceil(share * len(sizes)),
            input_tokens=math.ceil(share * growth * sum(each.prompt for each in sizes)),
            output_tokens=math.ceil(share * replies),
        )
        model = ladder[rung_for_attempt(ladder, min(number, attempts), attempts)].model
        total += priced(model, usage, settings.prices)
    return total


def _worst(sizes: Sequence[OrderSize], model: str, settings: Settings) -> Usage:
    """Return the most that the orders take if every attempt asks `model` as often as it may."""
    calls = settings.factory_attempts * QUESTIONS
    window = by_model(model, settings.windows)
    reply = settings.factory.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    tokens = 0
    for each in sizes:
        first, again = each.most_prompt, math.ceil(each.most_prompt * _RETRY_GROWTH)
        tokens += _within(first, window) + (calls - 1) * _within(again, window)
    usage = Usage(
        calls=calls * len(sizes),
        input_tokens=tokens,
        output_tokens=calls * len(sizes) * _within(reply, window),
    )
    return priced(model, usage, settings.prices)


def _within(tokens: int, window: int | None) -> int:
    return tokens if window is None else min(tokens, window)


def _dearest(bounds: Sequence[Usage]) -> Usage:
    """Return the usage with the most tokens, at the highest cost; unknown where one cost is."""
    costs = [bound.cost_usd for bound in bounds if bound.cost_usd is not None]
    known = max(costs) if len(costs) == len(bounds) else None
    return replace(max(bounds, key=total_tokens), cost_usd=known)


@dataclass(frozen=True, slots=True)
class SizedOrders:
    """Hold the sizes of a plan's orders by id, and what a forecast is made from besides."""

    sizes: Mapping[str, OrderSize]
    settings: Settings
    past: PastUsage | None = None

    def forecast(self, ids: Collection[str]) -> Forecast:
        """Return the forecast of those orders of the plan that have these ids."""
        sizes = [self.sizes[name] for name in ids if name in self.sizes]
        return foresee(sizes, self.settings, self.past)


def size_plan(
    orders: Sequence[LoadedOrder], repo: Path | None, settings: Settings, branch: str | None = None
) -> SizedOrders:
    """Return the sizes of a plan's orders, on the files that `repo` has.

    The files are those of `branch`, where it exists, else those at HEAD. Without a repo that can
    be read, the plan is taken to begin with no files.
    """
    if repo is not None:
        with contextlib.suppress(LlmchError):
            git = find_repo(repo, allow_repo_filters=True).git  # nothing here runs one
            tip = refs.tip_of_branch(git, branch) if branch else ""
            sizes = measure_orders(orders, git, tip or refs.commit_of(git, "HEAD"))
            first = parse_ladder(settings.factory.model)[0].model
            past = read_past_usage(settings.artifacts_dir, repo, first)
            return SizedOrders(_by_id(orders, sizes), settings, past)
    return SizedOrders(_by_id(orders, size_orders(orders, {})), settings)


def announce_forecast(
    orders: Sequence[LoadedOrder], run: Run, tip: str, what: str = "the plan"
) -> None:
    """Report what `orders` cost on the commit `tip`, before the first of them is begun.

    `what` is what the message calls them.
    """
    options = run.options
    if bound := bound_of_agents(options.settings):
        run.emit(Noted(bound))
    if options.settings.factory.proposer_of(1) != (MODEL,):
        return
    past = read_past_usage(options.settings.artifacts_dir, options.repo, options.models.model(1))
    sizes = measure_orders(orders, run.repo.git, tip)
    forecast = foresee(sizes, options.settings, past)
    expected, *worst = forecast_lines(forecast, what)
    run.emit(Noted(expected))
    for line in worst:
        run.emit(Noted(line, detail=True))


def bound_of_agents(settings: Settings) -> str:
    """Return what agents may take, which no forecast counts; "" where the model alone proposes."""
    factory = settings.factory
    attempts = range(1, settings.factory_attempts + 1)
    others = [each for each in attempts if factory.proposer_of(each) != (MODEL,)]
    if not others:
        return ""
    names = ", ".join(dict.fromkeys(factory.proposer_of(each)[0] for each in others))
    bounds = factory.agent
    return (
        f"cost of attempts by {names}, from attempt {others[0]} on: at most {bounds.calls} calls "
        f"and {bounds.tokens:,} tokens each (factory.agent.calls, factory.agent.tokens)"
    )


def _by_id(orders: Sequence[LoadedOrder], sizes: Sequence[OrderSize]) -> Mapping[str, OrderSize]:
    return {each.order.id: size for each, size in zip(orders, sizes, strict=True)}


class UsageForeseen(TypedDict):
    """Represent foreseen usage; `cost_usd` is null where a price is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class ForecastDocument(TypedDict):
    """Represent a forecast in a `--json` document.

    `nine_of_ten` is what nine of ten runs stay below, and `past_orders` counts the orders of
    earlier runs that this is made from; with 0 it is assumed.
    """

    orders: int
    attempts: int
    models: list[str]
    expected: UsageForeseen
    nine_of_ten: UsageForeseen
    worst_case: UsageForeseen
    calls_per_order: float
    past_orders: int


def forecast_document(forecast: Forecast) -> ForecastDocument:
    return {
        "orders": forecast.orders,
        "attempts": forecast.attempts,
        "models": list(forecast.models),
        "expected": _usage_document(forecast.expected),
        "nine_of_ten": _usage_document(forecast.likely),
        "worst_case": _usage_document(forecast.worst),
        "calls_per_order": round(forecast.calls_per_order, 2),
        "past_orders": forecast.past.orders if forecast.past else 0,
    }


def forecast_lines(forecast: Forecast, what: str = "the plan") -> tuple[str, ...]:
    """Return what running `what` probably takes, and what it takes at most: a line each."""
    if not forecast.orders:
        return (f"cost of running {what}: none, because no model is asked",)
    models, rate = ", ".join(forecast.models), f"{forecast.calls_per_order:.1f} calls an order"
    basis = (
        f"{rate}, by {_count(forecast.past.orders, 'order')} of earlier runs"
        if forecast.past
        else f"assumed: {rate} and files of usual size, as no earlier run of this repo with "
        f"{forecast.models[0]} is on record"
    )
    times = f"{_count(forecast.orders, 'order')} x {_count(forecast.attempts, 'attempt')}"
    return (
        f"expected cost of running {what}: {_figures(forecast.expected)} with {models}, nine times "
        f"of ten at most {_bound(forecast.likely)} ({basis})",
        f"worst case: {_figures(forecast.worst)} ({times} x {QUESTIONS} questions; broken replies "
        "and orders made again come on top); --max-tokens and --max-cost cap it",
    )


def _figures(usage: Usage) -> str:
    calls, tokens = _count(usage.calls, "call"), total_tokens(usage)
    return f"{calls}, {tokens:,} tokens, {_dollars(usage.cost_usd)}"


def _bound(usage: Usage) -> str:
    known = usage.cost_usd is not None
    return _dollars(usage.cost_usd) if known else f"{total_tokens(usage):,} tokens"


def _dollars(cost: Decimal | None) -> str:
    if cost is None:
        return "cost unknown"
    return f"${cost:.2f}" if cost == 0 or cost >= Decimal("0.1") else f"${cost:.4f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _usage_document(usage: Usage) -> UsageForeseen:
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": None if usage.cost_usd is None else float(usage.cost_usd),
    }
