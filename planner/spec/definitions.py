"""Decides which ids of a specification's author define a requirement, and what they cover. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from planner.spec.demands import has_demand
from planner.spec.sections import Section, section_of
from planner.spec.statements import Heading, Statement
from planner.spec.wording import folded
from shared.errors import InvalidInput

# Acceptance criteria and test cases are often counted from 1 again in each section.
_COUNTED_ANEW: Final = re.compile(r"(?:AC|TC)[-_]?\d")


def with_settled_ids(statements: Sequence[Statement], named: str) -> list[Statement]:
    """Return the statements with their ids where these define, and without where they mention.

    The title is left out, since it defines nothing. Nor does a criterion (`AC1`) inside of what
    another id covers. A table or a section of tests that repeats an id mentions it, as does a list
    where a heading has the id. A heading that says the same again is left out. Raises
    `InvalidInput`, which begins with `named`, where two statements still define the same id.
    """
    title = _title(statements)
    found = [
        _without_id(each) if _is_part(each) else each
        for each in statements
        if not (each.is_heading and each.headings[-1] == title)
    ]
    by_id: dict[str, list[Statement]] = defaultdict(list)
    for each in found:
        if each.own_id:
            by_id[each.own_id].append(each)
    defining = {name: _defining(name, given, named) for name, given in by_id.items()}
    settled = (_settled(each, defining.get(each.own_id)) for each in found)
    return [each for each in settled if each is not None]


def with_owned_text(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements with those that belong to an id of the author's as a part of its text.

    What stands below an item or a heading with an id belongs to it, except below a heading whose
    section has further ids.
    """
    owners = _owners(statements)
    owned: dict[int, list[str]] = defaultdict(list)
    for each in statements:
        owner = _owner(each, owners)
        if owner:
            owned[owner].append(each.text)
    return [
        replace(each, text=_joined(each.text, owned[each.line]) if each.own_id else each.text)
        for each in statements
        if not _owner(each, owners)
    ]


def _title(statements: Iterable[Statement]) -> Heading | None:
    """Return the first heading where no other one is as high, else `None`."""
    headings = {each.line: each for said in statements for each in said.headings}
    first = next(iter(headings.values()), None)
    if first is None or any(each.level <= first.level for each in [*headings.values()][1:]):
        return None
    return first if len(headings) > 1 else None


def _is_part(statement: Statement) -> bool:
    """Say whether the id of a statement is that of a criterion of what has an id itself."""
    is_inside = bool(statement.owner) or any(each.own_id for each in statement.headings)
    is_criterion = _COUNTED_ANEW.match(statement.own_id) and not statement.is_heading
    return is_inside and bool(is_criterion)


def _without_id(statement: Statement) -> Statement:
    return replace(statement, own_id="", text=statement.whole)


def _settled(statement: Statement, defining: frozenset[int] | None) -> Statement | None:
    """Return a statement as it counts, given the lines that define its id; `None` for none."""
    if defining is None or statement.line in defining:
        return statement
    if statement.is_heading or (statement.table and not has_demand(statement.whole)):
        return None
    return _without_id(statement)


def _defining(name: str, given: Sequence[Statement], named: str) -> frozenset[int]:
    """Return the lines that define an id. Raises `InvalidInput` where two of them differ."""
    chosen = _strongest(given)
    first = chosen[0]
    for other in chosen[1:]:
        if folded(first.text) and folded(other.text) == folded(first.text):
            continue
        if _COUNTED_ANEW.match(name):
            return frozenset()
        raise InvalidInput(
            f"{named}: line {other.line}: {name!r} is already the id of the requirement on line "
            f"{first.line}",
            "give each requirement its own id; where one is only mentioned, write it inside the "
            f'sentence, as in "see {name}"',
        )
    return frozenset([first.line])


def _strongest(given: Sequence[Statement]) -> list[Statement]:
    """Return those of the statements with an id that define it, if the others mention it."""
    for is_weaker in (_is_in_tests, _is_row, _is_not_heading):
        stronger = [each for each in given if not is_weaker(each)]
        given = stronger or given
    first_table = given[0].table
    return [each for each in given if each.table == first_table]


def _is_in_tests(statement: Statement) -> bool:
    return section_of([each.title for each in statement.headings]) is Section.TESTS


def _is_row(statement: Statement) -> bool:
    return statement.table > 0


def _is_not_heading(statement: Statement) -> bool:
    return not statement.is_heading


def _owners(statements: Sequence[Statement]) -> frozenset[int]:
    """Return the lines of statements with an id, without headings that have ids below them."""
    lines = {each.line for each in statements if each.own_id}
    for each in statements:
        if each.own_id:
            above = each.headings[:-1] if each.is_heading else each.headings
            lines -= {heading.line for heading in above}
    return frozenset(lines)


def _owner(statement: Statement, owners: frozenset[int]) -> int:
    """Return the line of the statement that this one belongs to, else 0."""
    if statement.own_id:
        return 0
    above = [statement.owner, *(each.line for each in reversed(statement.headings) if each.own_id)]
    return next((line for line in above if line in owners), 0)


def _joined(text: str, owned: Sequence[str]) -> str:
    if owned and text and not text.endswith((".", ":", ";", "!", "?", ",")):
        text += ":"
    return " ".join([*([text] if text else []), *owned])
