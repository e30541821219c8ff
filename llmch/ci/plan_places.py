"""Finds where the findings on a plan stand in the files of its folder. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner.steps.findings import Finding
from shared.files.json_places import JsonPlaces, Place, place_of_problem
from shared.files.strict_json import JsonProblem
from shared.plan_folder.names import MANIFEST_NAME, order_file_name


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """Hold a finding, the name of its file, and where it is in there, if that is known.

    `fingerprint` is the same as long as the finding is, wherever it moves in the file.
    """

    finding: Finding
    file: str
    place: Place | None
    fingerprint: str

    @property
    def message(self) -> str:
        """Return what the finding says, with its field."""
        field = self.finding.field
        return f"{field}: {self.finding.message}" if field else self.finding.message

    @property
    def where(self) -> str:
        """Return order and field, as in `WO-01.preconditions[0]`."""
        return ".".join(filter(None, (self.finding.order or "plan", self.finding.field)))


def place_findings(
    findings: Iterable[Finding], texts: Mapping[str, str]
) -> tuple[PlacedFinding, ...]:
    """Return the findings with their places, errors first.

    `texts` has the files of the plan by name, orders by number and the manifest last.
    """
    source = _Source(texts)
    by_severity = sorted(findings, key=lambda each: each.severity != "error")
    return tuple(_placed(by_severity, source))


def _placed(findings: Iterable[Finding], source: _Source) -> Iterator[PlacedFinding]:
    seen: dict[tuple[str, ...], int] = {}
    for each in findings:
        identity = (each.code, each.order, each.field, each.message)
        seen[identity] = number = seen.get(identity, 0) + 1
        digest = hashlib.sha256("\0".join((*identity, str(number))).encode("utf-8", "replace"))
        yield PlacedFinding(each, *source.place_of(each), digest.hexdigest())


class _Source:
    """Find places in the texts of a plan's files, each of which is read once."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._orders = [name for name in texts if name != MANIFEST_NAME]
        self._read: dict[str, JsonPlaces | JsonProblem] = {}

    def place_of(self, finding: Finding) -> tuple[str, Place | None]:
        """Return the name of the file that a finding is about, and where in it."""
        if broken := self._malformed():
            return broken
        own = self._file_of(finding)
        if own:
            return own, self._at(own, finding.at.parts)
        if MANIFEST_NAME not in self._texts:
            return (self._orders or [MANIFEST_NAME])[0], None
        parts = finding.at.parts
        if finding.position:
            parts = ("work_orders", finding.position - 1, *parts)
        return MANIFEST_NAME, self._at(MANIFEST_NAME, parts)

    def _file_of(self, finding: Finding) -> str:
        """Return the file of the finding's order; "" for the plan, and for no file of its own."""
        if not finding.position:
            return ""
        if (name := order_file_name(finding.order)) in self._texts:
            return name
        # An order without a usable id: without a manifest, the files are the orders in sequence.
        alone = MANIFEST_NAME not in self._texts and finding.position <= len(self._orders)
        return self._orders[finding.position - 1] if alone else ""

    def _at(self, name: str, parts: tuple[str | int, ...]) -> Place | None:
        places = self._places(name)
        return places.nearest(parts) if isinstance(places, JsonPlaces) and parts else None

    def _malformed(self) -> tuple[str, Place | None] | None:
        """Return the first file that is not JSON: then no order was read, from any file."""
        for name in self._texts:
            if isinstance(problem := self._places(name), JsonProblem):
                return name, place_of_problem(problem)
        return None

    def _places(self, name: str) -> JsonPlaces | JsonProblem:
        if name not in self._read:
            try:
                self._read[name] = JsonPlaces(self._texts[name])
            except JsonProblem as problem:
                self._read[name] = problem
        return self._read[name]
