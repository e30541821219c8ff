"""Writes findings and requirements as CI systems read them: SARIF and code quality."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from factory.drift.requirement_states import RequirementState
from llmch.ci import run_reports
from llmch.console import Console
from llmch.console.line import count, printed
from llmch.console.plain_printer import runs_in_actions
from planner.rules import judge_plan
from planner.rules.rule_model import Finding
from shared import VERSION
from shared.errors import InvalidInput, LlmchError, RuleText
from shared.events.events import Noted
from shared.files import atomic_io, strict_documents, text_sources
from shared.files.secret_values import Mask
from shared.files.strict_documents import FieldPath, JsonPlace
from shared.git import client, repos
from shared.work_order.plan_folder import MANIFEST_NAME, list_plan_files, order_file_name

if TYPE_CHECKING:
    from factory.drift.requirement_states import Drift, RequirementAtRev


@dataclass(frozen=True, slots=True)
class FindingFiles:
    """Name the files that findings are to be written to; `None` for none."""

    sarif: Path | None = None
    code_quality: Path | None = None


def add_finding_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that have findings reported to a CI system."""
    group = parser.add_argument_group("reports")
    group.add_argument(
        "--sarif", type=Path, metavar="FILE",
        help="write the findings as SARIF 2.1.0, for code scanning",
    )  # fmt: skip
    group.add_argument(
        "--code-quality", type=Path, metavar="FILE",
        help="write the findings as a code quality report of GitLab",
    )  # fmt: skip


def finding_files(args: argparse.Namespace) -> FindingFiles:
    """Return the files that the command line asks for.

    Raises `InvalidInput` if one cannot be written, before anything is judged.
    """
    return FindingFiles(
        _place("--sarif", args.sarif, "plan.sarif", SARIF_MAKER),
        _place("--code-quality", args.code_quality, "quality.json", CODE_QUALITY_MAKER),
    )


def _place(flag: str, path: Path | None, example: str, mark: str) -> Path | None:
    return path and text_sources.place_for_output(flag, path, example, mark)


@contextlib.contextmanager
def reporting_failure(folder: Path, files: FindingFiles) -> Iterator[None]:
    """Name an error that ends the block in the SARIF file: a CI system expects one in any case."""
    try:
        yield
    except LlmchError as error:
        if files.sarif:
            mask = run_reports.mask_secrets
            text = render_sarif((), judge_plan.RULES, _plan_at(folder), mask, error.message)
            atomic_io.write_text(files.sarif, text, sync=False)
        raise


def report_findings(
    folder: Path, report: judge_plan.Report, files: FindingFiles, console: Console
) -> None:
    """Write and annotate the findings on the plan in `folder`. Raises `CommandFailed`."""
    if files == FindingFiles() and not runs_in_actions(os.environ):
        return
    placed, plan = place_findings(report.findings, _texts(folder)), _plan_at(folder)
    mask = run_reports.mask_secrets
    if files.sarif:
        text = render_sarif(placed, judge_plan.RULES, plan, mask)
        atomic_io.write_text(files.sarif, text, sync=False)
        console(Noted(f"SARIF: {files.sarif}"))
    if files.code_quality:
        text = render_code_quality(placed, plan, mask)
        atomic_io.write_text(files.code_quality, text, sync=False)
        console(Noted(f"code quality: {files.code_quality}"))
    console.annotate(run_reports.render_annotations(_annotations(folder, placed), mask))


def annotate_spec(spec: Path, report: judge_plan.Report, console: Console) -> None:
    """Have GitHub Actions show, at the specification, why it could not be planned."""
    if not runs_in_actions(os.environ):
        return
    found = (
        _annotation(each, run_reports.in_checkout(spec))
        for each in place_findings(report.findings, {})
    )
    console.annotate(run_reports.render_annotations(found, run_reports.mask_secrets))


def _annotations(
    folder: Path, placed: tuple[PlacedFinding, ...]
) -> Iterator[run_reports.Annotation]:
    names = {each.file: run_reports.in_checkout(folder / each.file) for each in placed}
    return (_annotation(each, names[each.file]) for each in placed)


def _annotation(each: PlacedFinding, file: str) -> run_reports.Annotation:
    finding = each.finding
    title = f"{finding.code} {finding.order or 'plan'}"
    line, column = (each.place.line, each.place.column) if each.place else (1, 0)
    level = run_reports.Level(finding.severity)
    if not file:
        line = column = 0
    return run_reports.Annotation(level, title, each.message, file, line, column)


def _texts(folder: Path) -> Mapping[str, str]:
    """Return the texts of a plan's files by name; one that cannot be read is empty."""
    texts = {}
    for name in list_plan_files(folder):
        try:
            data = text_sources.read_regular_file(
                folder / name, "file of the plan", strict_documents.MAX_DOCUMENT_BYTES
            ).data
        except InvalidInput:
            data = b""
        texts[name] = data.decode("utf-8", "replace")
    return texts


