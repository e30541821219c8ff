"""Counts what the head of the page shows: orders, attempts, calls, tokens, cost and time. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmch.console.figures import count, duration
from llmch.page.words import cost_words
from llmch.run_view.model.run import RunView
from llmch.run_view.model.time_spans import Activity


@dataclass(frozen=True, slots=True)
class Figure:
    """Hold a number with its name, and what is to be said beside it."""

    name: str
    value: str
    aside: str = ""


def figures_of(run: RunView) -> tuple[Figure, ...]:
    """Return the figures of a run."""
    return tuple(_figures(run))


def _figures(run: RunView) -> Iterator[Figure]:
    usage = run.usage
    before = sum(each.state == "skipped" for each in run.orders)
    yield Figure(
        "Orders landed",
        f"{run.landed:,} of {len(run.orders):,}",
        f"{before:,} from earlier runs" if before else "",
    )
    if not run.run_id:
        return
    yield Figure("Attempts", f"{run.attempts:,}", f"{run.rejected:,} rejected")
    replayed = f"{usage.replayed:,} replayed" if usage.replayed else ""
    yield Figure("Model calls", f"{usage.calls:,}", replayed)
    cached = f"{usage.cached_tokens:,} of them cached" if usage.cached_tokens else ""
    yield Figure("Tokens in", f"{usage.input_tokens:,}", cached)
    reasoning = f"{usage.reasoning_tokens:,} of them reasoning" if usage.reasoning_tokens else ""
    yield Figure("Tokens out", f"{usage.output_tokens:,}", reasoning)
    planned = "planning included" if any(each.role != "factory" for each in run.roles) else ""
    yield Figure("Cost", cost_words(usage), planned if usage.calls else "no model was asked")
    if run.seconds is not None:
        yield Figure("Wall time", duration(run.seconds), "")
    yield _time_of_commands(run)


def _time_of_commands(run: RunView) -> Figure:
    ran = [
        each.end - each.start
        for track in run.tracks
        for each in track.spans
        if each.activity in (Activity.COMMAND, Activity.TRIAL)
    ]
    return Figure("In commands", duration(sum(ran)), count(len(ran), "command"))
