"""Answers `report` for a run: what was asked for, what became of it, and what it took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmch.console.clean import one_line, shorten
from llmch.console.document import Block, Conclusion, Item, Paragraph, Remark, Rows, Section, Sign
from llmch.console.figures import cost, count, duration, listed, short

if TYPE_CHECKING:
    from llmch.run_view.model.orders import OrderView
    from llmch.run_view.model.run import RunView

_ORDERS: Final = ("order", "state", "title", "attempts", "commit")
_REQUIREMENTS: Final = ("requirement", "orders", "commits")
_ENDED: Final = ("passed", "failed", "ended early")
_MOST_ROWS: Final = 200
_LONGEST_TITLE: Final = 80  # characters
_MOST_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class RunReportDocument:
    """Represent the answer of `report` for a run or a branch; `page` is the file with the page."""

    run: RunView
    page: Path | None = None

    def to_json(self) -> object:
        """Return the run without patches and output, which the page has."""
        run = self.run
        return {
            "run_id": run.run_id or None,
            "standing": run.standing,
            "branch": run.branch,
            "base": run.base or None,
            "tip": run.tip or None,
            "seconds": run.seconds,
            "page": str(self.page) if self.page else None,
            "orders": [_order_json(each) for each in run.orders],
            "requirements": [
                {"id": row.id, "orders": [each.id for each in row.orders]}
                for row in run.requirements
            ],
            "usage": asdict(run.usage),
            "gaps": list(run.gaps),
        }

    def blocks(self) -> Iterator[Block]:
        """Return the outcome, the orders, what stopped them, the requirements, and the costs."""
        run = self.run
        yield _outcome(run)
        if run.orders:
            yield Rows(tuple(map(_order_row, run.orders[:_MOST_ROWS])), _ORDERS)
        if left := run.orders[_MOST_ROWS:]:
            yield Remark((f"and {count(len(left), 'more order', 'more orders')}",))
        yield from _failures(run)
        if run.requirements:
            yield Rows(tuple(_requirement_rows(run)), _REQUIREMENTS)
        yield Paragraph(tuple(_taken(run)))
        if run.gaps:
            items = tuple(Item(each, Sign.WARNING) for each in run.gaps)
            yield Section("What the records do not show", items)
        if self.page:
            yield Paragraph((f"page: {self.page}",))


def _outcome(run: RunView) -> Block:
    """Return how the run ended. One that has not, and a branch without a run, has no verdict."""
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


def _order_json(order: OrderView) -> dict[str, Any]:
    return {
        "id": order.id,
        "title": order.title,
        "state": order.state,
        "attempts": len(order.attempts),
        "rejected": order.rejected,
        "commit": order.commit or None,
        "proof": order.proof or None,
        "failure": order.failure.stage if order.failure else None,
    }


def _order_row(order: OrderView) -> tuple[str, ...]:
    rejected = f" ({order.rejected} rejected)" if order.rejected else ""
    return (
        order.id,
        order.state.replace("_", " "),
        shorten(one_line(order.title), _LONGEST_TITLE),
        f"{len(order.attempts)}{rejected}",
        short(order.commit),
    )


def _failures(run: RunView) -> Iterator[Block]:
    """Yield why orders are not on the branch, the most telling fact of each."""
    for order in run.orders:
        if order.failure is None or order.is_on_branch:
            continue
        brief = next((each.brief for each in reversed(order.attempts) if each.brief), order.failure)
        items = tuple(Item(each) for each in reversed(brief.facts[-_MOST_LISTED:]))
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
    if usage.replayed:
        yield f"{count(usage.replayed, 'reply', 'replies')} replayed"
    for each in run.sandboxes:
        missing = f"; not held: {', '.join(each.missing)}" if each.missing else ""
        held = count(len(each.held), "guarantee")
        yield f"sandbox {each.backend} {each.version}: {held} held{missing}"
