"""The lines that the commands print."""

from __future__ import annotations

from tally.balances import balances
from tally.journal import Journal, Paid
from tally.money import format_amount
from tally.settle import settle


def balance_lines(journal: Journal) -> list[str]:
    """Return a line with the balance of each person, sorted by name."""
    return [f"{name}: {format_amount(cents)}" for name, cents in sorted(balances(journal).items())]


def settle_lines(journal: Journal) -> list[str]:
    """Return a line for each payment that settles the journal."""
    lines = [
        f"{each.payer} pays {each.receiver} {format_amount(each.cents)}"
        for each in settle(balances(journal))
    ]
    return lines or ["all settled"]


def summary_lines(journal: Journal) -> list[str]:
    """Return the number of entries, what was spent, and who paid how much."""
    sums: dict[str, int] = {}
    for entry in journal.entries:
        if isinstance(entry, Paid):
            sums[entry.name] = sums.get(entry.name, 0) + entry.cents
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [
        f"entries: {len(journal.entries)}",
        f"spent: {format_amount(sum(sums.values()))}",
        *(f"{name} paid {format_amount(cents)}" for name, cents in ranked),
    ]
