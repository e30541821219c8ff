"""Turns how a command ended into what the next attempt is told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from factory.judging.excerpt import select_lines, shorten
from factory.judging.failure.finding import Finding
from factory.judging.failure.pytest_report import find_test_failures
from factory.judging.failure.tools import find_reports
from factory.judging.failure.tracebacks import (
    Traceback,
    find_tracebacks,
    read_tracebacks,
    stable_error,
)
from factory.judging.failure.values.observation import Observation, read_observation
from factory.judging.failure.values.rerun import observed_command
from factory.sandbox import Captured, Cause, Ended

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
    returns its standard error; it is called only for `python -c` that ended with a traceback.
    """
    stdout, stderr = (_lines(stable(each.text)) for each in (ended.stdout, ended.stderr))
    in_stdout, in_stderr = [*find_failures(stdout)], [*find_failures(stderr)]
    facts = _facts((*in_stdout, *in_stderr))
    crash = _crash_of_code(stderr) if ended.cause is Cause.EXITED else None
    again = observed_command(ended.argv) if crash else None
    if crash and again and (observed := read_observation(observe(again))):
        facts = tuple(map(stable, _observed(observed, crash))) or facts
    from_stdout = bool(in_stdout and not in_stderr) or (bool(stdout) and not stderr)
    if in_stdout and in_stderr:
        from_stdout = any(find_test_failures(stdout))
    excerpt = _excerpt(reason, (stdout, in_stdout), (stderr, in_stderr))
    return Account(excerpt, facts, ended.stdout if from_stdout else ended.stderr)


def find_failures(lines: Sequence[str]) -> Iterator[Finding]:
    """Yield what the output of a command tells; a test runner's report goes before all else."""
    lines = [shorten(line, _MAX_READ) for line in lines]
    tests = [*find_test_failures(lines)]
    taken: set[int] = set()
    for each in tests or (*find_tracebacks(lines), *find_reports(lines)):
        if taken.isdisjoint(each.lines):
            yield each
            taken.update(each.lines)


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _facts(findings: Sequence[Finding]) -> tuple[str, ...]:
    told = [*dict.fromkeys(each.fact for each in findings if each.fact)]
    more = len(told) - _MAX_TOLD
    return (*told[:_MAX_TOLD], *([f"{more} more failures are reported"] if more > 0 else []))


def _crash_of_code(lines: Sequence[str]) -> Traceback | None:
    """Return the last traceback if it begins in the code of a `-c` and not in its syntax."""
    last = next(iter([*read_tracebacks(lines)][-1:]), None)
    if last is None or last.frames[0].path != "<string>" or last.error_type == "SyntaxError":
        return None
    return last


def _observed(observed: Observation, crash: Traceback) -> list[str]:
    """Return what was seen in the second run, if it ended like the first."""
    error_type, _, message = crash.error.partition(": ")
    if error_type == "AssertionError":
        said = f" ({message})" if message else ""
        return [each + said for each in observed.told]
    if observed.told:
        return []
    place = f" ({crash.place})" if crash.place else ""
    return [f"`{observed.code}` raised {stable_error(crash.error)}{place}{observed.with_names}"]


def _excerpt(reason: str, *streams: tuple[Sequence[str], Sequence[Finding]]) -> str:
    lines = _lines(reason)
    marked: list[range] = []
    for text, findings in streams:
        first = len(lines)
        lines += text
        marked += (range(first + each.lines.start, first + each.lines.stop) for each in findings)
    return select_lines("\n".join(lines), marked)
