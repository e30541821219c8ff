"""Splits a specification into requirements, each with an id.

An id that the author gave counts, in a structured spec and in a text. Other ids are derived from
the words of each bullet and sentence, so that an id stays the same while other lines change.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from planner.spec.blocks import derived_id
from planner.spec.likeness import folded
from planner.spec.statements import (
    Heading,
    Section,
    Statement,
    demands_in,
    find_statements,
    has_demand,
    is_about_something_else,
    is_head_line,
    only_introduces,
    section_of,
)
from shared.errors import InvalidInput
from shared.work_order.work_order import MAX_LISTED

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

    The text below an item or a heading with an id belongs to it, except below a heading whose
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
    """Return the lines that define an id. Raises `InvalidInput` if two of them differ."""
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


# Where fewer demands are left, the overview may be all that says what to build.
_FEW: Final = 2
_TITLE_WORDS: Final = 8


def relevant_statements(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements that demand something; in doubt a statement does.

    One with an id of its author's is left out only where its section excludes it from the product.
    The overview and the background count like all else where hardly anything else demands. All
    statements are returned where none would be left.
    """
    sections = {id(each): _section(each) for each in statements}
    certain = [
        each
        for each in statements
        if sections[id(each)] is not Section.EXCLUDED
        and any(map(str.isalnum, each.whole))
        and (each.own_id or not _is_aside(each))
    ]
    likely = [each for each in certain if _demands(each, sections[id(each)], statements[0])]
    left = sum(sections[id(each)] is not Section.CONSTRAINTS for each in likely)
    return (likely if left >= _FEW else certain) or list(statements)


def _section(statement: Statement) -> Section:
    titles = [each.title for each in statement.headings]
    return section_of([*titles, *statement.leads])


def _is_aside(statement: Statement) -> bool:
    is_in_head = len(statement.headings) <= 1
    return is_about_something_else(statement.whole) or (
        is_in_head and is_head_line(statement.whole)
    )


def _demands(statement: Statement, section: Section, first: Statement) -> bool:
    if statement.own_id or statement.owner:
        return True
    if statement is first and _is_title(statement):
        return False
    is_below_title = statement.headings == first.headings[:1] and not statement.is_item
    introduces = section is Section.OVERVIEW or (section is Section.OTHER and is_below_title)
    if introduces and only_introduces(statement.text):
        return False
    return demands_in(section, statement.text, is_item=statement.is_item)


def _is_title(statement: Statement) -> bool:
    """Say whether the first statement of a text is its title, though not in the form of one."""
    text = statement.text
    return not (
        statement.headings
        or statement.is_item
        or text.endswith((".", "!", "?", ";"))
        or len(text.split()) > _TITLE_WORDS
        or has_demand(text)
    )


_STEP = re.compile(
    r"(?:\*\*|__)(?P<bold>(?i:given|when|then|and|but))\b|\b(?P<plain>GIVEN|WHEN|THEN|AND|BUT)\b"
)
_THEN = re.compile(r"\bthen\b", re.IGNORECASE)


