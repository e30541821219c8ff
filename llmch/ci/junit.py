"""Renders a run in the XML format of JUnit, which every CI system shows. Pure.

The format has no standard. The schema that Jenkins uses (`junit-10.xsd`) describes what its readers
agree on, and the tests hold the files against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from llmch.ci.cases import Case, Result, Suite, error_suite, suites_of
from llmch.page.visible import printed
from llmch.run_view.model.run import RunView

Mask: TypeAlias = Callable[[str], str]

MAKER: Final = '<testsuites name="llmch'
"""What a file of ours begins with, after the first line."""
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
    return _Writer(mask, run).document(name, suites_of(run))


def render_junit_of_error(message: str, hint: str, name: str, mask: Mask = str) -> str:
    """Return the document about a command that an error ended before there was a run."""
    return _Writer(mask, None).document("llmch", (error_suite(message, hint, name),))


@dataclass(frozen=True, slots=True)
class _Writer:
    """Write suites as XML; `run` is what they are about, `None` where there was no run."""

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
        """Return a text that XML can hold: what it forbids, and what nobody sees, by its name."""
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
