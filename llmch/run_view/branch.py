"""Reads a branch that no run on record made, such as a clone's: its commits, and their notes.

A statement holds the order itself. It is believed where the commit names the hash of its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from factory.audit.evidence import how_to_fetch
from factory.orders.commit_note import parse_proof
from factory.orders.identity import NOTES_REF, covered_requirements, landed_orders
from llmch.run_view.attempts import change_of_commit
from llmch.run_view.commands import sandboxes_of
from llmch.run_view.find import FoundBranch
from llmch.run_view.model.orders import OrderView
from llmch.run_view.model.run import RunView
from llmch.run_view.model.states import Standing
from llmch.run_view.orders import needs_of
from llmch.run_view.requirements import requirements_of_orders
from llmch.run_view.stated import (
    NOTHING_STATED,
    Stated,
    accepted_order,
    order_in,
    statements_on,
    with_stated,
)
from shared.errors import InvalidInput
from shared.git import commits, refs
from shared.git.client import Git
from shared.git.commits import LoggedCommit
from shared.work_order.schemas import WorkOrder, order_number

_MOST_COMMITS = 10_000
_FETCH = f"git fetch origin {NOTES_REF}:{NOTES_REF}"


def read_branch(found: FoundBranch) -> RunView:
    """Return what the branch has. Raises `InvalidInput` where it has no commit of an order."""
    git = found.git
    history = commits.log(git, refs.tip_of_branch(git, found.branch), limit=_MOST_COMMITS)
    statements = statements_on(git, [each.id for each in history])
    orders = tuple(_orders(git, history, statements))
    if not orders:
        raise InvalidInput(
            f"the branch {found.branch} has no commit of an order, and no run on it is on record",
            "name a branch that llmch made, a run, or the folder of a run",
        )
    notes = commits.notes(git, NOTES_REF, [each.commit for each in orders])
    orders = tuple(
        replace(each, proof=parse_proof(notes.get(each.commit, "")) or each.proof)
        for each in orders
    )
    sandboxes = sandboxes_of(command for each in orders for command in each.stated)
    return RunView(
        run_id="",
        title="",
        standing=Standing.NOT_ON_RECORD,
        branch=found.branch,
        base=orders[0].parent,
        tip=history[0].id,
        orders=orders,
        requirements=requirements_of_orders(orders),
        sandboxes=sandboxes,
        gaps=tuple(_gaps(git, orders, notes)),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold an order of the branch; `order` is its content, where a statement holds it."""

    view: OrderView
    order: WorkOrder | None


def _orders(
    git: Git, history: Sequence[LoggedCommit], statements: Mapping[str, Stated]
) -> Iterator[OrderView]:
    """Yield the orders that commits name or were accepted for, those that landed first first."""
    found = [
        one
        for each in reversed(history)
        for one in _of_commit(git, each, statements.get(each.id, NOTHING_STATED))
    ]
    known = {each.view.id: each.order for each in found if each.order is not None}
    # Orders of several plans may have the same id, and then nobody knows which one is needed.
    needs = (
        needs_of(tuple(known.values()))
        if len({each.view.id for each in found}) == len(found)
        else {}
    )
    for each in found:
        yield replace(each.view, needs=needs.get(each.view.id, ()))


def _of_commit(git: Git, commit: LoggedCommit, stated: Stated) -> Iterator[_Found]:
    parent = commit.parents[0] if commit.parents else ""
    covers = covered_requirements(commit.message)
    for identity in landed_orders([(commit.id, commit.message)]):
        if order_number(identity.work_order) is None:
            continue
        head, _, rest = commit.message.partition("\n")
        view = OrderView(
            id=identity.work_order,
            title=head.removeprefix(f"{identity.work_order}: "),
            state="landed",
            intent=_body(rest),
            covers=tuple(name for order, name in covers if order == identity.work_order),
            commit=commit.id,
            parent=parent,
            change=change_of_commit(git, parent, commit.id),
        )
        yield _Found(with_stated(view, identity, stated) or view, order_in(identity, stated))
    for each in stated.accepted:
        view = accepted_order(each, commit.id, parent)
        change = change_of_commit(git, parent, commit.id)
        yield _Found(replace(view, change=change), each.predicate.order.document)


def _body(message: str) -> str:
    """Return what a commit's message says of the work, without the trailers."""
    paragraphs = message.strip().split("\n\n")
    return " ".join(each for each in paragraphs if not each.startswith("Llmch-"))


def _gaps(git: Git, orders: Sequence[OrderView], notes: Mapping[str, str]) -> Iterator[str]:
    yield (
        "no run on this branch is on record here: attempts, output, times and costs are in the "
        "artifacts of the machine that made it; `llmch report DIR` reads the folder of a run"
    )
    silent = [each for each in orders if not each.maker]
    if silent:
        yield (
            f"{len(silent)} of {len(orders)} commits have no statement of what their orders ask "
            "for, what these need and which commands judged them; "
            f"`{how_to_fetch(git)}` fetches the statements, if the remote has them"
        )
    if len({each.id for each in orders}) < len(orders):
        yield "the orders of several plans have the same ids, so the graph is not known"
    without = [each for each in orders if each.commit not in notes]
    if without:
        yield (
            f"{len(without)} of {len(orders)} commits have no note that says what verified them; "
            f"`{_FETCH}` fetches the notes, if the remote has them"
        )
