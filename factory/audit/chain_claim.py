"""Looks into whether commits follow each other without a gap."""

from __future__ import annotations

from collections.abc import Sequence

from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, contradicted, not_provable, proven
from factory.orders.identity import OrderIdentity


def rule_on_chain(cases: Sequence[Case], *, shallow: bool) -> Ruling:
    """Return whether each commit stands on the one before it, oldest first, and each order once.

    What people committed in between has no proof, so nothing is proven of the whole.
    """
    claim = Claim.CHAIN
    seen: dict[OrderIdentity, str] = {}
    for before, case in zip((None, *cases), cases, strict=False):
        name = _name(case)
        if before is not None and case.parent != before.commit.id:
            return contradicted(claim, f"{name} does not follow {_name(before)}")
        statement = case.statement
        if statement is not None and case.parent != statement.predicate.base.commit:
            base = statement.predicate.base.commit
            return contradicted(claim, f"{name} was judged on {base[:12]}, which is not before it")
        for each in case.named:
            if other := seen.get(each):
                return contradicted(claim, f"{name} carries out {each.work_order} after {other}")
            seen[each] = name
    bare = [_name(each) for each in cases if each.statement is None]
    if bare:
        return not_provable(claim, f"no statement says on what it was judged: {', '.join(bare)}")
    if shallow and not cases[0].has_parent:
        return not_provable(
            claim, "this is a shallow clone: nothing before it is here", "`git fetch --unshallow`"
        )
    number = len(cases)
    return proven(claim, f"{number} commit{'' if number == 1 else 's'}, each judged on its parent")


def _name(case: Case) -> str:
    return case.commit.id[:12]
