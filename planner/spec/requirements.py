"""Splits a specification into requirements, each with an id that plans and commits name.

An id that the author gave counts, in a structured spec and in a text. Other ids are derived from
the words of each bullet and sentence, so that an id stays the same while other lines change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from planner.spec.definitions import with_owned_text, with_settled_ids
from planner.spec.derived_ids import derived_id
from planner.spec.relevance import relevant_statements
from planner.spec.scenarios import with_joined_steps
from planner.spec.statements import Statement, find_statements
from planner.spec.wording import folded
from shared.work_order.schemas import MAX_LISTED

# A text with more is a book; its list would cost a prompt more than it is worth.
MAX_DERIVED: Final = 300
_MAX_LINES: Final = 20_000
_MAX_STATEMENTS: Final = 3000
_SHOWN_CHARACTERS: Final = 90


@dataclass(frozen=True, slots=True)
class Requirement:
    """Represent one thing that the product must do; `line` is its line in a text, from 1.

    `given` is true where the specification's author gave the id.
    """

    id: str
    text: str
    line: int | None = None
    given: bool = False


def derive_requirements(text: str, named: str = "the specification") -> tuple[Requirement, ...]:
    """Return the requirements of a text, in their order.

    Those with an id of the author's have it. All other bullets and sentences have a derived id,
    with the number of their section where its heading has one, such as 2.1. Headings, code blocks,
    lines that only lead up to a list, and prose that demands nothing are not requirements. A
    repeated statement counts once. Derived ids are left out where there are more than
    `MAX_DERIVED`, and all where there are more than a manifest may list, or in a text of more than
    20,000 lines or 3,000 statements. Raises `InvalidInput`,
    which begins with `named`, where an id is given to two requirements.
    """
    if text.count("\n") > _MAX_LINES:
        return ()
    statements = [*islice(find_statements(text), _MAX_STATEMENTS + 1)]
    if len(statements) > _MAX_STATEMENTS:
        return ()
    statements = relevant_statements([*with_joined_steps(statements)])
    statements = with_owned_text(with_settled_ids(statements, named))
    given = [each for each in statements if each.own_id and each.text]
    derived = list(_unrepeated(statements, {folded(each.text) for each in given}))
    if len(derived) > MAX_DERIVED:
        derived = []
    if len(given) + len(derived) > MAX_LISTED:
        return ()
    return tuple(_with_ids(sorted([*given, *derived], key=lambda each: each.line), given))


def _unrepeated(statements: Sequence[Statement], seen: set[str]) -> Iterator[Statement]:
    """Yield the statements without an id whose words are new."""
    for each in statements:
        words = folded(each.text)
        if not each.own_id and words not in seen and any(map(str.isalnum, words)):
            seen.add(words)
            yield each


def _with_ids(statements: Sequence[Statement], given: Sequence[Statement]) -> Iterator[Requirement]:
    taken = {each.own_id for each in given}
    for each in statements:
        name = each.own_id or derived_id(folded(each.text), taken, each.section)
        taken.add(name)
        yield Requirement(name, each.text, each.line, given=bool(each.own_id))


def render_requirements(requirements: Sequence[Requirement], *, all_needed: bool = False) -> str:
    """Return the section of the planner's prompt that lists the requirements, if there are any.

    With `all_needed`, the section demands an order for each requirement, also for one that only
    describes the product.
    """
    if not requirements:
        return ""
    exempt = "" if all_needed else "; one that only describes the product need not be"
    lines = (f"- {_label(each)}: {_shortened(each.text)}" for each in requirements)
    return (
        "# Requirements\n\n"
        "What the specification requires has these ids. Give each order one more key, `covers`: "
        "the list of the ids of the requirements that it carries out, copied exactly, `[]` where "
        f"it only prepares others. Each requirement is covered by at least one order{exempt}.\n\n"
        + "\n".join(lines)
    )


def _label(requirement: Requirement) -> str:
    return f"{requirement.id} (line {requirement.line})" if requirement.line else requirement.id


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS].rstrip()}..."
