"""Looks into whether commits follow each other without a gap."""

from __future__ import annotations

from collections.abc import Sequence

from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, contradicted, not_provable, proven
from factory.orders.identity import OrderIdentity


def rule_on_chain(commits: Sequence[Sequence[Case]], *, shallow: bool) -> Ruling:
    """Return whether each commit stands on the one before it, oldest first, and each order once.

    `commits` has the cases of each. What people committed in between has no proof, so nothing is
    proven of the whole, unless it was accepted for an order.
    """
    claim = Claim.CHAIN
    seen: dict[OrderIdentity, str] = {}
    first = [each[0] for each in commits]
    for before, case, cases in zip((None, *first), first, commits, strict=False):
        name = _name(case)
        if before is not None and case.parent != before.commit.id:
            return contradicted(claim, f"{name} does not follow {_name(before)}")
        bases = (each.stated.base.commit for each in cases if each.stated)
        if other := next((each for each in bases if each != case.parent), ""):
            return contradicted(claim, f"{name} was judged on {other[:12]}, which is not before it")
        for each in case.named:
            if earlier := seen.get(each):
                return contradicted(claim, f"{name} carries out {each.work_order} after {earlier}")
            seen[each] = name
    bare = [_name(each[0]) for each in commits if not any(case.stated for case in each)]
    if bare:
        return not_provable(claim, f"no statement says on what it was judged: {', '.join(bare)}")
    if shallow and not first[0].has_parent:
        return not_provable(
            claim, "this is a shallow clone: nothing before it is here", "`git fetch --unshallow`"
        )
    number = len(commits)
    return proven(claim, f"{number} commit{'' if number == 1 else 's'}, each judged on its parent")


def _name(case: Case) -> str:
    return case.commit.id[:12]
