"""Renders a run in the XML format of JUnit.

The format has no standard. The schema that Jenkins uses (`junit-10.xsd`) describes what its readers
agree on, and the tests hold the files against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from factory.orders.documents import FailureBrief
from factory.orders.stages import Failure
from llmch.console.line import count, listed, one_line, printed, short, shorten
from llmch.runs.run_model import AttemptView, CommandView, Judged, OrderView, RunView, Standing
from shared.files.secret_values import Mask

_LONGEST_LINE: Final = 300  # characters; a list of tests is read by names and messages
_LONGEST_TEXT: Final = 20_000  # characters of one output or excerpt; a record quotes less
_MOST_LISTED: Final = 5
# These stages say that something other than the work was at fault.
_NOT_THE_WORK: Final = frozenset({"error", "exception", "environment", "preflight", "write_failed"})
_UNFINISHED: Final = (Standing.ENDED_EARLY, Standing.INTERRUPTED, Standing.CUT_OFF)


class Result(StrEnum):
    """Say how a case ended. A failure is one of the work, an error is one of anything else."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one case; `message` says in one line why it did not pass, and `detail` at length."""

    name: str
    result: Result
    seconds: float = 0.0
    kind: str = ""
    """The stage of the failure, or the state of an order that was not made."""
    message: str = ""
    detail: str = ""
    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Hold the cases of one order, or of the run itself; `facts` are names with values."""

    id: str
    name: str
    cases: tuple[Case, ...]
    seconds: float = 0.0
    start: float | None = None
    """When the order began, in seconds since the start of the run; `None` if that is unknown."""
    facts: tuple[tuple[str, str], ...] = ()

    def number_of(self, result: Result) -> int:
        """Return how many cases ended with `result`."""
        return sum(each.result is result for each in self.cases)


def suites_of(run: RunView) -> tuple[Suite, ...]:
    """Return a suite for each order, and one for the run itself where it did not end by itself."""
    suites = tuple(_suite(order, run) for order in run.orders)
    return (*suites, *_run_suite(run, suites))


def error_suite(message: str, hint: str, name: str) -> Suite:
    """Return the suite of a command that ended before there was a run; `name` is the error's."""
    case = Case("begin", Result.ERROR, kind=name, message=_line(message), detail=hint)
    return Suite("llmch", "llmch", (case,))


def _run_suite(run: RunView, suites: Iterable[Suite]) -> Iterator[Suite]:
    if run.standing not in _UNFINISHED:
        return
    why = run.error or f"the run was {run.standing}: it did not end by itself"
    case = Case(
        f"end of the run {run.run_id}",
        Result.ERROR,
        kind=str(run.standing),
        message=_line(why),
        detail=_bounded(why),
    )
    yield Suite(run.command or "run", f"llmch {run.command}", (case,))


def _suite(order: OrderView, run: RunView) -> Suite:
    track = next((each for each in run.tracks if each.order == order.id), None)
    return Suite(
        order.id,
        _line(f"{order.id} {order.title}".strip()),
        tuple(_named_apart(_cases(order, run))),
        track.end - track.start if track else 0.0,
        track.start if track else None,
        tuple(_facts(order)),
    )


def _cases(order: OrderView, run: RunView) -> Iterator[Case]:
    if order.state in _NOT_MADE and order.failure is None:
        yield _not_made(order)
        return
    last = order.attempts[-1] if order.attempts else None
    cases = [*_commands(last)] if last else []
    yield from cases
    if order.is_on_branch:
        if not cases:
            yield Case("landed", Result.PASSED, detail=order.proof)
    elif order.state == "begun":
        yield _cut_off(run)
    elif all(each.result is Result.PASSED for each in cases):
        yield _stage(order, last)


_NOT_MADE: Final = ("skipped", "blocked", "pending", "left_out", "waiting")


