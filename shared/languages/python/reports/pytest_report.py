"""Reads pytest's report: each failed test, its statement, and what pytest says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.languages.capabilities.reports import FaultReport, at_place
from shared.languages.python.reports.phrases import tell
from shared.languages.python.reports.pytest_values import values_of
from shared.languages.python.reports.tracebacks import stable_error

_SECTION = re.compile(r"^=+ (?P<title>.*?) =+$")
_TEST = re.compile(r"^_{3,} (?P<name>.+?) _{3,}$")
_STATEMENT = re.compile(r"^>\s+(?P<source>\S.*)$")
_SAID = re.compile(r"^E(?: {3}.*)?$")
_PLACE = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+): (?P<error>[\w.]*)$")
_SHORT = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S.*?)(?: - (?P<said>.*))?$")
_MAX_SAID = 4


@dataclass(frozen=True, slots=True)
class Block:
    """Hold what pytest reports of one failed test."""

    name: str
    lines: range
    sources: tuple[str, ...]
    """The statements that were under way, the test's own first. Some reports show none."""
    said: tuple[str, ...]
    place: str


def find_test_failures(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield a finding for each failed test; without a report on each, for each in the summary."""
    found = False
    for block in read_blocks(lines):
        found = True
        yield FaultReport(block.lines, _fact(block))
    if found:
        return
    for number, line in enumerate(lines):
        if (short := _SHORT.match(line)) and "::" in short["test"]:
            said = f": {short['said']}" if short["said"] else ""
            yield FaultReport(range(number, number + 1), f"{short['test']} failed{said}")


def read_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the parts of pytest's report that say why a test failed or could not be collected."""
    heads = [at for at, line in enumerate(lines) if _TEST.match(line) or _SECTION.match(line)]
    for start, stop in pairwise((*heads, len(lines))):
        block = _read_block(lines, start, stop)
        if block:
            yield block


def _read_block(lines: Sequence[str], start: int, stop: int) -> Block | None:
    heading = _TEST.match(lines[start])
    said = [number for number in range(start, stop) if _SAID.match(lines[number])]
    if not heading or not said:
        return None
    sources = [found for found in map(_STATEMENT.match, lines[start : said[0]]) if found]
    places = [found for found in map(_PLACE.match, lines[said[0] : stop]) if found]
    texts = [lines[number][1:].strip() for number in said]
    first = said[0] - 1 if sources else said[0]
    last = said[-1] + 1
    if places:
        last = max(last, next(at for at in range(last, stop) if _PLACE.match(lines[at])) + 1)
    return Block(
        name=heading["name"],
        lines=range(max(start, first), last),
        sources=tuple(found["source"] for found in sources),
        said=tuple(each for each in texts if each and not each.startswith("Use -v ")),
        place=at_place(places[-1]["path"], places[-1]["line"]) if places else "",
    )


def _fact(block: Block) -> str:
    if not block.said:
        return f"{block.name} failed"
    source = block.sources[-1] if block.sources else ""
    if source.startswith("assert "):
        where = f" ({block.place})" if block.place else ""
        return f"In {block.name}{where}: {_told_assertion(block, source)}"
    error = stable_error("; ".join(block.said[:_MAX_SAID]))
    under_way = f"`{block.sources[0]}` ended with " if block.sources else ""
    shown = f": `{source}`" if len(block.sources) > 1 else ""
    where = f" ({block.place}{shown})" if block.place else ""
    name = block.name.removeprefix("ERROR ")  # as in `ERROR collecting test_a.py`
    return f"{'In' if name == block.name else 'While'} {name}: {under_way}{error}{where}"


def _told_assertion(block: Block, source: str) -> str:
    shown = next((each for each in map(_asserted, block.said) if each), "")
    failed = values_of(source.removeprefix("assert "), shown) if shown else None
    told = tell(failed) if failed else ""
    if not told:
        return stable_error("; ".join(block.said[:_MAX_SAID]))
    message = block.said[0].removeprefix("AssertionError: ")
    return told if message.startswith("assert ") else f"{told} ({message})"


def _asserted(said: str) -> str:
    text = said.removeprefix("AssertionError: ")
    return text.removeprefix("assert ") if text.startswith("assert ") else ""
