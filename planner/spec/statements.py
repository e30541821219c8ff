"""Finds the statements of a specification and whether they demand something.

The words are English. A section in another language counts as one that demands.

In doubt it does: a requirement too many costs a line, and one that is lost is not built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from planner.spec.blocks import Block, Kind, bare_id, is_own_id, split_blocks, split_own_id

_LONGEST: Final = 200  # characters of a title that is looked at


class Section(StrEnum):
    """Say what a section is for."""

    REQUIREMENTS = "requirements"
    OTHER = "other"
    CONSTRAINTS = "constraints"
    OVERVIEW = "overview"
    BACKGROUND = "background"
    TESTS = "tests"
    EXCLUDED = "excluded"


_TITLES: Final = (
    (
        Section.EXCLUDED,
        r"(?:explicit(?:ly)? )?(?:non ?(?:goals?|features|requirements)|out of scope|not in scope)"
        r"|(?:scope )?exclusions|not included|what (?:this|it) (?:is|does) not(?: \w+)?"
        r"|(?:will not|won t|wont) (?:have|do)|ideas for later|future(?: (?:\w+ )?(?:work|ideas"
        r"|plans|scope|features|versions?|considerations|enhancements|improvements|releases))?"
        r"|(?:further reading|bibliography)|change ?log|(?:table of contents|toc)"
        r"|(?:change|revision|document|version) (?:history|log|control)"
        r"|open (?:questions|issues|points)|(?:rejected )?alternatives(?: considered)?"
        r"|traceability(?: matrix)?|review (?:and )?acceptance checklist|execution status",
    ),
    (
        Section.BACKGROUND,
        r"background(?: \w+){0,3}|motivation(?: \w+){0,3}|rationale|justification|why(?: \w+){0,4}"
        r"|(?:the )?problem(?: statement)?|prior art|glossary|terminology"
        r"|acronyms(?: and abbreviations)?|abbreviations|(?:terms and )?definitions(?: and \w+)?"
        r"|assumptions|risks(?: and \w+)?"
        r"|(?:intended |target )(?:audience|users)|audience|(?:user )?personas?|stakeholders",
    ),
    (
        Section.OVERVIEW,
        r"(?:an? )?introduction|(?:\w+ )?overview|(?:executive )?summary|purpose|about(?: \w+){0,3}"
        r"|abstract|(?:product |project )?(?:description|vision)|preface|foreword|context|history"
        r"|references?|see also|links|related \w+|contents|acknowledge?ments|authors?"
        r"|current (?:state|situation)"
        r"|(?:usage )?examples?|example usage|samples?|demo",
    ),
    (
        Section.TESTS,
        r"tests?|test (?:plan|cases?|strategy)|testing|verification|acceptance(?: \w+)?"
        r"|tasks|plan|(?:\w+ )?coverage",
    ),
    (
        Section.CONSTRAINTS,
        r"(?:\w+ )?constraints?|technical (?:context|stack)|tech(?:nology)? stack",
    ),
    (
        Section.REQUIREMENTS,
        r"(?:\w+ ){0,2}(?:requirements?|features?|functions?|functionality|behaviou?rs?|rules"
        r"|stories|commands|endpoints|screens|pages|api|capabilities|use cases)",
    ),
)
_PATTERNS: Final = tuple((section, re.compile(words)) for section, words in _TITLES)
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_NOT_WORDS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"^(?:\d+ )+")
_LABEL = re.compile(r"(?:>\s*)?[*_]{0,3}([A-Za-z][\w '/-]{1,40}?)[*_]{0,3}\s?:[*_]{0,3}(?:\s|$)")


def section_kind(title: str) -> Section:
    """Return what a section is for, by its title."""
    if len(title) > _LONGEST:
        return Section.OTHER
    bare = _NOT_WORDS.sub(" ", _IN_BRACKETS.sub("", title)).casefold().strip()
    words = _NUMBER.sub("", bare)
    return next(
        (section for section, pattern in _PATTERNS if pattern.fullmatch(words)), Section.OTHER
    )


def section_of(titles: Sequence[str]) -> Section:
    """Return what the innermost of nested sections is for, by their titles from the outermost on.

    An excluded section stays so at any depth. An overview or examples inside of the requirements
    are a part of them: a page that is called "Summary", for one.
    """
    kinds = [section_kind(each) for each in titles]
    if Section.EXCLUDED in kinds:
        return Section.EXCLUDED
    known = [each for each in kinds if each is not Section.OTHER]
    if not known:
        return Section.OTHER
    if known[-1] is Section.OVERVIEW and Section.REQUIREMENTS in known:
        return Section.REQUIREMENTS
    return known[-1]


def label_of(text: str) -> str:
    """Return the words before the colon that a text begins with, "" if there are none."""
    found = _LABEL.match(text)
    return " ".join(found[1].casefold().split()) if found else ""


_DEMANDS_LONGEST: Final = 1000  # characters; a longer text surely demands something

_KEY_WORD = re.compile(r"\b(?:MUST|SHALL|SHOULD|REQUIRED|NEVER|ALWAYS)\b")
_DEMAND = re.compile(
    r"\b(?:must|shall|should|will|would|can|cannot|may|requir\w+|ha(?:s|ve) to|needs? to"
    r"|(?:is|are) to|need not|never|always|only|at (?:least|most)|exactly|no (?:more|less|fewer)"
    r"|more than|less than|fewer than|up to|within|between|allowed|forbidden|mandatory|optional"
    r"|refus\w+|reject\w*|without|every|each)\b|n't\b|\b(?:not|no)\b",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:must|shall|should|required|ha(?:s|ve) to|never|at (?:least|most))\b", re.IGNORECASE
)
_BEHAVIOUR = re.compile(
    r"\b(?:accept|add|allow|answer|calculat|comput|convert|creat|delet|display|draw|export|fail"
    r"|generat|handl|import|keep|let|list|load|log|offer|open|pars|print|process|provid|rais|read"
    r"|remov|render|reset|return|run|sav|search|send|serv|show|sort|start|stop|stor|support|updat"
    r"|use|validat|writ|yield|exit|mark)(?:e|es|s|ing|ed|ting|en)?\b|[`\d=]",
    re.IGNORECASE,
)
_OF_THE_DOCUMENT = re.compile(
    r"(?:(?:the )?(?:purpose|goal|aim|scope|intent|audience) of this (?:document|spec\w*|page)\b"
    r"|in this (?:document|spec(?:ification)?|section|chapter)\b"
    r"|this (?:document|spec(?:ification)?|section|chapter|page|prd)"
    r" (?:is|was|has|describ|specif|defin|explain|contain|list|cover|outlin|provid|giv|present"
    r"|summari|captur|lays|set|assum|uses|follows|introduc|detail)\w*\b"
    r"|the (?:following|next) (?:section|chapter|table|list|paragraph|document|requirement)s?"
    r" (?:describ|specif|defin|explain|contain|list|cover|outlin|giv|show|present)\w*\b"
    r"|the key ?words? .*\bRFC ?2119\b)",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"[*_]*(?:for (?:example|instance)|e\.g\.|examples?:"
    r"|see (?:also\b|section\b|the (?:section|chapter|appendix)\b|\[|https?:))",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:q:\s*)?(?:what|why|how|when|where|who|which|should|shall|is|are|do|does|did|can|could"
    r"|will|would|may|must|has|have)\b[^?]*\?$",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)[.,;]?")
_THING: Final = (
    r"(?:app|application|tool|program|project|system|product|service|library|game|website|site|web"
    r"|package|module|utility|script|bot|server|client|plugin|extension|platform|framework|cli|api"
    r"|dashboard|editor|viewer|calculator|tracker|manager|generator|converter)"
)
_KIND_OF_PRODUCT = re.compile(
    rf"(?:(?:[\w.'-]+\s){{1,3}}(?:is|are)\s)?(?:an?|the)\s(?:[\w'-]+,?\s){{0,5}}?(?:[\w-]+-)?{_THING}"
    r"(?:,?\s(?:that|which|for|to|of|in|with|written|on)\b|[.,]?$)",
    re.IGNORECASE,
)
_OF_THE_AUTHORS = re.compile(r"(?:welcome to|we(?:'re|'ve)?|our)\s", re.IGNORECASE)
# Labels of texts that say why, and of lines at the head of a document that say who and when.
_REASON = re.compile(
    r"why|why this priority|rationale|reasoning|motivation|justification|independent test"
)
_HEAD = re.compile(
    r"status|created|version|authors?|date|(?:last )?updated|owner|(?:feature )?branch|input"
    r"|reviewers?"
)


def is_about_something_else(text: str) -> bool:
    """Say whether a text surely demands nothing of the product, whatever section it is in.

    It is about the document, gives a reason or an example, asks, or only links.
    """
    if len(text) > _DEMANDS_LONGEST:
        return False
    if _KEY_WORD.search(text) and not _OF_THE_DOCUMENT.match(text):
        return False
    if _QUESTION.match(text) or _LINK.fullmatch(text) or _OF_THE_DOCUMENT.match(text):
        return True
    label = label_of(text)
    if _REASON.fullmatch(label):
        return label in (
            "why this priority",
            "independent test",
            "rationale",
        ) or not _DEMAND.search(text)
    if label and section_kind(label) is Section.EXCLUDED:
        return not _DEMAND.search(text.partition(":")[2])
    return bool(_EXAMPLE.match(text)) and not has_modal(text)


def is_head_line(text: str) -> bool:
    """Say whether a text before the first section says who wrote the document, when, and so on."""
    if len(text) > _DEMANDS_LONGEST or _DEMAND.search(text):
        return False
    return _HEAD.fullmatch(label_of(text)) is not None


def only_introduces(text: str) -> bool:
    """Say whether a text only says which kind of thing the product is, or who wants it and why.

    `A tool for teams.`, `Our shop has grown.`, `Welcome to the specification of Words.`
    """
    if len(text) > _DEMANDS_LONGEST or _DEMAND.search(text):
        return False
    if _OF_THE_AUTHORS.match(text) and not _BEHAVIOUR.search(text):
        return True
    return bool(_KIND_OF_PRODUCT.match(re.sub(r"[*_`]", "", text)))


def demands_in(section: Section, text: str, *, is_item: bool) -> bool:
    """Say whether a text in a section of this kind demands something, as far as words tell."""
    match section:
        case Section.REQUIREMENTS | Section.OTHER | Section.CONSTRAINTS | Section.TESTS:
            return True
        case Section.OVERVIEW:
            return len(text) > _DEMANDS_LONGEST or bool(
                _DEMAND.search(text) or _BEHAVIOUR.search(text)
            )
        case Section.BACKGROUND:
            return bool(_KEY_WORD.search(text)) or (not is_item and has_modal(text))
        case Section.EXCLUDED:
            return False


def has_demand(text: str) -> bool:
    """Say whether a text has a word that demands or limits something."""
    return bool(_DEMAND.search(text))


def has_modal(text: str) -> bool:
    """Say whether a text has one of the words that demand, such as `must`."""
    return bool(_MODAL.search(text))


_SENTENCE_END = re.compile(r"(?<=[.!?])([\"')\]`*_]{0,3})\s+(?=[\"'(\[`*_]{0,3}[A-Z0-9])")
# Bounded, or a text of nothing but quotes would be scanned again from each of them.
_IN_BACK_QUOTES = re.compile(r"(?<!`)(`{1,3})(?!`).{1,500}?(?<!`)\1(?!`)", re.DOTALL)
_CELL_END = re.compile(r"(?<!\\)\|")
_SECTION_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3}){1,3})\.?\s+(?=\S)")
_CHAPTER = re.compile(r"(?:\d{1,3}[.)]?|[IVXLC]{1,6}[.)]|[A-Z][.)])\s+(?=\S)")
_NOUN = re.compile(
    r"(?:requirement|user story|story|use case|feature|rule)\s+(?=\S)", re.IGNORECASE
)
_LEAD_END = re.compile(r":[*_]{0,3}$")
_SENTENCE_WORDS: Final = 5
_ID_COLUMNS: Final = 2  # an id is in one of the first columns of a table


@dataclass(frozen=True, slots=True)
class Heading:
    """Hold a heading: its depth from 1, title, number such as `2.1`, and the id of its author."""

    line: int
    level: int
    title: str
    number: str = ""
    own_id: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """Hold a sentence, a list item or a row on one line, and its place.

    `text` has no id of the author's; that is `own_id`, "" without one, and then `whole` has both.
    `headings` are those of the sections it is in, the outermost first; `leads` the texts that lead
    up to the list it is in. `owner` is the line of the item or paragraph with an id of its author's
    that it belongs to, else 0. `table` is the first line of a row's table, else 0.
    """

    line: int
    text: str
    whole: str
    own_id: str = ""
    headings: tuple[Heading, ...] = ()
    leads: tuple[str, ...] = ()
    owner: int = 0
    is_item: bool = False
    is_heading: bool = False
    table: int = 0

    @property
    def section(self) -> str:
        """Return the number of the innermost section that has one, else ""."""
        return next((each.number for each in reversed(self.headings) if each.number), "")


@dataclass(frozen=True, slots=True)
class _BlockPlace:
    """Hold what surrounds a block: headings, and what leads up to it or owns it, by indentation."""

    headings: tuple[Heading, ...] = ()
    leads: tuple[tuple[int, str], ...] = ()
    owners: tuple[tuple[int, int], ...] = ()


def find_statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text, in their order.

    A line that only leads up to a list, as it ends in a colon, is not a statement unless it demands
    something itself. A heading with such an id is one, with its title as text, and the last of its
    own `headings`.
    """
    place = _BlockPlace()
    for block in split_blocks(text):
        place = _entered(place, block)
        if block.kind is Kind.HEADING:
            heading = place.headings[-1]
            if heading.own_id:
                yield Statement(
                    *(block.line, heading.title, block.text, heading.own_id, place.headings),
                    is_heading=True,
                )
            continue
        indent = block.level if block.kind is Kind.ITEM else -1
        for line, said in _parts(block):
            found = _statement(block, line, said, place)
            is_lead = block.kind is not Kind.ROW and bool(_LEAD_END.search(said))
            if not is_lead or found.own_id or _is_more_than_lead(found):
                yield found
            if is_lead:
                place = replace(place, leads=(*place.leads, (indent, said)))
            if found.own_id and (is_lead or block.kind is Kind.ITEM):
                place = replace(place, owners=(*place.owners, (indent, line)))


