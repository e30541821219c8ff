"""Identifies an order in the trailers of its commit, and recognises such commits later. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shared.work_order.hashing import order_key
from shared.work_order.schemas import WorkOrder

NOTES_REF = "refs/notes/llmch"


@dataclass(frozen=True, slots=True)
class OrderIdentity:
    """Identify a landed order by its id, its content, and the plan it belongs to, if any."""

    work_order: str
    key: str
    plan: str

    def trailers(self) -> str:
        """Return the lines that end the commit message."""
        lines = [f"Llmch-Work-Order: {self.work_order}"]
        if self.plan:
            lines.append(f"Llmch-Plan: {self.plan}")
        lines.append(f"Llmch-Key: {self.key}")
        return "\n".join(lines)


def identify(order: WorkOrder, plan: str) -> OrderIdentity:
    """Return the identity of `order`; `plan` is the hash of its manifest, "" if it has none."""
    return OrderIdentity(order.id, order_key(order), plan)


def landed_orders(messages: Iterable[tuple[str, str]]) -> Mapping[OrderIdentity, str]:
    """Return the first commit of each order that the (commit, message) pairs name."""
    found: dict[OrderIdentity, str] = {}
    for commit, message in messages:
        fields = _trailers(message)
        if "Llmch-Key" in fields and "Llmch-Work-Order" in fields:
            identity = OrderIdentity(
                fields["Llmch-Work-Order"], fields["Llmch-Key"], fields.get("Llmch-Plan", "")
            )
            found.setdefault(identity, commit)
    return found


def covered_requirements(message: str) -> tuple[tuple[str, str], ...]:
    """Return a pair (order, requirement) for each requirement id that a commit message covers."""
    fields = _trailers(message)
    if "Llmch-Work-Order" not in fields:
        return ()
    names = (each.strip() for each in fields.get("Llmch-Covers", "").split(","))
    return tuple((fields["Llmch-Work-Order"], name) for name in names if name)


def _trailers(message: str) -> dict[str, str]:
    last_paragraph = message.rstrip().rpartition("\n\n")[2]
    pairs = (line.partition(": ") for line in last_paragraph.splitlines())
    return {name: value.strip() for name, colon, value in pairs if colon}
