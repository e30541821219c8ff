"""Finds the id that an author put in front of a requirement: `REQ-01`, `**FR-001**:`, `[R2]`. Pure.

An id counts only in the form of a definition. "as in REQ-01" and "REQ-01 is replaced by REQ-02"
mention one.
"""

from __future__ import annotations

import re
from typing import Final

from planner.spec.derived_ids import DERIVED_ID

# Names of requirements that may stand right before their number, as in `R1` and `FR12`.
_KNOWN: Final = "REQ|RQ|NFR|FR|NF|UR|SR|SRS|BR|CR|US|UC|AC|SC|TR|IR|QR|DR|R|RULE|STORY|SPEC"
_NUMBER: Final = r"\d{1,6}(?:\.\d{1,4}){0,3}[a-z]?"
_ID: Final = (
    rf"(?:{DERIVED_ID}"
    rf"|(?:{_KNOWN}){_NUMBER}"
    rf"|(?:[Rr]eq|fr|nfr)(?:[-_]?{_NUMBER})"
    r"|(?:REQ|FR|NFR)(?:[-_][A-Z][A-Z0-9]{0,20}){1,3}"
    rf"|[A-Z][A-Z0-9]{{0,15}}(?:[-_.][A-Z][A-Z0-9]{{0,15}}){{0,3}}[-_.]{_NUMBER})"
    r"(?![\w])(?![-./]\w)"
)
# Standards, keys and the like, which have the form of an id.
_OTHER_NAMES: Final = """
AES ALT ANSI ASCII CMD COVID CP CTRL CVE CWE EC ECMA ES GMT GPT HTTP HTTPS IEC IEEE IPV ISO KEY
LEVEL MD META P PART PEP PHASE Q RFC RSA SECTION SHA SHIFT SSL STEP TLS UTC UTF V VERSION
"""
# After these words, an id that nothing sets apart is the subject of a sentence.
_VERBS: Final = """
also and applies apply are as can cannot comes covers defines demands depends describes does
extends for from has have holds if implies in is its may means must needs no not of on only or
overrides refers relates remains replaces requires says shall should specifies still supersedes
that through to until was were when which will with
"""

_BOX = re.compile(r"\[[ xX]\]\s+")
_BEGIN = re.compile(rf"(?P<mark>\*{{1,3}}|_{{1,3}}|`+)?(?P<open>[\[(])?(?P<id>{_ID})")
_AFTER_BRACKET = re.compile(
    r"[\])](?![\[(])[*_`]{0,3}\s*(?::|[-\u2013\u2014](?=\s))?[*_`]{0,3}(?:\s+|$)"
)
_COLON = re.compile(r"[*_`]{0,3}\s?[:\uff1a][*_`]{0,3}(?:\s+|$)")
_DASH = re.compile(r"[*_`]{0,3}\s+[-\u2013\u2014|][*_`]{0,3}(?:\s+|$)")
_POINT = re.compile(r"[*_`]{0,3}[.)][*_`]{0,3}\s+(?=[\"'(`*_]*[A-Z])")
_SPACE = re.compile(r"(?P<mark>[*_`]{1,3})?\s+")
_FIRST_WORD = re.compile(r"[\"'(`*_]*(\w+)")
_ONE_ID = re.compile(_ID)


def split_own_id(text: str) -> tuple[str, str]:
    """Return the id that a text begins with and the text after it; "" and the text if it has none.

    A box to be ticked (`[ ]`) before the id is left out, also where there is no id.
    """
    text = _BOX.sub("", text, count=1) if _BOX.match(text) else text
    begin = _BEGIN.match(text)
    if begin is None or _is_other_name(begin["id"]):
        return "", text
    rest = _after(begin, text)
    if rest is None or _ONE_ID.match(rest.lstrip("*_`[(")):
        return "", text
    return begin["id"], _balanced(rest, begin["mark"])


def is_own_id(text: str) -> bool:
    """Say whether a text is an id and nothing else, apart from emphasis and brackets."""
    bare = text.strip().strip("*_`").strip("[]()").strip("*_`")
    return _ONE_ID.fullmatch(bare) is not None and not _is_other_name(bare)


def bare_id(text: str) -> str:
    """Return an id without emphasis and brackets."""
    return text.strip().strip("*_`").strip("[]()").strip("*_`")


def _after(begin: re.Match[str], text: str) -> str | None:
    """Return what follows the id where the id is a definition, else `None`."""
    if begin["open"]:
        closed = _AFTER_BRACKET.match(text, begin.end())
        return text[closed.end() :] if closed else None
    for separator in (_COLON, _DASH, _POINT):
        if found := separator.match(text, begin.end()):
            return text[found.end() :]
    space = _SPACE.match(text, begin.end())
    if space is None:
        return None
    rest = text[space.end() :]
    word = _FIRST_WORD.match(rest)
    if word is None or word[1].casefold() in _VERBS.split():
        return None
    is_bold = bool(space["mark"]) and "`" not in space["mark"]
    return rest if is_bold or word[1][0].isupper() else None


def _balanced(rest: str, mark: str | None) -> str:
    """Return the rest without the end of an emphasis that began before the id."""
    if mark and rest.count(mark) % 2:
        before, _, after = rest.partition(mark)
        rest = before + after
    return rest.strip()


def _is_other_name(name: str) -> bool:
    return re.split(r"[-_.\d]", name, maxsplit=1)[0] in _OTHER_NAMES.split()
