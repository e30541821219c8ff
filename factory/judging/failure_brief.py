"""Renders each failure for the next attempt.

The excerpt goes into the next prompt, and a prompt must be equal wherever the same thing happens:
paths of this machine, durations and addresses are removed, and so are the parts of a traceback
that differ from one Python version to the next.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final

from factory.judging.contract import TOOLS
from factory.judging.environment_faults import Fault
from factory.orders.documents import (
    MAX_COUNTEREXAMPLES,
    MAX_EXCERPT_CHARACTERS,
    MAX_FACT_CHARACTERS,
    MAX_FACTS,
    MAX_QUOTED_CHARACTERS,
    CmdResult,
    FailureBrief,
)
from factory.orders.stages import RepeatedFailure, Stage
from factory.proposal.prompt_parts import reminder
from factory.sandbox.policy import Captured, Cause, Ended
from shared.languages.language_tools import FaultReport, Reports, SecondLook, find_faults
from shared.languages.property_tests import Counterexample, find_counterexamples
from shared.languages.registry import LANGUAGES
from shared.work_order.work_order import WorkOrder

_CUT = "[... cut ...]"
_BETWEEN = f"\n{_CUT}\n"
_WITHIN = f" {_CUT} "
_MAX_LINE = 600
_CARETS = re.compile(r"^[ \t]*[\^~][\^~ ]*$")
_STRING_FRAME = re.compile(r'^\s+File "<(?:string|stdin)>", line \d+')
_FRAME = re.compile(r'^\s+File "')
_SOURCE_LINE = re.compile(r"^ {4,}\S")
# The parts that differ from one run to the next, and their replacements.
_VOLATILE = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),  # colours
    (re.compile(r"\bin \d+(?:\.\d+)?s\b"), "in ...s"),
    (re.compile(r"(?<=[\t(])\d+\.\d+s\b"), "...s"),  # go test
    (re.compile(r"\b(duration_ms:? )\d+(?:\.\d+)?\b"), r"\1..."),  # node --test
    (re.compile(r"^(thread '.*') \(\d+\) panicked", re.MULTILINE), r"\1 panicked"),  # rust
    (re.compile(r"(?<=/deps/)([\w]+)-[0-9a-f]{16}\b"), r"\1-..."),  # cargo
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0x..."),
)


def stable_excerpt(output: str, paths: Iterable[tuple[str, str]] = ()) -> str:
    """Return `output` without what differs between machines, cut to `MAX_EXCERPT_CHARACTERS`.

    `paths` are pairs of a path on this machine and what replaces it, applied longest first.
    """
    return cut(stable_text(output, paths))


def stable_text(output: str, paths: Iterable[tuple[str, str]] = ()) -> str:
    """Return the whole `output` without what differs between machines; `paths` as above."""
    text = _without_paths(output, paths)
    text = "\n".join(_without_volatile_lines(text.splitlines())).strip()
    for pattern, stable in _VOLATILE:
        text = pattern.sub(stable, text)
    return text


def cut(text: str, limit: int = MAX_EXCERPT_CHARACTERS) -> str:
    """Return `text`, or its head and tail with a mark between where it is longer than `limit`.

    The tail gets three quarters: that is where programs say what went wrong. Both end at line
    ends, unless a line is longer than its part.
    """
    if len(text) <= limit:
        return text
    room = limit - len(_BETWEEN)
    head, tail = text[: room // 4], text[-(room - room // 4) :]
    whole_head, line_end, _ = head.rpartition("\n")
    if line_end:
        head = whole_head
    before_tail = text[-(room - room // 4) - 1]
    _, line_end, whole_tail = tail.partition("\n")
    if line_end and whole_tail and before_tail != "\n":
        tail = whole_tail
    return head + _BETWEEN + tail


def shorten(line: str, limit: int) -> str:
    """Return `line`, or its head and its tail with a mark between where it is over `limit`."""
    if len(line) <= limit:
        return line
    tail = (limit - len(_WITHIN)) // 3
    head = limit - len(_WITHIN) - tail
    return line[:head].rstrip() + _WITHIN + line[-tail:].lstrip()


def select_lines(text: str, marked: Sequence[range], limit: int = MAX_EXCERPT_CHARACTERS) -> str:
    """Return `text`; if it is too long, its `marked` lines and as many others as fit.

    `marked` are ranges of line numbers from 0, the most helpful first. Then come lines from the
    end, then from the beginning. Lines are kept whole up to 600 characters.
    """
    if len(text) <= limit or not marked:
        return cut(text, limit)
    lines = [shorten(line, _MAX_LINE) for line in text.split("\n")]
    wanted = [number for each in marked for number in each]
    tail = range(len(lines) - 1, -1, -1)
    chosen = _fitting(lines, [wanted, tail, range(len(lines))], limit)
    return _joined(lines, chosen) if chosen else cut(text, limit)


def _fitting(lines: Sequence[str], series: Iterable[Iterable[int]], limit: int) -> set[int]:
    """Return the numbers of the lines that fit; each of `series` ends at its first that doesn't."""
    chosen: set[int] = set()
    room = limit
    for numbers in series:
        for number in numbers:
            if number in chosen or not 0 <= number < len(lines):
                continue
            # Each line may need the mark of a gap beside it.
            cost = len(lines[number]) + 1 + (0 if number - 1 in chosen else len(_CUT) + 1)
            if cost + len(_CUT) + 1 > room:
                break
            chosen.add(number)
            room -= cost
    return chosen


