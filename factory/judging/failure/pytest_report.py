"""Reads pytest's report of failures: each failed test, its statement, and what pytest says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from factory.judging.failure.finding import Finding, at_place
from factory.judging.failure.phrases import tell
from factory.judging.failure.pytest_values import values_of
from factory.judging.failure.tracebacks import stable_error

_SECTION = re.compile(r"^=+ (?P<title>.*?) =+$")
_TEST = re.compile(r"^_{3,} (?P<name>.+?) _{3,}$")
_STATEMENT = re.compile(r"^>\s+(?P<source>\S.*)$")
_SAID = re.compile(r"^E(?: {3}(?P<said>.*))?$")
_PLACE = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+): (?P<error>[\w.]*)$")
_SHORT = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S.*?)(?: - (?P<said>.*))?$")
_MAX_SAID = 4


@dataclass(frozen=True, slots=True)
class Block:
    """Hold what pytest reports of one failed test."""

    name: str
    lines: range
    source: str
    """The statement that failed or was under way, empty where it is not shown."""
    said: tuple[str, ...]
    place: str


def find_test_failures(lines: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each failed test; without a report on each, for each in the summary."""
    found = False
    for block in read_blocks(lines):
        found = True
        yield Finding(block.lines, _fact(block))
    if found:
        return
    for number, line in enumerate(lines):
        if (short := _SHORT.match(line)) and "::" in short["test"]:
            said = f": {short['said']}" if short["said"] else ""
            yield Finding(range(number, number + 1), f"{short['test']} failed{said}")


def read_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the parts of pytest's report that say why a test failed or could not be collected."""
    starts = [number for number, line in enumerate(lines) if _TEST.match(line)]
    ends = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    for start in starts:
        later = (each for each in (*starts, *ends) if each > start)
        block = _read_block(lines, start, min(later, default=len(lines)))
        if block:
            yield block


def _read_block(lines: Sequence[str], start: int, stop: int) -> Block | None:
    said = [number for number in range(start, stop) if _SAID.match(lines[number])]
    if not said:
        return None
    heading = _TEST.match(lines[start])
    sources = [found for found in map(_STATEMENT.match, lines[start : said[0]]) if found]
    places = [found for found in map(_PLACE.match, lines[said[0] : stop]) if found]
    texts = (found["said"] or "" for found in map(_SAID.match, lines[said[0] : said[-1] + 1]) if found)
    first = said[0] - 1 if sources else said[0]
    last = said[-1] + 1
    if places:
        last = max(last, next(at for at in range(last, stop) if _PLACE.match(lines[at])) + 1)
    return Block(
        name=heading["name"] if heading else "",
        lines=range(max(start, first), last),
        source=sources[-1]["source"] if sources else "",
        said=tuple(texts),
        place=at_place(places[-1]["path"], places[-1]["line"]) if places else "",
    )


def _fact(block: Block) -> str:
    where = f", {block.place}" if block.place else ""
    return f"In {block.name}{where}: {_told(block)}"


def _told(block: Block) -> str:
    said = [each.strip() for each in block.said if each.strip()]
    if not block.source.startswith("assert "):
        error = stable_error(" ".join(said[:_MAX_SAID]))
        return f"`{block.source}` ended with {error}" if block.source else error
    first = block.said[0].removeprefix("AssertionError: ")
    shown = next((each for each in map(_asserted, block.said) if each), "")
    failed = values_of(block.source.removeprefix("assert "), shown) if shown else None
    told = tell(failed) if failed else ""
    if not told:
        return stable_error(" ".join(said[:_MAX_SAID]))
    return told if first.startswith("assert ") else f"{told} ({first})"


def _asserted(said: str) -> str:
    text = said.removeprefix("AssertionError: ")
    return text.removeprefix("assert ") if text.startswith("assert ") else ""