def _not_made(order: OrderView) -> Case:
    """Return the one case of an order that this run did not work on."""
    match order.state:
        case "skipped":
            run = f" by run {order.earlier_run}" if order.earlier_run else ""
            why = f"landed before this run{run}, as {short(order.commit)}"
            return Case("landed before", Result.SKIPPED, kind="landed_before", message=why)
        case "blocked":
            why = "an order that it needs did not land"
            if order.needs:
                why += f" (it needs {listed(order.needs, _MOST_LISTED)})"
        case "left_out":
            why = "a person left it out"
        case _:
            why = "the run ended before its turn"
    return Case(order.state.replace("_", " "), Result.SKIPPED, kind=order.state, message=why)


def _cut_off(run: RunView) -> Case:
    if run.standing is Standing.RUNNING:
        return Case("under way", Result.SKIPPED, kind="running", message="the run goes on")
    why = "the record ends while the order is being worked on"
    return Case("end of the order", Result.ERROR, kind="cut_off", message=why)


def _commands(attempt: AttemptView) -> Iterator[Case]:
    for each in attempt.commands:
        failed = attempt.judged is not Judged.PASSED and _failed(each, attempt.brief)
        brief = attempt.brief if failed and attempt.brief and _names(attempt.brief, each) else None
        yield Case(
            _line(f"{each.purpose}: {each.text}"),
            Result.FAILURE if failed else Result.PASSED,
            each.seconds or 0.0,
            kind=(brief.stage if brief else f"{each.purpose}_failed") if failed else "",
            message=_ended(each, brief) if failed else "",
            detail=_account(brief) if brief else "" if failed else each.note,
            stdout=_bounded(each.stdout.text),
            stderr=_bounded(each.stderr.text),
        )


def _failed(command: CommandView, brief: FailureBrief | None) -> bool:
    return not command.passed or (
        command.exit_code != 0 and brief is not None and _names(brief, command)
    )


def _names(brief: FailureBrief, command: CommandView) -> bool:
    return brief.command == command.text


def _ended(command: CommandView, brief: FailureBrief | None) -> str:
    code = "unknown" if command.exit_code is None else command.exit_code
    parts = [f"exit code {code}", command.note, brief.facts[-1] if brief and brief.facts else ""]
    return _line(": ".join(filter(None, parts)))


def _stage(order: OrderView, last: AttemptView | None) -> Case:
    """Return the case of an order that failed although none of its commands did."""
    brief = (last.brief if last else None) or order.failure or Failure("error")
    shown = brief.facts[-1] if brief.facts else brief.excerpt
    words = brief.stage.replace("_", " ")
    return Case(
        words,
        Result.ERROR if brief.stage in _NOT_THE_WORK else Result.FAILURE,
        kind=brief.stage,
        message=_line(f"{words}: {shown}" if shown else words),
        detail=_account(brief),
    )


def _account(brief: FailureBrief | Failure) -> str:
    parts = (brief.command and f"$ {brief.command}", *brief.facts, brief.excerpt, brief.remedy)
    return _bounded("\n".join(filter(None, parts)))


def _facts(order: OrderView) -> Iterator[tuple[str, str]]:
    yield "state", order.state
    if order.commit:
        yield "commit", order.commit
    if order.attempts:
        yield "attempts", str(len(order.attempts))
    if order.rejected:
        yield "rejected", count(order.rejected, "attempt")
    if order.proof:
        yield "proof", _line(order.proof)
    if order.earlier_run:
        yield "run", order.earlier_run


