"""Makes the bytes of a commit again from its order, its tree and its parent. Pure."""

from __future__ import annotations

import re

from factory.orders.commit_message import CommitTerms, describe_commit
from factory.orders.identity import OrderIdentity
from factory.statement.document import CommitTermsPart
from shared.git.identity import Identity
from shared.work_order.schemas import WorkOrder

_DATE = re.compile(r"@([0-9]{1,12}) (\+0000)")
# Git leaves these out at both ends of a name, and the last three anywhere in it.
_ENDS = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
_NOWHERE = re.compile(r"[\n<>]")


def remake_commit(
    order: WorkOrder, identity: OrderIdentity, terms: CommitTermsPart, tree: str, parent: str
) -> bytes | None:
    """Return the commit that llmch makes of `tree` on `parent`; `None` where the date is no date.

    Git writes the same bytes for it, unless its config asks for commits in another encoding.
    """
    date = _DATE.fullmatch(terms.date)
    if date is None:
        return None
    facts = describe_commit(
        order,
        identity,
        CommitTerms(Identity(terms.author, terms.email), terms.date, terms.subject),
        terms.summary,
    )
    person = f"{_cleaned(facts.author)} <{_cleaned(facts.email)}> {date[1]} {date[2]}"
    lines = [f"tree {tree}", f"parent {parent}", f"author {person}", f"committer {person}"]
    return ("\n".join(lines) + f"\n\n{facts.message}").encode("utf-8", "surrogateescape")


def _cleaned(text: str) -> str:
    return _NOWHERE.sub("", text.strip(_ENDS))
