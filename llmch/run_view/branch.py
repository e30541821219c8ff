"""Reads a branch that no run on record made, such as a clone's: its commits, and their notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from factory.orders.commit_note import parse_proof
from factory.orders.identity import NOTES_REF, covered_requirements, landed_orders
from llmch.run_view.attempts import change_of_commit
from llmch.run_view.find import FoundBranch
from llmch.run_view.model import OrderView, RunView, Standing
from llmch.run_view.requirements import requirements_of_orders
from shared.errors import InvalidInput
from shared.git import commits, refs
from shared.git.client import Git
from shared.git.commits import LoggedCommit
from shared.work_order.schemas import order_number

_MOST_COMMITS = 10_000
_FETCH = f"git fetch origin {NOTES_REF}:{NOTES_REF}"


def read_branch(found: FoundBranch) -> RunView:
    """Return what the branch has. Raises `InvalidInput` where it has no commit of an order."""
    git = found.git
    history = commits.log(git, refs.tip_of_branch(git, found.branch), limit=_MOST_COMMITS)
    orders = tuple(_orders(git, history))
    if not orders:
        raise InvalidInput(
            f"the branch {found.branch} has no commit of an order, and no run on it is on record",
            "name a branch that llmch made, a run, or the folder of a run",
        )
    notes = commits.notes(git, NOTES_REF, [each.commit for each in orders])
    orders = tuple(replace(each, proof=parse_proof(notes.get(each.commit, ""))) for each in orders)
    return RunView(
        run_id="",
        title="",
        standing=Standing.NOT_ON_RECORD,
        branch=found.branch,
        base=orders[0].parent,
        tip=history[0].id,
        orders=orders,
        requirements=requirements_of_orders(orders),
        gaps=tuple(_gaps(orders, notes)),
    )


def _orders(git: Git, history: Sequence[LoggedCommit]) -> Iterator[OrderView]:
    """Yield the orders that commits name, those that landed first first."""
    for each in reversed(history):
        covers = covered_requirements(each.message)
        for identity in landed_orders([(each.id, each.message)]):
            if order_number(identity.work_order) is None:
                continue
            head, _, rest = each.message.partition("\n")
            parent = each.parents[0] if each.parents else ""
            yield OrderView(
                id=identity.work_order,
                title=head.removeprefix(f"{identity.work_order}: "),
                state="landed",
                intent=_body(rest),
                covers=tuple(name for order, name in covers if order == identity.work_order),
                commit=each.id,
                parent=parent,
                change=change_of_commit(git, parent, each.id),
            )


def _body(message: str) -> str:
    """Return what a commit's message says of the work, without the trailers."""
    paragraphs = message.strip().split("\n\n")
    return " ".join(each for each in paragraphs if not each.startswith("Llmch-"))


def _gaps(orders: Sequence[OrderView], notes: Mapping[str, str]) -> Iterator[str]:
    yield (
        "no run on this branch is on record here: attempts, commands, times and costs are in the "
        "artifacts of the machine that made it; `llmch report DIR` reads the folder of a run"
    )
    without = [each for each in orders if each.commit not in notes]
    if without:
        yield (
            f"{len(without)} of {len(orders)} commits have no note that says what verified them; "
            f"`{_FETCH}` fetches the notes, if the remote has them"
        )