def _plan_at(folder: Path) -> PlanAt:
    """Return where a plan is: in its repo, or on this machine."""
    here = folder.resolve()
    try:
        found = repos.layout(client.Git(here))
    except LlmchError:
        found = None
    if found is None or not here.is_relative_to(root := found[0].resolve()):
        return PlanAt(here.as_posix(), in_repo=False)
    return PlanAt(here.relative_to(root).as_posix(), in_repo=True)


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """Hold a finding, the name of its file, and where it is in there, if that is known.

    `fingerprint` is the same as long as the finding is, wherever it moves in the file.
    """

    finding: Finding
    file: str
    place: strict_documents.JsonPlace | None
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
        self._read: dict[str, strict_documents.JsonPlaces | strict_documents.JsonProblem] = {}

    def place_of(self, finding: Finding) -> tuple[str, strict_documents.JsonPlace | None]:
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
        """Return the file of the finding's order; "" for the plan, or if the order has no file."""
        if not finding.position:
            return ""
        if (name := order_file_name(finding.order)) in self._texts:
            return name
        # An order without a usable id: without a manifest, the files are the orders in sequence.
        alone = MANIFEST_NAME not in self._texts and finding.position <= len(self._orders)
        return self._orders[finding.position - 1] if alone else ""

    def _at(self, name: str, parts: tuple[str | int, ...]) -> strict_documents.JsonPlace | None:
        places = self._places(name)
        return (
            places.nearest(parts)
            if isinstance(places, strict_documents.JsonPlaces) and parts
            else None
        )

    def _malformed(self) -> tuple[str, strict_documents.JsonPlace | None] | None:
        """Return the first file that is not JSON; with one, no order was read from any file."""
        for name in self._texts:
            if isinstance(problem := self._places(name), strict_documents.JsonProblem):
                return name, strict_documents.place_of_problem(problem)
        return None

    def _places(self, name: str) -> strict_documents.JsonPlaces | strict_documents.JsonProblem:
        if name not in self._read:
            try:
                self._read[name] = strict_documents.JsonPlaces(self._texts[name])
            except strict_documents.JsonProblem as problem:
                self._read[name] = problem
        return self._read[name]


SARIF_MAKER: Final = '"name": "llmch"'
MOST_RESULTS: Final = 25_000
"""GitHub refuses a run with more, and shows the 5,000 that are the most severe."""
_ROOT: Final = "SRCROOT"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class PlanAt:
    """Say where the folder of a plan is: its path, relative to the root of its repo if it has one.

    `path` is absolute, and `in_repo` false, where the folder lies in no repo.
    """

    path: str
    in_repo: bool

    def file(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path not in ("", ".") else name


def render_sarif(
    findings: Sequence[PlacedFinding],
    rules: Iterable[RuleText],
    plan: PlanAt,
    mask: Mask = str,
    failure: str = "",
    category: str = "check",
) -> str:
    """Return the findings of a verb, the `category`, as one document; `rules` were all asked.

    `findings` are the most severe first: those beyond the limit are left out, and counted in the
    document. `mask` takes secrets out of a text. `failure` says why nothing could be judged.
    """
    return _SarifWriter(tuple(rules), plan, mask, failure, category).document(findings)


@dataclass(frozen=True, slots=True)
class _SarifWriter:
    rules: tuple[RuleText, ...]
    plan: PlanAt
    mask: Mask
    failure: str
    category: str

    def document(self, findings: Sequence[PlacedFinding]) -> str:
        index = {each.code: number for number, each in enumerate(self.rules)}
        run: dict[str, Any] = {
            "tool": {
                "driver": {
                    "name": "llmch",
                    "version": VERSION,
                    "rules": [_rule(each) for each in self.rules],
                }
            },
            "automationDetails": {"id": f"llmch/{self.category}/"},
            "columnKind": "utf16CodeUnits",
            "invocations": [self.invocation(len(findings) - MOST_RESULTS)],
            "results": [
                self.result(each, index[each.finding.code]) for each in findings[:MOST_RESULTS]
            ],
        }
        if self.plan.in_repo:
            about = {"text": "The root of the repository that the plan lies in."}
            run["originalUriBaseIds"] = {_ROOT: {"description": about}}
        document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
        return json.dumps(document, indent=1) + "\n"

    def invocation(self, left_out: int) -> dict[str, Any]:
        notes = []
        if left_out > 0:
            text = (
                f"{count(left_out, 'finding')} left out: `llmch {self.category}` prints all of them"
            )
            notes.append({"level": "warning", "message": {"text": text}})
        if self.failure:
            notes.append({"level": "error", "message": {"text": self.fit(self.failure)}})
        return {"executionSuccessful": not self.failure, "toolExecutionNotifications": notes}

    def result(self, each: PlacedFinding, rule_index: int) -> dict[str, Any]:
        file: dict[str, Any] = {"artifactLocation": self.location(each.file)}
        if each.place is not None:
            file["region"] = _region(each.place)
        where = {"fullyQualifiedName": self.fit(each.where)}
        return {
            "ruleId": each.finding.code,
            "ruleIndex": rule_index,
            "level": each.finding.severity,
            "message": {"text": self.fit(each.message)},
            "locations": [{"physicalLocation": file, "logicalLocations": [where]}],
            "partialFingerprints": {
                "llmchFinding/v1": each.fingerprint,
                "primaryLocationLineHash": f"{each.fingerprint[:16]}:1",
            },
        }

    def location(self, name: str) -> dict[str, str]:
        path = quote(self.plan.file(name).encode("utf-8", "surrogateescape"))
        return {"uri": path, "uriBaseId": _ROOT} if self.plan.in_repo else {"uri": f"file://{path}"}

    def fit(self, text: str) -> str:
        return printed(self.mask(text))


def _region(place: strict_documents.JsonPlace) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _rule(rule: RuleText) -> dict[str, Any]:
    help_text = f"{rule.why}\n\n{rule.remedy}".strip()
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why or rule.title},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": rule.severity},
    }


