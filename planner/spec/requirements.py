"""Splits a specification into requirements, each with an id that plans and commits name.

A structured spec gives the ids. The ids of a text are derived from the words of each bullet and
sentence, so that an id stays the same while other lines change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# A text with more is a book; its list would cost a prompt more than it is worth.
MAX_DERIVED: Final = 300
_SHOWN_CHARACTERS: Final = 90
# Six digits nearly always tell three hundred requirements apart; an id that is taken gets longer.
_DIGEST_LENGTHS: Final = (6, 12, 64)

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_RULE = re.compile(r" {0,3}([-=*_])(\s*\1)*\s*$")
_BULLET = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(?=\S)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]`*_]{0,3}\s+(?=[\"'(\[`*_]{0,3}[A-Z0-9])")
_NOT_WORDS = re.compile(r"[\s*_`]+")


@dataclass(frozen=True, slots=True)
class Requirement:
    """Represent one thing that the product must do; `line` is its line in a text, from 1.

    `given` is true where the specification's author gave the id.
    """

    id: str
    text: str
    line: int | None = None
    given: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    """Hold lines that belong together: a bullet with its further lines, or a paragraph."""

    line: int
    text: str
    is_bullet: bool


def derive_requirements(text: str) -> tuple[Requirement, ...]:
    """Return the bullets and sentences of a text as requirements, in their order.

    Headings, code blocks and lines that only lead up to a list (they end in a colon) are not
    requirements. A repeated statement counts once. The result is empty where there are more than
    `MAX_DERIVED`.
    """
    by_id: dict[str, Requirement] = {}
    seen: set[str] = set()
    for line, said in _statements(text):
        words = _normalised(said)
        if words in seen or not any(map(str.isalnum, words)):
            continue
        seen.add(words)
        if len(seen) > MAX_DERIVED:
            return ()
        name = _derived_id(words, by_id)
        by_id[name] = Requirement(name, said, line)
    return tuple(by_id.values())


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


def _statements(text: str) -> Iterator[tuple[int, str]]:
    for block in _blocks(text):
        whole = " ".join(block.text.split())
        parts = [whole] if block.is_bullet else _SENTENCE_END.split(whole)
        line = block.line
        for part in parts:
            if not part.endswith(":"):
                yield _line_of(part, block, line), part


def _line_of(part: str, block: _Block, default: int) -> int:
    """Return the line on which a sentence of the block begins."""
    start = re.search(r"\s+".join(map(re.escape, part.split())), block.text)
    return default + block.text.count("\n", 0, start.start()) if start else default


def _blocks(text: str) -> Iterator[_Block]:
    held: list[str] = []
    first, is_bullet, fence = 0, False, ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        opened = _FENCE.match(line)
        in_code = bool(fence)
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence):
            fence = ""
        apart = in_code or opened or not line.strip() or _HEADING.match(line) or _RULE.match(line)
        bullet = None if apart else _BULLET.match(line)
        if (apart or bullet) and held:
            yield _Block(first, "\n".join(held), is_bullet)
            held = []
        if apart:
            continue
        if not held:
            first, is_bullet = number, bullet is not None
        held.append(line[bullet.end() :] if bullet else line)


def _normalised(text: str) -> str:
    return _NOT_WORDS.sub(" ", text).strip(" .;,!").casefold()


def _derived_id(words: str, taken: dict[str, Requirement]) -> str:
    digest = hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
    names = [f"R-{digest[:length]}" for length in _DIGEST_LENGTHS]
    return next((name for name in names if name not in taken), names[-1])


def _label(requirement: Requirement) -> str:
    return f"{requirement.id} (line {requirement.line})" if requirement.line else requirement.id


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS].rstrip()}..."
