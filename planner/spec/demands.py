"""Says whether a sentence demands something of the product. Pure.

In doubt it does: a requirement too many costs a line, and one that is lost is not built.
"""

from __future__ import annotations

import re
from typing import Final

from planner.spec.sections import Section, label_of, section_kind

_LONGEST: Final = 1000  # characters; a longer text surely demands something

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
    if len(text) > _LONGEST:
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
    if len(text) > _LONGEST or _DEMAND.search(text):
        return False
    return _HEAD.fullmatch(label_of(text)) is not None


def names_product(text: str) -> bool:
    """Say whether a text only says which kind of thing the product is: `A tool for teams.`"""
    if len(text) > _LONGEST or _DEMAND.search(text):
        return False
    return bool(_KIND_OF_PRODUCT.match(re.sub(r"[*_`]", "", text)))


def demands_in(section: Section, text: str, *, is_item: bool) -> bool:
    """Say whether a text in a section of this kind demands something, as far as words tell."""
    match section:
        case Section.REQUIREMENTS | Section.OTHER | Section.CONSTRAINTS | Section.TESTS:
            return True
        case Section.OVERVIEW:
            return len(text) > _LONGEST or bool(_DEMAND.search(text) or _BEHAVIOUR.search(text))
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
