"""Recognises how compilers, test runners and interpreters report what is wrong.

Each tool is one entry of `TOOLS`: how its report of a fault begins, which lines belong to it, and
where it names the place. Python's tracebacks and pytest's reports have readers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from factory.judging.failure.finding import Finding, at_place

_MAX_BLOCK = 14
_MAX_FINDINGS = 20


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


_HEAD_ALONE = re.compile("")
_BLANK_LINE = re.compile(r"\s*$")
_LESS_INDENTED = re.compile(r"\S|\s*$")

TOOLS: Final = (
    Tool(
        "node",  # TAP writes what a test file prints behind a #
        head=re.compile(r"(?:# )?(?:Uncaught )?(?P<message>[\w$.]*(?:Error|Exception)\b.*)$"),
        end=re.compile(r"(?:# ?)?(?:\s+at |Node\.js v|Require stack:)"),
        before=4,
        place=re.compile(
            r"(?:# ?)?(?:\s+at (?:.*\()?)?(?:file://)?"
            r"(?P<path>(?!node:)[^\s():]+):(?P<line>\d+)(?::\d+\)?)?$"
        ),
        proof=re.compile(r"(?:# ?)?\s+at .*(?:node:|\[eval\]|\.[cm]?[jt]sx?:\d)"),
        values=re.compile(r"\s+(actual|expected): (.*[^{\[]),$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
    Tool(
        "node --test",
        head=re.compile(r"\s*not ok \d+ - (?P<message>.*)$"),
        end=re.compile(r"\s*(?:code:|stack:|\.\.\.$)"),
        place=re.compile(r"\s+location: '(?P<path>[^']+?):(?P<line>\d+):\d+'$"),
        told=re.compile(
            r"\s+(?=\S)(?!duration_ms:|location:|failureType:|type:|---|error: \|)(?:error: )?"
            r"(?P<told>.*)"
        ),
    ),
    Tool(
        "tsc",
        head=re.compile(
            r"(?P<path>[^\s(:]+)[(:](?P<line>\d+)[,:]\d+(?:\):| -) (?P<message>error TS.*)$"
        ),
        end=_LESS_INDENTED,
        told=re.compile(r"(?P<told>  \S.*)$"),
    ),
    Tool(
        "go build",
        head=re.compile(r"(?:vet: )?(?P<path>[^\s:]+\.go):(?P<line>\d+):\d+: (?P<message>.*)$"),
        end=_LESS_INDENTED,
        told=re.compile(r"(?P<told>\t.*)$"),
    ),
    Tool(
        "go test",
        head=re.compile(r"\s*--- FAIL: (?P<message>[^\s(]+)"),
        end=re.compile(r"\s*--- |FAIL\b|ok\b|PASS\b|goroutine "),
        place=re.compile(r"\s+(?P<path>[^\s:/][^\s:]*\.go):(?P<line>\d+)(?:: | \+0x)"),
        told=re.compile(r"(?:\s+[^\s:]+\.go:\d+: |(?=panic: )|\s{8,})(?P<told>\S.*)$"),
    ),
    Tool(
        "rustc",
        head=re.compile(
            r"(?P<message>error(?:\[E\d+\])?: "
            r"(?!aborting due|could not compile|test failed|\d+ targets? failed).*)$"
        ),
        end=_BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
        told=re.compile(r"\s*\d* ?\|.*?[\^-]+ (?P<told>\w.*)$"),
    ),
    Tool(
        "a panic of rust",
        head=re.compile(
            r"thread '(?P<message>.*)' panicked at (?P<path>[^\s:]+):(?P<line>\d+):.*$"
        ),
        end=re.compile(r"stack backtrace:|note: |\s*$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
    Tool(
        "javac",
        head=re.compile(r"(?P<path>[^\s:]+\.java):(?P<line>\d+): (?P<message>error: .*)$"),
        end=re.compile(r"\S"),
        told=re.compile(r"  (?P<told>(?:symbol|location|required|found|reason): .*)$"),
    ),
    Tool(
        "java",
        head=re.compile(r'Exception in thread "[^"]*" (?P<message>.*)$'),
        end=re.compile(r"\S"),
        place=re.compile(r"\s+at .*\((?P<path>[^\s():]+\.java):(?P<line>\d+)\)$"),
    ),
    Tool(
        "gcc, clang and mypy",
        head=re.compile(
            r"(?P<path>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?(?P<message>error: .*)$"
        ),
        end=_LESS_INDENTED,
    ),
    Tool(
        "the linker",
        head=re.compile(r"(?:.*: )?(?P<message>undefined reference to .*)$"),
        end=_HEAD_ALONE,
    ),
    Tool(
        "ruff, in full",
        head=re.compile(r"(?P<message>(?:[A-Z]{1,4}\d{3,4}|invalid-syntax)\b:? .*)$"),
        end=_BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
    ),
    Tool(
        "ruff and flake8, one line each",
        head=re.compile(r"(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?P<message>[A-Z]{1,4}\d{3,4} .*)$"),
        end=_HEAD_ALONE,
    ),
    Tool(
        "a shell",
        head=re.compile(r"(?P<path>[^\s:]+): line (?P<line>\d+): (?P<message>.*)$"),
        end=_HEAD_ALONE,
    ),
    Tool(
        "make, without a rule",
        head=re.compile(
            r"make(?:\[\d+\])?: \*\*\* (?P<message>No rule to make target .*?)\.? +Stop"
        ),
        end=_HEAD_ALONE,
    ),
    Tool(
        "make",
        head=re.compile(r"make(?:\[\d+\])?: \*\*\* \[(?P<message>.*)$"),
        end=_HEAD_ALONE,
        before=3,
        silent=True,
    ),
)


def find_reports(lines: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each fault that a known tool reports, tool by tool; a bounded number.

    A line belongs to one finding at most: the tools come in the sequence of `TOOLS`.
    """
    taken: set[int] = set()
    for tool in TOOLS:
        number = found = 0
        while number < len(lines) and found < _MAX_FINDINGS:
            head = None if number in taken else tool.head.match(lines[number])
            finding = _read(tool, head, lines, number) if head else None
            number += 1
            if finding:
                yield finding
                taken.update(finding.lines)
                found += 1
                number = max(number, finding.lines.stop)


def _read(tool: Tool, head: re.Match[str], lines: Sequence[str], number: int) -> Finding | None:
    block = [*_until(tool.end, lines[number + 1 : number + _MAX_BLOCK])]
    # The proof and the place may come after the lines that are kept.
    reach = [*_until(tool.head, lines[number + 1 : number + 4 * _MAX_BLOCK])]
    if tool.proof and not any(map(tool.proof.match, reach)):
        return None
    kept = range(max(0, number - tool.before), number + 1 + len(block))
    if tool.silent:
        return Finding(kept)
    told = _told(tool, head["message"].strip(), block, reach)
    place = _place(tool, head, reach, lines[max(0, number - tool.before) : number])
    return Finding(kept, f"{told} ({place})" if place else told)


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
