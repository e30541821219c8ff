"""Reads a run from its records as one `RunView`, whatever state the records are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from factory.record.runs_on_record import RunOnRecord
from llmch.run_view.commands import sandboxes_of
from llmch.run_view.documents import read_fields, read_lines
from llmch.run_view.fields import Fields
from llmch.run_view.find import FoundRun
from llmch.run_view.model.commands import CommandView
from llmch.run_view.model.orders import OrderView
from llmch.run_view.model.run import RunView
from llmch.run_view.model.states import Standing
from llmch.run_view.model.usage import RoleUsage, UsageView
from llmch.run_view.orders import read_orders
from llmch.run_view.plan import PlanView, read_plan
from llmch.run_view.requirements import requirements_of
from llmch.run_view.summaries import usage_of
from llmch.run_view.timeline import attempt_times, tracks_of, usage_by_role

_MOST_MESSAGES = 200
_ENDINGS = {
    "interrupted": Standing.INTERRUPTED,
    "running": Standing.CUT_OFF,
    "": Standing.CUT_OFF,
}
_VERDICTS = {
    "PASS": Standing.PASSED,
    "FAIL": Standing.FAILED,
    "ERROR": Standing.ENDED_EARLY,
}


def read_run(found: FoundRun) -> RunView:
    """Return the run. It is never refused: what its records lack is said in `gaps`."""
    run, head = found.run, Fields(found.run.head)
    events = tuple(read_lines(run.folder / "events.jsonl"))
    titles = _titles(events)
    tracks = tracks_of(events, titles)
    plan = read_plan(run.folder, head)
    orders = read_orders(run, found.ground, plan.orders, events, attempt_times(tracks))
    summary = _summary(run, head)
    standing = _standing(head, summary, orders, alive=found.pid is not None)
    usage = usage_of(summary.fields("usage")) if summary else _added(each.usage for each in orders)
    roles = (*plan.roles, *_with_cost(usage_by_role(events), usage))
    return RunView(
        run_id=run.run_id,
        title=plan.title or _title(orders),
        standing=standing,
        branch=head.text("branch"),
        base=head.object_id("base"),
        tip=summary.object_id("tip") or summary.object_id("commit"),
        command=head.text("command"),
        started=head.text("started"),
        ended=head.text("ended"),
        seconds=_seconds(head, events),
        error=head.text("error"),
        version=head.text("llmch_version"),
        overview=plan.overview,
        orders=orders,
        tracks=tracks,
        usage=usage + plan.usage,
        roles=roles,
        requirements=requirements_of(head, orders),
        sandboxes=sandboxes_of(_commands(orders)),
        settings=tuple(_settings(head, plan)),
        messages=tuple(_messages(events))[:_MOST_MESSAGES],
        gaps=tuple(_gaps(run, head, found, plan, orders, events)),
        planning=plan.planning,
    )


def _titles(events: Iterable[Fields]) -> Mapping[str, str]:
    return {each.text("order"): each.text("title") for each in events if each.text("title")}


def _summary(run: RunOnRecord, head: Fields) -> Fields:
    return read_fields(run.folder / "run_summary.json") or head.fields("summary")


def _title(orders: Sequence[OrderView]) -> str:
    return orders[0].title if len(orders) == 1 else ""


def _standing(
    head: Fields, summary: Fields, orders: Sequence[OrderView], *, alive: bool
) -> Standing:
    status = head.text("status")
    if status in ("running", "") and alive:
        return Standing.RUNNING
    if status in _ENDINGS and not summary:
        return _ENDINGS[status]
    if status == "interrupted":
        return Standing.INTERRUPTED
    if verdict := _VERDICTS.get(summary.text("verdict")):
        return verdict
    done = orders and all(each.is_on_branch or each.state == "left_out" for each in orders)
    return Standing.PASSED if done and status == "completed" else Standing.ENDED_EARLY


def _seconds(head: Fields, events: Sequence[Fields]) -> float | None:
    """Return how long the run took, or how long its events go on where it has no end."""
    try:
        began = datetime.fromisoformat(head.text("started"))
        return (datetime.fromisoformat(head.text("ended")) - began).total_seconds()
    except (ValueError, TypeError):
        return max((each.number("at") or 0.0 for each in events), default=None)


def _commands(orders: Iterable[OrderView]) -> Iterator[CommandView]:
    for order in orders:
        yield from order.trials
        for attempt in order.attempts:
            yield from attempt.commands


def _added(usages: Iterable[UsageView]) -> UsageView:
    return sum(usages, UsageView())


def _with_cost(roles: Sequence[RoleUsage], usage: UsageView) -> Iterator[RoleUsage]:
    """Yield the roles; where there is one alone, the record's own figures are more exact."""
    for each in roles:
        whole = usage if len(roles) == 1 and usage.calls + usage.replayed else each.usage
        yield RoleUsage(each.role, each.model, whole, each.seconds)


def _settings(head: Fields, plan: PlanView) -> Iterator[tuple[str, str]]:
    """Yield what the run was given, as name and value."""
    models = head.fields("model_settings")
    yield "models", ", ".join(dict.fromkeys(models.texts("models"))) or head.text("model")
    yield "replies", _replies(models)
    yield "attempts at an order, at most", str(head.whole("max_attempts") or "")
    yield "time for a command, at most", _seconds_text(head.number("timeout_seconds"))
    yield "repository", head.text("repo")
    yield "plan", head.text("workdir")
    yield "plan's hash", head.text("manifest_sha256")
    yield "specification", plan.spec
    yield "author of the commits", head.text("author")
    yield "llmch", head.text("llmch_version")


def _replies(models: Fields) -> str:
    asked = models.text("base_url")
    if models.text("replies") == "replay":
        return "replayed from a transcript: no model was asked"
    return f"live, from {asked}" if asked else models.text("replies")


def _seconds_text(seconds: float | None) -> str:
    return f"{seconds:g} s" if seconds else ""


def _messages(events: Iterable[Fields]) -> Iterator[str]:
    for each in events:
        if each.text("event") in ("warned", "noted"):
            yield each.text("message")


def _gaps(
    run: RunOnRecord,
    head: Fields,
    found: FoundRun,
    plan: PlanView,
    orders: Sequence[OrderView],
    events: Sequence[Fields],
) -> Iterator[str]:
    """Yield what the records lack, each with what that means for the page."""
    if not head:
        yield f"run.json cannot be read in {run.folder}: neither branch nor orders are known"
    elif not run.orders():
        yield "run.json names no order"
    if head.text("status") == "running" and found.pid is None:
        yield (
            "the run did not end by itself: it was killed, or it goes on where nothing here can "
            "see it; the same command again goes on from there"
        )
    if not events:
        yield "there are no events on record, so there is no time line"
    if found.ground.git is None:
        yield (
            f"the repository {head.text('repo')} is not here: the changes of commits are "
            "missing; `--repo DIR` names a clone"
        )
    if plan.missing:
        yield plan.missing
    lost = [each.id for each in orders if not each.intent]
    if lost and run.orders():
        yield (
            f"what {len(lost)} of {len(orders)} orders ask for is not on record: they had not "
            "begun, and the plan is gone"
        )
    if not (run.folder / "transcript.jsonl").is_file() and not _replayed(head):
        yield "the transcript of the run is not beside its records"


def _replayed(head: Fields) -> bool:
    return head.fields("model_settings").text("replies") == "replay"
