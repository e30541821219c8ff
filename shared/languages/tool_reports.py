"""Reads reports of faults by a table that describes how each tool writes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.reports import FaultReport, SecondLook, at_place

_MAX_BLOCK = 14
_MAX_REPORTS = 20


@dataclass(frozen=True, slots=True)
class Tool:
    """Describe a tool's report of one fault.

    `head` matches its first line; its groups `message`, `path` and `line` say what and where. The
    lines after it belong to it up to the first that matches `end`; `before` is the number of lines
    above it that belong to it too. `place` finds path and line where the head names none. A report
    without a line that matches `proof` is another tool's. The fact repeats `values` where all are
    found, else what `told` matches. `silent` tools mark lines and say nothing that helps.
    """

    name: str
    head: re.Pattern[str]
    end: re.Pattern[str]
    before: int = 0
    place: re.Pattern[str] | None = None
    proof: re.Pattern[str] | None = None
    values: re.Pattern[str] | None = None
    told: re.Pattern[str] | None = None
    silent: bool = False


# What comes after a report: a line of any kind, an empty one, one that is not indented.
HEAD_ALONE: Final = re.compile("")
BLANK_LINE: Final = re.compile(r"\s*$")
LESS_INDENTED: Final = re.compile(r"\S|\s*$")


@dataclass(frozen=True, slots=True)
class ToolReports:
    """Implement `Reports` for a language whose tools are entries of a table.

    `load` returns the table. It is called with the first output, because the table's patterns take
    long to compile.
    """

    load: Callable[[], tuple[Tool, ...]]

    def find_failed_tests(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield nothing: what these tools report stands beside reports of other tools."""
        return iter(())

    def find_faults(self, lines: Sequence[str]) -> Iterator[FaultReport]:
        """Yield what the tools report."""
        return find_faults(self.load(), lines)

    def second_look(self, argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
        """Return nothing: what these tools print is all there is."""
        return None


def find_faults(tools: Sequence[Tool], lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield a report for each fault that one of `tools` tells, tool by tool; a bounded number.

    A line belongs to one report at most: the tools come in their sequence.
    """
    taken: set[int] = set()
    for tool in tools:
        number = found = 0
        while number < len(lines) and found < _MAX_REPORTS:
            head = None if number in taken else tool.head.match(lines[number])
            report = _read(tool, head, lines, number) if head else None
            number += 1
            if report:
                yield report
                taken.update(report.lines)
                found += 1
                number = max(number, report.lines.stop)


def _read(tool: Tool, head: re.Match[str], lines: Sequence[str], number: int) -> FaultReport | None:
    block = [*_until(tool.end, lines[number + 1 : number + _MAX_BLOCK])]
    # The proof and the place may come after the lines that are kept.
    reach = [*_until(tool.head, lines[number + 1 : number + 4 * _MAX_BLOCK])]
    if tool.proof and not any(map(tool.proof.match, reach)):
        return None
    kept = range(max(0, number - tool.before), number + 1 + len(block))
    if tool.silent:
        return FaultReport(kept)
    told = _told(tool, head["message"].strip(), block, reach)
    place = _place(tool, head, reach, lines[max(0, number - tool.before) : number])
    return FaultReport(kept, f"{told} ({place})" if place else told)


def _until(end: re.Pattern[str], lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if end.match(line):
            return
        yield line


def _told(tool: Tool, message: str, block: Sequence[str], reach: Sequence[str]) -> str:
    """Return what the head says and the lines after it, as one line."""
    found = map(tool.told.match, block) if tool.told else ()
    more = [" ".join(each["told"].split()) for each in found if each]
    if tool.values:
        values = {each[1]: each[2] for each in map(tool.values.match, reach) if each}
        if len(values) > 1:
            more = [", ".join(f"{name} {value}" for name, value in values.items())]
    told = message
    for number, each in enumerate(filter(None, more)):
        between = " " if told.endswith((":", ".")) else "; " if number else ": "
        told += between + each
    return told


def _place(tool: Tool, head: re.Match[str], reach: Sequence[str], above: Sequence[str]) -> str:
    if path := head.groupdict().get("path"):
        return at_place(path, head["line"])
    if tool.place is None:
        return ""
    found = next(filter(None, map(tool.place.match, (*reach, *above))), None)
    return at_place(found["path"], found["line"]) if found else ""