def _joined(lines: Sequence[str], chosen: set[int]) -> str:
    parts: list[str] = []
    expected = 0
    for number in sorted(chosen):
        if number != expected:
            parts.append(_CUT)
        parts.append(lines[number])
        expected = number + 1
    if expected != len(lines):
        parts.append(_CUT)
    return "\n".join(parts)


def _without_paths(text: str, paths: Iterable[tuple[str, str]]) -> str:
    pairs = sorted((pair for pair in paths if pair[0] not in pair[1]), key=lambda p: -len(p[0]))
    while any(path in text for path, _ in pairs):  # the rest can form a path again
        for path, name in pairs:
            text = text.replace(path, name)
    return text


def _without_volatile_lines(lines: Iterable[str]) -> Iterator[str]:
    in_string_frame = False
    for line in map(str.rstrip, lines):
        if _CARETS.match(line):
            continue
        # Python 3.13 began to show the source of `-c` code; the command is in the brief anyway.
        if in_string_frame and _SOURCE_LINE.match(line) and not _FRAME.match(line):
            continue
        in_string_frame = bool(_STRING_FRAME.match(line))
        yield line


def brief_of(
    stage: Stage,
    order: WorkOrder,
    account: str,
    *,
    command: str | None = None,
    exit_code: int | None = None,
    log: str | None = None,
    facts: Sequence[str] = (),
    counterexamples: Sequence[str] = (),
) -> FailureBrief:
    """Return the brief of a failure at `stage`; `account` and `facts` are cut to their bounds.

    `log` is the path of the whole output, relative to the order's folder. The most helpful fact
    comes last.
    """
    return FailureBrief(
        stage=stage,
        command=command,
        exit_code=exit_code,
        primary_error_excerpt=cut(account),
        constraints_reminder=reminder(stage, order),
        log=log,
        facts=_bounded((), facts),
        counterexamples=tuple(counterexamples),
    )


def with_facts(brief: FailureBrief, facts: Sequence[str]) -> FailureBrief:
    """Return the brief with `facts` after its own, as the more helpful ones.

    Where there are too many, the last of the brief's own facts are left out first.
    """
    return brief.model_copy(update={"facts": _bounded(brief.facts, facts)})


