"""Makes a forecast of orders from the repo as it is and from the records of earlier runs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from factory.orders.ladder import parse_ladder
from factory.orders.read import LoadedOrder, read_workdir
from factory.repo.preflight import find_repo
from factory.run.forecast import Forecast, foresee
from factory.run.forecast_words import forecast_lines
from factory.run.order_sizes import measure_orders, size_orders
from factory.run.past_usage import read_past_usage
from factory.run.session import Session
from shared.errors import LlmchError
from shared.events.messages import Noted
from shared.git import refs
from shared.settings.settings import Settings


def forecast_plan(
    folder: Path, repo: Path | None, settings: Settings, branch: str | None = None
) -> Forecast:
    """Return the forecast of the plan in `folder`, on the files that `repo` has.

    The files are those of `branch`, where it exists, else those at HEAD. Raises `InvalidInput`
    where the plan cannot be read. Without a repo that can be read, the plan is taken to begin with
    no files.
    """
    orders = read_workdir(folder)
    if repo is not None:
        with contextlib.suppress(LlmchError):
            git = find_repo(repo).git
            tip = refs.tip_of_branch(git, branch) if branch else ""
            sizes = measure_orders(orders, git, tip or refs.commit_of(git, "HEAD"))
            first = parse_ladder(settings.factory.model)[0].model
            past = read_past_usage(settings.artifacts_dir, repo, first)
            return foresee(sizes, settings, past)
    return foresee(size_orders(orders, {}), settings)


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