def with_joined_steps(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements; those that are steps of one scenario are one, as none demands alone.

    A scenario ends with its THEN and what is added to that, and has one WHEN: a list of these says
    what follows in each. Steps are items of one list that begin with the word in capitals or bold
    type.
    """
    joined: Statement | None = None
    words: set[str] = set()
    for each in statements:
        if joined is not None and _goes_on(joined, each, words):
            text = f"{joined.text} {each.text}"
            joined = replace(joined, text=text, whole=f"{joined.whole} {each.text}")
        else:
            if joined is not None:
                yield joined
            joined, words = each, set()
        words |= {found[found.lastgroup or 0].casefold() for found in _STEP.finditer(each.text)}
        words |= {"then"} if _THEN.search(each.text) else set()
    if joined is not None:
        yield joined


def _goes_on(before: Statement, step: Statement, words: Collection[str]) -> bool:
    word = _step_of(step)
    if not word or not _step_of(before) or before.headings != step.headings:
        return False
    over = {"then"} if word == "then" else {"when", "then"}
    return word in ("and", "but") or over.isdisjoint(words)


def _step_of(statement: Statement) -> str:
    """Return the word that a step begins with, "" if it is not a step."""
    found = _STEP.match(statement.text) if statement.is_item and not statement.own_id else None
    return (found["bold"] or found["plain"]).casefold() if found else ""


# A text with more is a book; its list would cost a prompt more than it is worth.
MAX_DERIVED: Final = 300
_MAX_LINES: Final = 20_000
_MAX_STATEMENTS: Final = 3000


@dataclass(frozen=True, slots=True)
class Requirement:
    """Represent one thing that the product must do; `line` is its line in a text, from 1.

    `given` is true where the specification's author gave the id, and `counted` where that id is its
    number in a list: another one has it as soon as something is inserted. `file` is the file with
    the line where a specification has several files.
    """

    id: str
    text: str
    line: int | None = None
    given: bool = False
    counted: bool = False
    file: str = ""


_UNTRACED: Final = (
    "it has more than {most:,} {what}, so orders are traced to its own ids alone: "
    "give its requirements ids of your own, or split it"
)


def derive_requirements(
    text: str, named: str = "the specification", remark: Callable[[str], object] = bool
) -> tuple[Requirement, ...]:
    """Return the requirements of a text, in their order.

    Those with an id of the author's have it. All other bullets and sentences have a derived id,
    with the number of their section where its heading has one, such as 2.1. Headings, code blocks,
    lines that only lead up to a list, and prose that demands nothing are not requirements. A
    repeated statement counts once. Derived ids are left out where there are more than
    `MAX_DERIVED`, and all where there are more than a manifest may list, or in a text of more than
    20,000 lines or 3,000 statements; `remark` is then called with a sentence for the author. Raises
    `InvalidInput`, which begins with `named`, where an id is given to two requirements.
    """
    if text.count("\n") > _MAX_LINES:
        remark(_UNTRACED.format(most=_MAX_LINES, what="lines"))
        return ()
    statements = [*islice(find_statements(text), _MAX_STATEMENTS + 1)]
    if len(statements) > _MAX_STATEMENTS:
        remark(_UNTRACED.format(most=_MAX_STATEMENTS, what="statements"))
        return ()
    statements = relevant_statements([*with_joined_steps(statements)])
    statements = with_owned_text(with_settled_ids(statements, named))
    given = [each for each in statements if each.own_id and each.text]
    derived = list(_unrepeated(statements, {folded(each.text) for each in given}))
    if len(derived) > MAX_DERIVED:
        remark(_UNTRACED.format(most=MAX_DERIVED, what="requirements without an id"))
        derived = []
    if len(given) + len(derived) > MAX_LISTED:
        remark(_UNTRACED.format(most=MAX_LISTED, what="requirements"))
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


def with_ids(text: str, requirements: Sequence[Requirement]) -> str:
    """Return a text where the line of each requirement whose id it does not show ends in it."""
    lines = text.split("\n")
    for each in requirements:
        if each.line and (each.counted or not each.given):
            lines[each.line - 1] = f"{lines[each.line - 1].rstrip()} [{each.id}]"
    return "\n".join(lines)


def render_requirements(requirements: Sequence[Requirement], *, all_needed: bool = False) -> str:
    """Return the section of the planner's prompt on the ids that `with_ids` shows, if any.

    With `all_needed`, the section demands an order for each requirement, also for one that only
    describes the product.
    """
    if not requirements:
        return ""
    exempt = "" if all_needed else "; one that only describes the product need not be"
    given = ", ".join(each.id for each in requirements if each.given)
    places = [f"its own ids {given}"] if given else []
    if not all(each.given for each in requirements):
        places.append("the ids in brackets at the ends of its lines, one for each sentence or item")
    return (
        f"# Requirements\n\nThe specification's requirements have {' and '.join(places)}. Give "
        "each order one more key, `covers`: the list of the ids of the requirements that it "
        "carries out, copied exactly. Each requirement is covered by at least one order"
        f"{exempt}. The executor reads the requirements that its order covers, word for word, "
        "after `notes`: repeat none of it there, and say what it leaves open."
    )
