"""What a verdict on a complaint of the compiler is, and what any of them looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.judging.compiler import Complaint
from shared.languages.ecmascript.judging.question import Question
from shared.languages.ecmascript.judging.view import View

if TYPE_CHECKING:
    from tree_sitter import Node

# Complaints that may be right, and concern what a program does not need to keep.
_DOUBTFUL: Final = frozenset(
    {2306, 2339, 2341, 2345, 2353, 2365, 2367, 2445, 2511, 2540, 2559, 2561, 2673, 2674, 2739, 2740,
     2741, 2769, 2349, 2351, 2350, 2488, 2461, 2554, 2555, 2575, 2551, 2576, 2362, 2363}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the code of a finding, and the text that its message adds to the compiler's."""

    code: str
    addition: str = ""


DOUBT: Final = Verdict("W222")


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a complaint with the part of the code that it is about, and what is known there."""

    complaint: Complaint
    node: Node
    question: Question
    view: View
    history: History
    position: int


def other_verdict(place: Place) -> Verdict | None:
    """Return a doubt where a complaint concerns what the project declares; else `None`."""
    is_own = place.question.mentions_project(_around(place.node))
    return DOUBT if place.complaint.code in _DOUBTFUL and is_own else None


def _around(node: Node) -> Node:
    """Return the expression around a node that says what is done with it."""
    for _ in range(3):
        if node.parent is None or node.parent.type.endswith(("_statement", "program", "_block")):
            break
        node = node.parent
    return node


def is_backed(place: Place, origins: frozenset[str]) -> bool:
    """Say whether all that is known of a value's type comes from contracts."""
    return origins <= place.view.contracts - place.view.open - place.question.mocked


def where_declared(place: Place, origins: frozenset[str], name: str = "") -> str:
    """Return the words that say where a value comes from; empty where nobody knows."""
    for file in sorted(origins):
        by = place.history.declared_by(file, name, place.position) if name else None
        if by is not None:
            return f"declared by {place.history.label(by)} in {file}"
        return f"in {file}"
    return ""


def holder_of(node: Node) -> Node | None:
    """Return the expression whose member is read at a place, or which a pattern takes apart."""
    above = node.parent
    is_member = above is not None and above.type == "member_expression"
    if above is not None and is_member and node.type == "property_identifier":
        return above.child_by_field_name("object")
    each: Node | None = node
    while each is not None and each.type != "variable_declarator":
        each = each.parent
    return each.child_by_field_name("value") if each is not None else node
