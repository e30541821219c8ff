"""Answers `report`: a run in short, and requirements with what carries them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmch.console.document import (
    Block,
    Conclusion,
    Document,
    Item,
    Paragraph,
    Remark,
    Rows,
    Section,
    Shape,
    Sign,
    assumed,
)
from llmch.console.line import cost, count, duration, estimated, listed, one_line, short, shorten
from shared.work_order.work_order import Asserted, CoveredRequirement, place_of

if TYPE_CHECKING:
    from llmch.runs.run_model import OrderView, RunView


_ORDERS: Final = ("order", "state", "title", "attempts", "commit")
_REQUIREMENTS: Final = ("requirement", "orders", "commits")
_ENDED: Final = ("passed", "failed", "ended early")
_ORDER: Final = Shape(
    *("id", "title", "state", "attempts=tried", "rejected"),
    *("commit?", "proof?", "failure=failure.stage"),
)
_USAGE: Final = Shape(
    *("calls", "replayed=replayed_calls", "estimated=estimated_calls"),
    *("input_tokens", "cached_tokens"),
    *("output_tokens", "reasoning_tokens", "cost_usd"),
)
_MOST_ROWS: Final = 200
_LONGEST_TITLE: Final = 80  # characters
_MOST_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class RunReportDocument(Document):
    """Represent the answer of `report` for a run or a branch; `page` is the file with the page."""

    shape = Shape(
        "run_id=run.run_id?",
        "standing=run.standing",
        "branch=run.branch",
        "base=run.base?",
        "tip=run.tip?",
        "seconds=run.seconds",
        "page",
        "orders=run.orders",
        "requirements=run.requirements",
        "assumptions=run.assumptions",
        "usage=run.usage",
        "gaps=run.gaps",
        orders=_ORDER,
        requirements=Shape("id", "orders", orders=lambda order: order.id),
        usage=_USAGE,
    )

    run: RunView
    page: Path | None = None

    def blocks(self) -> Iterator[Block]:
        run = self.run
        yield _outcome(run)
        if run.orders:
            yield Rows(tuple(map(_order_row, run.orders[:_MOST_ROWS])), _ORDERS)
        if left := run.orders[_MOST_ROWS:]:
            yield Remark((f"and {count(len(left), 'more order', 'more orders')}",))
        yield from _failures(run)
        if run.requirements:
            yield Rows(tuple(_requirement_rows(run)), _REQUIREMENTS)
        yield from assumed(run.assumptions)
        yield Paragraph(tuple(_taken(run)))
        if run.gaps:
            items = tuple(Item(each, Sign.WARNING) for each in run.gaps)
            yield Section("What the records do not show", items)
        if self.page:
            yield Paragraph((f"page: {self.page}",))


def _outcome(run: RunView) -> Block:
    orders = f"{run.landed:,} of {count(len(run.orders), 'order')} on {run.branch or 'no branch'}"
    if not run.run_id:
        return Paragraph((f"{count(run.landed, 'order')} on {run.branch}, by its commits",))
    if run.standing in _ENDED:
        return Conclusion(run.command, orders, run.standing == "passed", ", ".join(_head(run)))
    return Paragraph((f"{run.command} {run.run_id}: {orders} ({', '.join(_head(run))})",))


def _head(run: RunView) -> Iterator[str]:
    yield str(run.standing)
    if run.rejected:
        yield f"{count(run.rejected, 'attempt')} rejected"
    if run.seconds is not None and run.run_id:
        yield duration(run.seconds)


def _order_row(order: OrderView) -> tuple[str, ...]:
    rejected = f" ({order.rejected} rejected)" if order.rejected else ""
    return (
        order.id,
        order.state.replace("_", " "),
        shorten(one_line(order.title), _LONGEST_TITLE),
        f"{order.tried}{rejected}",
        short(order.commit),
    )


def _failures(run: RunView) -> Iterator[Block]:
    """Yield why orders are not on the branch, the most telling fact of each."""
    for order in run.orders:
        if order.failure is None or order.is_on_branch:
            continue
        brief = next((each.brief for each in reversed(order.attempts) if each.brief), order.failure)
        facts = brief.facts or (() if brief.command else (one_line(order.failure.excerpt),))
        items = tuple(Item(each) for each in reversed(facts[-_MOST_LISTED:]))
        command = (Item(brief.command, Sign.COMMAND, literal=True),) if brief.command else ()
        yield Section(brief.stage.replace("_", " "), (*command, *items), name=order.id)


def _requirement_rows(run: RunView) -> Iterator[tuple[str, ...]]:
    for row in run.requirements[:_MOST_ROWS]:
        orders = listed([each.id for each in row.orders], _MOST_LISTED)
        commits = [short(commit) for each in row.orders for commit in each.commits]
        yield row.id, orders or "none", listed(commits, _MOST_LISTED)


def _taken(run: RunView) -> Iterator[str]:
    """Yield what the run took, and in which sandboxes its commands ran."""
    usage = run.usage
    if usage.calls:
        yield (
            f"{count(usage.calls, 'model call')}: {usage.input_tokens:,} tokens in, "
            f"{usage.output_tokens:,} out, {cost(usage.cost_usd)}"
        )
    if usage.estimated_calls:
        yield estimated(usage.estimated_calls)
    if usage.replayed_calls:
        yield f"{count(usage.replayed_calls, 'reply', 'replies')} replayed"
    for used in run.sandboxes:
        each = used.record
        missing = f"; not held: {', '.join(each.missing)}" if each.missing else ""
        held = count(len(each.held), "guarantee")
        yield f"sandbox {each.backend} {each.version}: {held} held{missing}"


_REMOVED: Final = "not in the specification any more"


def coverage_document(rows: Sequence[CoveredRequirement]) -> dict[str, Any]:
    """Return the document that `report --coverage --json` prints."""
    covered, wanted = count_covered(rows)
    return {
        "requirements": [{**asdict(each), "asserted_by": each.asserted_by} for each in rows],
        "covered": covered,
        "uncovered": wanted - covered,
    }


def count_covered(rows: Sequence[CoveredRequirement]) -> tuple[int, int]:
    """Return how many requirements an order covers, and how many the specification has."""
    wanted = [each for each in rows if not each.removed]
    return sum(1 for each in wanted if each.orders), len(wanted)


def render_coverage(rows: Sequence[CoveredRequirement]) -> list[str]:
    """Return the lines that show each requirement with its orders, commands and commits."""
    return [line for row in rows for line in _row_lines(row)]


def render_asserted(rows: Sequence[CoveredRequirement]) -> str:
    """Return how many requirements are asserted by what, as the end of a sentence."""
    counts = {each: sum(1 for row in rows if row.asserted_by is each) for each in Asserted}
    return (
        f"{counts[Asserted.TEST]} asserted by a test of the plan, "
        f"{counts[Asserted.COMMAND]} by a command, "
        f"{counts[Asserted.ORDER]} tested with an order, "
        f"{counts[Asserted.COMMENT]} mentioned only, {counts[Asserted.NOTHING]} claimed only"
    )


def is_proven(row: CoveredRequirement, trials: Mapping[str, bool]) -> bool | None:
    """Return whether what asserts a requirement failed on code that does nothing, if that is known.

    `trials` says so of orders; the assertion of one of them is enough.
    """
    if row.asserted_by is None or not row.asserted_by.can_fail:
        return None
    tried = [
        trials[each.id]
        for each in row.orders
        if each.asserted_by is row.asserted_by and each.id in trials
    ]
    return any(tried) if tried else None


_ON_HOLLOW_CODE: Final = {
    True: ", failing on code that does nothing",
    False: ", but not all of the commands fail on code that does nothing",
    None: "",
}


def render_assertions(
    rows: Sequence[CoveredRequirement], trials: Mapping[str, bool]
) -> tuple[str, ...]:
    """Return what asserts the requirements that orders cover, in a line for each kind of answer.

    Those that no sound test is known to test come first, by their ids. One by itself is shown with
    its orders.
    """
    proofs = {row.id: is_proven(row, trials) for row in rows}
    sound = {
        level: [row for row in rows if row.asserted_by is level and proofs[row.id] is not False]
        for level in (Asserted.TEST, Asserted.ORDER)
    }
    tested = [*sound[Asserted.TEST], *sound[Asserted.ORDER]]
    alike: dict[tuple[Asserted | None, bool | None], list[CoveredRequirement]] = {}
    for row in rows:
        if row not in tested and (row.asserted_by is not None or row.removed):
            alike.setdefault((row.asserted_by, proofs[row.id]), []).append(row)
    lines = []
    for (asserted, proof), found in alike.items():
        words = asserted.describe() if asserted else _REMOVED
        who, where = f"{found[0].id}:", [each.id for each in found[0].orders]
        if len(found) > 1:
            who, where = count(len(found), "requirement"), [row.id for row in found]
            words = _COUNTED[Asserted.ORDER] if asserted is Asserted.ORDER else words
        lines.append(f"{who} {words}{_ON_HOLLOW_CODE[proof]} ({listed(where, _MOST_LISTED)})")
    for level, found in sound.items():
        if found:
            words = f"{count(len(found), 'requirement')} {_COUNTED[level]}"
            ids = listed([row.id for row in found], _MOST_LISTED)
            which = f" ({ids})" if level is Asserted.ORDER else ""
            lines.append(f"{words}{_trials_of([proofs[row.id] for row in found])}{which}")
    return tuple(lines)


_COUNTED: Final = {
    Asserted.TEST: Asserted.TEST.describe(),
    Asserted.ORDER: "tested with an order, not by name",
}


def _trials_of(proofs: Sequence[bool | None]) -> str:
    """Return how many of some requirements hold on trial, as the end of a sentence."""
    proven = sum(each is True for each in proofs)
    if not proven:
        return ", not tried on code that does nothing"
    untried = len(proofs) - proven
    more = f", {untried} not tried on it" if untried else ""
    return f", {proven} of them{_ON_HOLLOW_CODE[True][1:]}{more}"


def _row_lines(row: CoveredRequirement) -> Iterator[str]:
    place = place_of(row.file, row.line)
    where = f" ({place})" if place else ""
    removed = f" ({_REMOVED})" if row.removed else ""
    yield " ".join(f"{row.id}{where}{removed} {row.text}".split())
    if not row.orders:
        yield "    covered by no order"
    for order in row.orders:
        yield f"    {order.id}  {order.title}"
        yield from (f"        $ {command}" for command in order.commands)
        for commit, proof in zip_longest(order.commits, order.proofs, fillvalue=""):
            yield f"        commit {commit[:10]}{f', {proof}' if proof else ''}"
        if order.asserted_by is not None and not row.removed:
            yield f"        {order.asserted_by.describe()}"
