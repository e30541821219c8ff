"""Answers the verbs that execute orders: shows how one order ended, or all of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmch.console.document import AlreadyShown, Block, Conclusion, Rows
from llmch.console.figures import count, short

if TYPE_CHECKING:
    from factory.orders.documents import BatchSummary, RunSummary
    from llmch.answers.pull_request import PullRequestAnswer

_HEADINGS = ("order", "state", "attempts", "result")


@dataclass(frozen=True, slots=True)
class OrderDocument:
    """Represent the answer of `run`: how one order ended."""

    summary: RunSummary
    pull_request: PullRequestAnswer | None = None

    def to_json(self) -> object:
        """Return the summary without the records of the attempts."""
        return _json(self.summary, self.pull_request)

    def blocks(self) -> Iterator[Block]:
        """Return one line that says how the order ended."""
        summary = self.summary
        end = Conclusion(summary.work_order, _result(summary), summary.verdict == "PASS")
        yield AlreadyShown((end,))


@dataclass(frozen=True, slots=True)
class BatchDocument:
    """Represent the answer of `run-all`, and of `build` where there was a plan to execute."""

    summary: BatchSummary
    pull_request: PullRequestAnswer | None = None

    def to_json(self) -> object:
        """Return the summary without the records of the attempts."""
        return _json(self.summary, self.pull_request)

    def blocks(self) -> Iterator[Block]:
        """Return a table that says how each order ended, and the verdict on all of them."""
        summary = self.summary
        rows = tuple(
            (each.work_order, each.state, str(each.attempts), _result(each))
            for each in summary.orders
        )
        text = f"{count(len(rows), 'order')} on {summary.branch}"
        end = Conclusion("run-all", text, summary.verdict == "PASS")
        yield AlreadyShown((Rows(rows, _HEADINGS), end))


def _json(summary: RunSummary | BatchSummary, request: PullRequestAnswer | None) -> object:
    from factory.record.summary import public_json

    document = public_json(summary)
    return document if request is None else {**document, "pull_request": request.to_json()}


def _result(summary: RunSummary) -> str:
    if summary.failure is not None:
        return summary.failure.stage
    return short(summary.commit) if summary.commit else ""
