"""Reads the orders of a run: what each asks for, how it stands, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from factory.batch.order_graph import derive_graph
from factory.record.runs_on_record import RunOnRecord
from llmch.run_view.attempts import AttemptGround, attempts_of, brief_of, change_of_commit
from llmch.run_view.commands import as_written, trials_of_order
from llmch.run_view.documents import read_fields
from llmch.run_view.fields import Fields
from llmch.run_view.model import Change, Flag, OrderView, Span, UsageView
from shared.git.client import Git
from shared.work_order.parsing import DocumentInvalid, parse_document
from shared.work_order.schemas import WorkOrder, order_number


@dataclass(frozen=True, slots=True)
class Ground:
    """Hold where runs and their repo are; `git` is `None` where the repo is not here.

    `earlier` are the runs before the one that is shown, newest first.
    """

    git: Git | None
    common_dir: Path
    earlier: tuple[RunOnRecord, ...] = ()


def read_orders(
    run: RunOnRecord,
    ground: Ground,
    plan: Sequence[WorkOrder],
    events: Sequence[Fields],
    times: Mapping[tuple[str, int], Span],
) -> tuple[OrderView, ...]:
    """Return the orders that the run was asked for, in their sequence."""
    planned = {each.id: each for each in plan}
    names = [each for each in run.orders() if order_number(each) is not None]
    asked = {name: planned.get(name) or _recorded(run, name) for name in names}
    needs = _needs([each for each in asked.values() if each is not None])
    skipped = {each.text("order"): each for each in events if each.text("event") == _SKIPPED}
    begun = {each.text("order"): each for each in events if each.text("event") == _STARTED}
    return tuple(
        _order(run, ground, name, asked[name], needs, times, skipped.get(name), begun.get(name))
        for name in names
    )


_MOST_LISTED = 100  # warnings or flags of an order
_SKIPPED = "order_skipped"
_STARTED = "order_started"


def _recorded(run: RunOnRecord, name: str) -> WorkOrder | None:
    record = read_fields(run.summary_folder_of(name) / "work_order.json")
    try:
        return parse_document(WorkOrder, dict(record.value)) if record else None
    except DocumentInvalid:
        return None


def _needs(orders: Sequence[WorkOrder]) -> Mapping[str, tuple[str, ...]]:
    graph = derive_graph(orders)
    return {
        name: tuple(graph.ids[each] for each in sorted(needed))
        for name, needed in zip(graph.ids, graph.needs, strict=True)
    }


def _order(
    run: RunOnRecord,
    ground: Ground,
    name: str,
    order: WorkOrder | None,
    needs: Mapping[str, tuple[str, ...]],
    times: Mapping[tuple[str, int], Span],
    skipped: Fields | None,
    begun: Fields | None,
) -> OrderView:
    made, earlier = run, ""
    if skipped and (before := _maker(ground.earlier, run, name)):
        made, earlier = before, before.run_id
    summary = _summary(made, name)
    written = as_written(order.acceptance_commands if order else ())
    attempts = attempts_of(
        AttemptGround(made, name, ground.git, ground.common_dir, summary, written),
        {} if earlier else times,
    )
    commit = summary.object_id("commit") or (skipped.object_id("commit") if skipped else "")
    parent = summary.object_id("parent") if made.run_id != run.run_id or not skipped else ""
    view = OrderView(
        id=name,
        title=(skipped or begun or Fields()).text("title"),
        state=_state(run, name, skipped, begun),
        needs=needs.get(name, ()),
        commit=commit,
        parent=parent,
        proof=_proof(summary),
        change=change_of_commit(ground.git, parent or f"{commit}^", commit) if commit else Change(),
        attempts=attempts,
        trials=trials_of_order(made.folder_of(name), written),
        failure=brief_of(summary.fields("failure")),
        warnings=tuple(_few(summary.texts("warnings"))),
        flags=tuple(_flags(summary))[:_MOST_LISTED],
        usage=usage_of(summary.fields("usage")) if not earlier else UsageView(),
        earlier_run=earlier,
    )
    return _as_asked(view, order) if order else view


def _as_asked(view: OrderView, order: WorkOrder) -> OrderView:
    return replace(
        view,
        title=order.title,
        intent=order.intent,
        notes=order.notes or "",
        allowed_files=order.allowed_files,
        removed_files=order.removed_files,
        context_files=order.context_files,
        acceptance_commands=order.acceptance_commands,
        acceptance_files=tuple(each.path for each in order.acceptance_files),
        covers=order.covers,
    )


def _maker(earlier: Iterable[RunOnRecord], run: RunOnRecord, name: str) -> RunOnRecord | None:
    """Return the newest earlier run on the same branch that landed an order."""
    branch = run.head.get("branch")
    made = (each for each in earlier if each.head.get("branch") == branch)
    landed = (each for each in made if _summary(each, name).text("state") == "landed")
    return next(landed, None)


def _summary(run: RunOnRecord, name: str) -> Fields:
    """Return the summary of an order, out of its own folder or out of that of the run."""
    if own := read_fields(run.summary_folder_of(name) / "run_summary.json"):
        return own
    whole = Fields(run.head).fields("summary")
    return next((each for each in whole.many("orders") if each.text("work_order") == name), own)


def _state(run: RunOnRecord, name: str, skipped: Fields | None, begun: Fields | None) -> str:
    if state := _summary(run, name).text("state"):
        return state
    if skipped:
        return "skipped"
    return "begun" if begun else "waiting"


def _proof(summary: Fields) -> str:
    verified = summary.fields("verified_by")
    if verified.is_true("rests_on_acceptance"):
        number = len(verified.many("acceptance"))
        return (
            "the verification ran no test: the order rests on "
            f"{number} acceptance command{'' if number == 1 else 's'}"
        )
    tested = [each for each in verified.many("verification") if each.fields("tests")]
    parts = (f"{each.text('command')} ({_tests(each)})" for each in tested)
    return f"verified by {'; '.join(parts)}" if tested else ""


def _tests(command: Fields) -> str:
    passed = command.fields("tests").whole("passed") or 0
    return f"{passed:,} test{'' if passed == 1 else 's'} passed"


def _few(texts: Sequence[str]) -> Iterator[str]:
    """Yield the first texts of a list that a person may read, and how many more there are."""
    yield from texts[:_MOST_LISTED]
    if len(texts) > _MOST_LISTED:
        yield f"and {len(texts) - _MOST_LISTED:,} more"


def _flags(summary: Fields) -> Iterator[Flag]:
    for each in summary.many("flags"):
        yield Flag(each.text("code"), each.text("command"), each.text("message"))


def usage_of(record: Fields) -> UsageView:
    """Return the usage that a record states; its cost is unknown where it states none."""
    return UsageView(
        calls=record.whole("calls") or 0,
        replayed=record.whole("replayed_calls") or 0,
        input_tokens=record.whole("input_tokens") or 0,
        cached_tokens=record.whole("cached_tokens") or 0,
        output_tokens=record.whole("output_tokens") or 0,
        reasoning_tokens=record.whole("reasoning_tokens") or 0,
        cost_usd=record.number("cost_usd"),
    )
