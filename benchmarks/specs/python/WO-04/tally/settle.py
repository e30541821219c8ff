"""The payments that settle all debts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Payment:
    """A payment in cents from `payer` to `receiver`."""

    payer: str
    receiver: str
    cents: int


def settle(balances: Mapping[str, int]) -> list[Payment]:
    """Return payments after which every balance is zero; who owes most pays who is owed most."""
    left = dict(balances)
    payments: list[Payment] = []
    while any(left.values()):
        payer = min(left, key=lambda name: (left[name], name))
        receiver = min(left, key=lambda name: (-left[name], name))
        cents = min(-left[payer], left[receiver])
        left[payer] += cents
        left[receiver] -= cents
        payments.append(Payment(payer, receiver, cents))
    return payments
