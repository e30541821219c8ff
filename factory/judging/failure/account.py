"""Turns how a command ended into what the next attempt is told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from factory.judging.excerpt import select_lines, shorten
from factory.judging.failure.tools import TOOLS
from factory.sandbox import Captured, Cause, Ended
from shared.languages.capabilities.reports import FaultReport, Reports, SecondLook
from shared.languages.registry import LANGUAGES
from shared.languages.tool_reports import find_faults

_MAX_TOLD = 3
_MAX_READ = 600
"""The characters of a line that are looked at."""


@dataclass(frozen=True, slots=True)
class Account:
    """Hold what a failed command's output says: an excerpt, facts, and the stream they are from."""

    excerpt: str
    facts: tuple[str, ...]
    stream: Captured


def account_of(
    ended: Ended,
    reason: str,
    stable: Callable[[str], str],
    observe: Callable[[Sequence[str]], str],
) -> Account:
    """Return the account of a command that failed; `reason` says why it was ended, if it was.

    `stable` takes out of a text what differs between machines. `observe` runs a command and
    returns its standard error; it is called only where a language wants a second look.
    """
    stdout, stderr = (_lines(stable(each.text)) for each in (ended.stdout, ended.stderr))
    in_stdout, in_stderr = [*find_failures(stdout)], [*find_failures(stderr)]
    facts = _facts((*in_stdout, *in_stderr))
    look = _second_look(ended.argv, stderr) if ended.cause is Cause.EXITED else None
    if look is not None:
        facts = tuple(map(stable, look.facts_of(observe(look.argv)))) or facts
    from_stdout = bool(in_stdout and not in_stderr) or (bool(stdout) and not stderr)
    if in_stdout and in_stderr:
        from_stdout = any(_failed_tests(stdout))
    excerpt = _excerpt(reason, (stdout, in_stdout), (stderr, in_stderr))
    return Account(excerpt, facts, ended.stdout if from_stdout else ended.stderr)


def find_failures(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield what the output of a command tells; a test runner's report goes before all else."""
    lines = [shorten(line, _MAX_READ) for line in lines]
    taken: set[int] = set()
    for each in [*_failed_tests(lines)] or (*_faults(lines), *find_faults(TOOLS, lines)):
        if taken.isdisjoint(each.lines):
            yield each
            taken.update(each.lines)


def _readers() -> Iterator[Reports]:
    yield from (each.reports for each in LANGUAGES if each.reports is not None)


def _failed_tests(lines: Sequence[str]) -> Iterator[FaultReport]:
    for each in _readers():
        yield from each.find_failed_tests(lines)


def _faults(lines: Sequence[str]) -> Iterator[FaultReport]:
    for each in _readers():
        yield from each.find_faults(lines)


def _second_look(argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
    looks = (each.second_look(argv, stderr) for each in _readers())
    return next((each for each in looks if each is not None), None)


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _facts(findings: Sequence[FaultReport]) -> tuple[str, ...]:
    told = [*dict.fromkeys(each.fact for each in findings if each.fact)]
    more = len(told) - _MAX_TOLD
    return (*told[:_MAX_TOLD], *([f"{more} more failures are reported"] if more > 0 else []))


def _excerpt(reason: str, *streams: tuple[Sequence[str], Sequence[FaultReport]]) -> str:
    lines = _lines(reason)
    marked: list[range] = []
    for text, findings in streams:
        first = len(lines)
        lines += text
        marked += (range(first + each.lines.start, first + each.lines.stop) for each in findings)
    return select_lines("\n".join(lines), marked)