def _is_more_than_lead(statement: Statement) -> bool:
    """Say whether a text that leads up to a list demands something by itself."""
    is_sentence = statement.is_item and len(statement.text.split()) >= _SENTENCE_WORDS
    return is_sentence or has_modal(statement.text)


def _entered(place: _BlockPlace, block: Block) -> _BlockPlace:
    """Return the place of a block, given that of the block before it."""
    match block.kind:
        case Kind.HEADING:
            heading = parse_heading(block)
            above = tuple(each for each in place.headings if each.level < heading.level)
            return _BlockPlace((*above, heading))
        case Kind.PARAGRAPH:
            inside = block.level if block.level > 1 else -1
            return _BlockPlace(place.headings, (), _outside_of(place.owners, inside))
        case Kind.ITEM:
            leads = tuple(each for each in place.leads if each[0] < block.level)
            return _BlockPlace(place.headings, leads, _outside_of(place.owners, block.level))
        case Kind.ROW:
            return place


def _outside_of(owners: tuple[tuple[int, int], ...], indent: int) -> tuple[tuple[int, int], ...]:
    return tuple(each for each in owners if each[0] < indent)


def parse_heading(block: Block) -> Heading:
    """Return the heading of a block, with its number and id apart from its title."""
    title = " ".join(block.text.split())
    numbered = _SECTION_NUMBER.match(title)
    chapter = numbered or _CHAPTER.match(title)
    bare = title[chapter.end() :] if chapter else title
    noun = _NOUN.match(bare)
    own_id, rest = split_own_id(bare[noun.end() :] if noun else bare)
    if not own_id and is_own_id(bare):
        own_id, rest = bare_id(bare), ""
    return Heading(
        block.line, block.level, rest if own_id else bare, numbered[1] if numbered else "", own_id
    )