CODE_QUALITY_MAKER: Final = '"check_name"'
_SEVERITIES: Final = {"error": "major", "warning": "minor"}


def render_code_quality(findings: Sequence[PlacedFinding], plan: PlanAt, mask: Mask = str) -> str:
    """Return the findings as one list; `mask` takes secrets out of a text.

    GitLab needs a line: a finding about a whole file is shown at its first one.
    """
    entries = [
        {
            "check_name": each.finding.code,
            "description": printed(mask(f"{each.finding.order or 'plan'} {each.message}")),
            "severity": _SEVERITIES[each.finding.severity],
            "fingerprint": each.fingerprint,
            "location": {
                "path": plan.file(each.file),
                "lines": {"begin": each.place.line if each.place else 1},
            },
        }
        for each in findings
    ]
    return json.dumps(entries, indent=1) + "\n"


_REMEDY: Final = "`llmch drift --requirement ID` says what its tests show."
_RULES: Final = {
    RequirementState.BROKEN: RuleText(
        "E-broken",
        "a requirement is broken",
        "The tests that the plan placed for it fail on this tree.",
        _REMEDY,
    ),
    RequirementState.GONE: RuleText(
        "E-gone",
        "a requirement's files are gone",
        "The files that an order brought for it are not in this tree.",
        _REMEDY,
    ),
    RequirementState.WEAKENED: RuleText(
        "W-weakened",
        "a requirement's tests are weakened",
        "Its tests are not as the plan placed them, or they pass where the code does nothing.",
        _REMEDY,
    ),
    RequirementState.UNPROVEN: RuleText(
        "W-unproven",
        "nothing proves a requirement",
        "No test and no command shows that it holds.",
        _REMEDY,
    ),
}


def place_for_sarif(path: Path | None) -> Path | None:
    """Return the file to write. Raises `InvalidInput` if something else is there."""
    mark = SARIF_MAKER
    return path and text_sources.place_for_output("--sarif", path, "drift.sarif", mark)


def write_sarif(path: Path, drift: Drift, states: Collection[RequirementState]) -> None:
    """Write the requirements in these states as SARIF. Raises `CommandFailed`."""
    found = tuple(each for row in drift.in_state(states) for each in _placed_drift_reports(row))
    text = render_sarif(
        found, _RULES.values(), PlanAt("", in_repo=True), run_reports.mask_secrets, "", "drift"
    )
    atomic_io.write_text(path, text, sync=False)


def _placed_drift_reports(row: RequirementAtRev) -> Iterator[PlacedFinding]:
    """Yield a finding for each place that changed; else one, at the first test of the row."""
    rule = _RULES.get(row.state)
    if rule is None:
        return
    places = [(each.path, each.line, each.what) for each in row.changed]
    tests = [each for each in row.tests if " " not in each]
    if not places:
        places = [(tests[0] if tests else "README.md", 1, row.detail)]
    order = row.work_orders[0] if row.work_orders else ""
    for path, line, what in places:
        message = f"{row.id} is {row.state}: {what}. {row.text}".strip()
        digest = hashlib.sha256("\0".join((row.id, path, what)).encode("utf-8", "replace"))
        finding = Finding(rule.code, 0, order, FieldPath(), message)
        place = JsonPlace(line, 1, line, 1)
        yield PlacedFinding(finding, path, place, digest.hexdigest())
