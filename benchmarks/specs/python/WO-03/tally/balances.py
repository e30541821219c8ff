"""Who owes and who is owed, after the entries of a journal."""

from __future__ import annotations

from tally.journal import Journal, Paid
from tally.money import divide


def balances(journal: Journal) -> dict[str, int]:
    """Return each person's balance in cents, in the sequence of the people."""
    found = dict.fromkeys(journal.people, 0)
    for entry in journal.entries:
        found[entry.name] += entry.cents
        if isinstance(entry, Paid):
            for name, share in zip(entry.among, divide(entry.cents, len(entry.among)), strict=True):
                found[name] -= share
        else:
            found[entry.to] -= entry.cents
    return found