def _bounded(earlier: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    last = [shorten(" ".join(each.split()), MAX_FACT_CHARACTERS) for each in added][-MAX_FACTS:]
    kept = [each for each in earlier if each not in last][: MAX_FACTS - len(last)]
    return (*kept, *dict.fromkeys(last))


def brief_of_repetition(earlier: FailureBrief, attempt: int, order: WorkOrder) -> FailureBrief:
    """Return the brief of files that failed before, on `attempt`: the failure stays in it."""
    said = f"The files are those of attempt {attempt} again, so they were not judged again."
    return earlier.model_copy(
        update={
            "stage": Stage.REPEATED,
            "constraints_reminder": reminder(Stage.REPEATED, order),
            "facts": _bounded((said,), earlier.facts),
            "repeats": RepeatedFailure(attempt, earlier.stage),
        }
    )


def brief_of_success(stage: Stage, order: WorkOrder, why: str, result: CmdResult) -> FailureBrief:
    """Return the brief of a command that succeeded and proves too little, for the reason `why`."""
    return brief_of(
        stage,
        order,
        "\n".join(each for each in (why, result.stdout_trunc, result.stderr_trunc) if each),
        command=shlex.join(result.command),
        exit_code=result.exit_code,
        log=result.stdout_path,
    )


def brief_of_fault(fault: Fault, brief: FailureBrief) -> FailureBrief:
    """Return the brief of a failed command, as a fault of the environment with its remedy."""
    excerpt = brief.primary_error_excerpt
    account = excerpt if fault.what in excerpt else f"{fault.what}\n{excerpt}"
    return brief.model_copy(
        update={
            "stage": Stage.ENVIRONMENT,
            "primary_error_excerpt": cut(account),
            "constraints_reminder": "",
            "remedy": fault.remedy,
        }
    )


_QUOTE_CUT = " [...] "
_LINES = 3


def quote_reply(reply: str) -> str:
    """Return a line that says how long a reply is, and its first and last lines, bounded.

    Characters that a terminal would obey, and those that nobody sees, are shown as escapes. The
    result is empty for an empty reply.
    """
    lines = [line.rstrip() for line in reply.splitlines() if line.strip()]
    if not lines:
        return ""
    shown = lines if len(lines) <= _LINES else [*lines[: _LINES - 1], lines[-1]]
    each = MAX_QUOTED_CHARACTERS // len(shown)
    size = f"The reply has {len(reply):,} characters in {reply.count(chr(10)) + 1:,} lines"
    begins = ", and begins and ends:" if len(lines) > _LINES else ":"
    return "\n".join((size + begins, *(f"> {_short(_visible(line), each)}" for line in shown)))


def _visible(line: str) -> str:
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in line
    )


