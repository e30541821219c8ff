"""Identifies an order in the trailers of its commit, and recognises such commits later. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from shared.plan_folder.read import PlanFacts
from shared.work_order.hashing import order_key
from shared.work_order.schemas import WorkOrder

NOTES_REF = "refs/notes/llmch"

_ORDER = "Llmch-Work-Order"
_PLAN = "Llmch-Plan"
_KEY = "Llmch-Key"
_COVERS = "Llmch-Covers"
# `git merge --squash` writes the messages of the commits with this indentation. A line of a
# model's summary can begin with one blank at most, so it is not read as a trailer.
_SQUASHED = " " * 4


@dataclass(frozen=True, slots=True)
class OrderIdentity:
    """Identify a landed order by its id, its content, and the plan it belongs to, if any."""

    work_order: str
    key: str
    plan: str

    def trailers(self) -> str:
        """Return the lines that end the commit message."""
        lines = [f"{_ORDER}: {self.work_order}"]
        if self.plan:
            lines.append(f"{_PLAN}: {self.plan}")
        lines.append(f"{_KEY}: {self.key}")
        return "\n".join(lines)


def identify(order: WorkOrder, plan: str) -> OrderIdentity:
    """Return the identity of `order`; `plan` is the hash of its manifest, "" if it has none."""
    return OrderIdentity(order.id, order_key(order), plan)


def identities(order: WorkOrder, plan: PlanFacts | None) -> tuple[OrderIdentity, ...]:
    """Return the identities by which a commit of `order` is recognised.

    The first one is the identity in `plan`. The others are those in the plans that `plan` follows,
    newest first: an order that was kept may have landed as an order of any of them.
    """
    if plan is None:
        return (identify(order, ""),)
    key = order_key(order)
    hashes = dict.fromkeys((plan.manifest_sha256, *reversed(plan.lineage)))
    return tuple(OrderIdentity(order.id, key, each) for each in hashes)


def landed_orders(messages: Iterable[tuple[str, str]]) -> Mapping[OrderIdentity, str]:
    """Return the first commit of each order that the (commit, message) pairs name.

    A message may name several orders: that of a commit that squashed theirs.
    """
    found: dict[OrderIdentity, str] = {}
    for commit, message in messages:
        for fields in _trailers(message):
            if _KEY in fields:
                identity = OrderIdentity(fields[_ORDER], fields[_KEY], fields.get(_PLAN, ""))
                found.setdefault(identity, commit)
    return found


def covered_requirements(message: str) -> tuple[tuple[str, str], ...]:
    """Return a pair (order, requirement) for each requirement id that a commit message covers."""
    return tuple(
        (fields[_ORDER], name)
        for fields in _trailers(message)
        for each in fields.get(_COVERS, "").split(",")
        if (name := each.strip())
    )


def _trailers(message: str) -> Iterator[dict[str, str]]:
    """Yield the trailers of each order that a message names, by their names.

    Any paragraph may have them, since a squashed commit has the messages of several commits.
    """
    if _ORDER not in message:
        return
    fields: dict[str, str] = {}
    for line in message.split("\n"):
        name, colon, value = line.removeprefix(_SQUASHED).partition(": ")
        if name == _ORDER and colon:
            if fields:
                yield fields
            fields = {name: value.strip()}
        elif not line.strip():
            if fields:
                yield fields
            fields = {}
        elif fields and colon:
            fields.setdefault(name, value.strip())
    if fields:
        yield fields