def _statement(block: Block, line: int, said: str, place: _BlockPlace) -> Statement:
    is_row = block.kind is Kind.ROW
    if is_row:
        own_id, text, whole = _row(said)
    else:
        own_id, text = split_own_id(said)
        whole = said if own_id else text
    return Statement(
        *(line, text, whole, own_id, place.headings, tuple(lead for _, lead in place.leads)),
        owner=place.owners[-1][1] if place.owners else 0,
        is_item=block.kind is not Kind.PARAGRAPH,
        table=block.level if is_row else 0,
    )


def _row(said: str) -> tuple[str, str, str]:
    """Return the id, the text and the whole of a row; its cells are joined with semicolons."""
    cells = [cell.strip() for cell in _CELL_END.split(said.strip().strip("|"))]
    cells = [cell for cell in cells if any(map(str.isalnum, cell))]
    whole = "; ".join(cells)
    for column, cell in enumerate(cells[:_ID_COLUMNS]):
        if is_own_id(cell):
            return bare_id(cell), "; ".join(cells[:column] + cells[column + 1 :]), whole
    own_id, text = split_own_id(whole)
    return own_id, text, whole


def _parts(block: Block) -> Iterator[tuple[int, str]]:
    text = block.text.strip()
    if block.kind is not Kind.PARAGRAPH or split_own_id(" ".join(text.split()))[0]:
        yield block.line, " ".join(text.split())
        return
    line, start = block.line, 0
    whole_code = _IN_BACK_QUOTES.sub(lambda code: re.sub(r"\s", "_", code[0]), text)
    for end in [*_SENTENCE_END.finditer(whole_code), None]:
        part = text[start : end.end(1) if end else len(text)]
        yield line, " ".join(part.split())
        if end:
            line += text.count("\n", start, end.end())
            start = end.end()
