"""Leaves out the statements of a specification that demand nothing of the product. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.spec.demands import (
    demands_in,
    has_demand,
    is_about_something_else,
    is_head_line,
    names_product,
)
from planner.spec.sections import Section, section_of
from planner.spec.statements import Statement

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
    if introduces and names_product(statement.text):
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