def _named_apart(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases; a name that is taken gets a number."""
    seen: dict[str, int] = {}
    for each in cases:
        seen[each.name] = number = seen.get(each.name, 0) + 1
        yield each if number == 1 else replace(each, name=f"{each.name} ({number})")


def _line(text: str) -> str:
    return shorten(one_line(text), _LONGEST_LINE)


def _bounded(text: str) -> str:
    """Return the head and the tail of a long text, with a line between them that says so."""
    if len(text) <= _LONGEST_TEXT:
        return text
    half = _LONGEST_TEXT // 2
    left_out = count(len(text) - 2 * half, "character")
    return f"{text[:half]}\n... {left_out} left out ...\n{text[-half:]}"


MAKER: Final = '<testsuites name="llmch'
"""The beginning of a file that `llmch` wrote, after its first line."""
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
# `printed` leaves these two, which no document of XML 1.0 may have either.
_NO_CHARACTERS: Final = re.compile("[\ufffe\uffff]")


def render_junit(run: RunView, mask: Mask = str) -> str:
    """Return the document about a run: a suite for each order, a case for each command.

    `mask` takes secrets out of a text. It is applied before a text is escaped: afterwards a secret
    would not be recognised.
    """
    where = f" {run.branch}" if run.branch else ""
    name = f"llmch {run.command}{where}".strip()
    return _JUnitWriter(mask, run).document(name, suites_of(run))


def render_junit_of_error(message: str, hint: str, name: str, mask: Mask = str) -> str:
    """Return the document about a command that an error ended before there was a run."""
    return _JUnitWriter(mask, None).document("llmch", (error_suite(message, hint, name),))


@dataclass(frozen=True, slots=True)
class _JUnitWriter:
    """Write suites as XML; `run` is what they are about, `None` if there was no run."""

    mask: Mask
    run: RunView | None

    def document(self, name: str, suites: Sequence[Suite]) -> str:
        seconds = self.run.seconds if self.run and self.run.seconds is not None else 0.0
        totals = _counts(suites) | {"time": _seconds(seconds)}
        root = Element("testsuites", {"name": self.fit(name), **totals})
        for suite in suites:
            self.add_suite(root, suite)
        indent(root)
        return f"{_HEAD}{tostring(root, encoding='unicode')}\n"

    def add_suite(self, root: Element, suite: Suite) -> None:
        attributes = {"name": self.fit(suite.name), "id": self.fit(suite.id)}
        attributes |= _counts([suite]) | {"skipped": str(suite.number_of(Result.SKIPPED))}
        attributes["time"] = _seconds(suite.seconds)
        if began := self.time_of(suite):
            attributes["timestamp"] = began
        element = SubElement(root, "testsuite", attributes)
        if suite.facts:
            properties = SubElement(element, "properties")
            for name, value in suite.facts:
                SubElement(properties, "property", name=name, value=self.fit(value))
        for case in suite.cases:
            self.add_case(element, suite, case)

    def add_case(self, parent: Element, suite: Suite, case: Case) -> None:
        element = SubElement(
            parent, "testcase", classname=self.fit(suite.id), name=self.fit(case.name),
            time=_seconds(case.seconds),
        )  # fmt: skip
        stdout = case.stdout
        if case.result is Result.PASSED:
            stdout = "\n".join(filter(None, (case.detail, stdout)))
        else:
            why = {"type": self.fit(case.kind), "message": self.fit(case.message)}
            SubElement(element, case.result.value, why).text = self.fit(case.detail) or None
        for name, text in (("system-out", stdout), ("system-err", case.stderr)):
            if text:
                SubElement(element, name).text = self.fit(text)

    def fit(self, text: str) -> str:
        """Return a text that XML can hold: forbidden and invisible characters by their names."""
        fit = printed(self.mask(text))
        return _NO_CHARACTERS.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", fit)

    def time_of(self, suite: Suite) -> str:
        """Return when a suite began, in UTC and without a zone, as the format wants it."""
        if self.run is None or suite.start is None:
            return ""
        try:
            started = datetime.fromisoformat(self.run.started).astimezone(UTC)
            began = started + timedelta(seconds=suite.start)
        except (ValueError, OverflowError, OSError):
            return ""
        return began.replace(tzinfo=None).isoformat(timespec="seconds")


def _counts(suites: Iterable[Suite]) -> dict[str, str]:
    found = tuple(suites)
    return {
        "tests": str(sum(len(each.cases) for each in found)),
        "failures": str(sum(each.number_of(Result.FAILURE) for each in found)),
        "errors": str(sum(each.number_of(Result.ERROR) for each in found)),
    }


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0.0):.3f}"