def _short(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    half = (limit - len(_QUOTE_CUT)) // 2
    return f"{line[:half]}{_QUOTE_CUT}{line[-half:]}"


_MAX_FACTS = 3
_MAX_READ = 600
"""The characters of a line that are looked at."""


@dataclass(frozen=True, slots=True)
class Account:
    """Hold what a failed command's output says: an excerpt, facts, and the stream they are from.

    `counterexamples` are the inputs that tests on generated inputs printed, bounded.
    """

    excerpt: str
    facts: tuple[str, ...]
    counterexamples: tuple[str, ...]
    stream: Captured


def account_of(
    ended: Ended, reason: str, stable: Callable[[str], str], observe: Callable[[Sequence[str]], str]
) -> Account:
    """Return the account of a command that failed; `reason` says why it was ended, if it was.

    `stable` takes out of a text what differs between machines. `observe` runs a command and
    returns its standard error; it is called only where a language wants a second look.
    """
    stdout, stderr = (_lines(stable(each.text)) for each in (ended.stdout, ended.stderr))
    (of_stdout, in_stdout), (of_stderr, in_stderr) = _read(stdout), _read(stderr)
    facts = _facts((*in_stdout, *in_stderr))
    look = _second_look(ended.argv, stderr) if ended.cause is Cause.EXITED else None
    if look is not None:
        facts = tuple(map(stable, look.facts_of(observe(look.argv)))) or facts
    inputs_out, inputs_err = map(_counterexamples, (stdout, stderr))
    excerpt = _excerpt(
        reason, (stdout, (*inputs_out, *in_stdout)), (stderr, (*inputs_err, *in_stderr))
    )
    told = (
        _visible(shorten(each.text, MAX_FACT_CHARACTERS)) for each in (*inputs_out, *inputs_err)
    )
    kept = tuple(shorten(each, MAX_FACT_CHARACTERS) for each in dict.fromkeys(told))
    from_stdout = of_stdout > of_stderr or of_stdout is _Weight.TESTS
    stream = ended.stdout if from_stdout else ended.stderr
    return Account(excerpt, facts, kept[:MAX_COUNTEREXAMPLES], stream)


def _counterexamples(lines: Sequence[str]) -> list[Counterexample]:
    found = find_counterexamples([shorten(line, _MAX_READ) for line in lines])
    return [*islice(found, MAX_COUNTEREXAMPLES)]


def find_failures(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield the findings in a command's output; a test runner's report goes before all else.

    A line that only begins as an error does counts where nothing else was found.
    """
    yield from _read(lines)[1]


class _Weight(IntEnum):
    """Say how much a stream tells of a failure; the log of a brief is the stream that tells more.

    Where both tell as much it is the standard error, unless a test runner wrote a report.
    """

    NOTHING = 0
    TEXT = 1
    PLAIN_ERROR = 2
    REPORT = 3
    TESTS = 4


# `Error: no such table`, `app: fatal: no config`, `KeyError: 'a'`, `[ERROR] no route`
_PLAIN_ERROR = re.compile(
    r"\s{0,8}(?:[\w./-]{1,60}: )?(?:\[(?:error|fatal)\] |(?:[\w.]{0,60}(?:Error|Exception)|error"
    r"|fatal(?: error)?|panic|failed|failure)(?:\[\w{1,20}\])?: {1,8})\S",
    re.IGNORECASE,
)
_WARNING = re.compile(r"warn|deprecat|^\s*$", re.IGNORECASE)


def _read(lines: Sequence[str]) -> tuple[_Weight, list[FaultReport]]:
    lines = [shorten(line, _MAX_READ) for line in lines]
    for weight, find in _FINDERS:
        if found := [*_apart(find(lines))]:
            return weight, found
    return _Weight.NOTHING if all(map(_WARNING.search, lines)) else _Weight.TEXT, []


def _apart(reports: Iterable[FaultReport]) -> Iterator[FaultReport]:
    taken: set[int] = set()
    for each in reports:
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
    yield from find_faults(TOOLS, lines)


def _plain_errors(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield the last lines that begin as an error does: programs end with what went wrong."""
    found = [number for number, line in enumerate(lines) if _PLAIN_ERROR.match(line)]
    for number in found[-_MAX_FACTS:]:
        yield FaultReport(range(number, number + 1), lines[number].strip())


_FINDERS: Final = (
    (_Weight.TESTS, _failed_tests),
    (_Weight.REPORT, _faults),
    (_Weight.PLAIN_ERROR, _plain_errors),
)


def _second_look(argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
    looks = (each.second_look(argv, stderr) for each in _readers())
    return next((each for each in looks if each is not None), None)


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _facts(findings: Sequence[FaultReport]) -> tuple[str, ...]:
    facts = [*dict.fromkeys(each.fact for each in findings if each.fact)]
    more = len(facts) - _MAX_FACTS
    rest = "1 more failure is reported" if more == 1 else f"{more} more failures are reported"
    return (*facts[:_MAX_FACTS], *([rest] if more > 0 else []))


def _excerpt(
    reason: str, *streams: tuple[Sequence[str], Sequence[FaultReport | Counterexample]]
) -> str:
    lines = _lines(reason)
    marked: list[range] = []
    for text, findings in streams:
        first = len(lines)
        lines += text
        marked += (range(first + each.lines.start, first + each.lines.stop) for each in findings)
    return select_lines("\n".join(lines), marked)
