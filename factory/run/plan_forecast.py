"""Makes a forecast of orders from the repo as it is and from the records of earlier runs."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factory.orders.ladder import parse_ladder
from factory.orders.read import LoadedOrder
from factory.repo.preflight import find_repo
from factory.run.forecast import Forecast, foresee
from factory.run.forecast_words import forecast_lines
from factory.run.order_sizes import OrderSize, measure_orders, size_orders
from factory.run.past_usage import PastUsage, read_past_usage
from shared.errors import LlmchError
from shared.events.messages import Noted
from shared.git import refs
from shared.settings.settings import Settings

if TYPE_CHECKING:
    from factory.run.session import Session  # imports what executes orders, which takes time


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
            git = find_repo(repo).git
            tip = refs.tip_of_branch(git, branch) if branch else ""
            sizes = measure_orders(orders, git, tip or refs.commit_of(git, "HEAD"))
            first = parse_ladder(settings.factory.model)[0].model
            past = read_past_usage(settings.artifacts_dir, repo, first)
            return SizedOrders(_by_id(orders, sizes), settings, past)
    return SizedOrders(_by_id(orders, size_orders(orders, {})), settings)


def announce_forecast(
    orders: Sequence[LoadedOrder], session: Session, what: str = "the plan"
) -> None:
    """Report what `orders` cost on the session's tip, before the first of them is begun.

    `what` is what the message calls them.
    """
    options = session.parts.options
    past = read_past_usage(options.settings.artifacts_dir, options.repo, options.models.model(1))
    sizes = measure_orders(orders, session.parts.repo.git, session.tip)
    forecast = foresee(sizes, options.settings, past)
    for line in forecast_lines(forecast, what):
        session.parts.emit(Noted(line))


def _by_id(orders: Sequence[LoadedOrder], sizes: Sequence[OrderSize]) -> Mapping[str, OrderSize]:
    return {each.order.id: size for each, size in zip(orders, sizes, strict=True)}
