"""Reports findings on a plan to a CI system: as SARIF, as code quality, and as annotations."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.workflow_commands import runs_in_actions
from shared.events.messages import Noted

if TYPE_CHECKING:
    from llmch.ci.annotations import Annotation
    from llmch.ci.plan_places import PlacedFinding
    from llmch.ci.sarif import PlanAt
    from planner.judging.validation import Report


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

    Raises `InvalidInput` where one cannot be written, before anything is judged.
    """
    if args.sarif is None and args.code_quality is None:
        return FindingFiles()
    from llmch.ci import code_quality, sarif
    from llmch.entry.report_files import place_for_report

    def place(flag: str, path: Path | None, mark: str) -> Path | None:
        return None if path is None else place_for_report(flag, path, mark)

    return FindingFiles(
        place("--sarif", args.sarif, sarif.MAKER),
        place("--code-quality", args.code_quality, code_quality.MAKER),
    )


def report_findings(folder: Path, report: Report, files: FindingFiles, console: Console) -> None:
    """Write and annotate the findings on the plan in `folder`. Raises `CommandFailed`."""
    if files == FindingFiles() and not runs_in_actions(os.environ):
        return
    from llmch.ci.annotations import render_annotations
    from llmch.ci.code_quality import render_code_quality
    from llmch.ci.plan_places import place_findings
    from llmch.ci.sarif import render_sarif
    from llmch.entry.report_files import write_report
    from llmch.entry.reports import mask_secrets
    from planner.rules.catalogue import RULES

    placed, plan = place_findings(report.findings, _texts(folder)), _plan_at(folder)
    if files.sarif:
        write_report(files.sarif, render_sarif(placed, RULES, plan, mask_secrets))
        console(Noted(f"SARIF: {files.sarif}"))
    if files.code_quality:
        write_report(files.code_quality, render_code_quality(placed, plan, mask_secrets))
        console(Noted(f"code quality: {files.code_quality}"))
    console.annotate(render_annotations(_annotations(folder, placed), mask_secrets))


def annotate_spec(spec: Path, report: Report, console: Console) -> None:
    """Have GitHub Actions show, at the specification, why there is no plan of it."""
    if not runs_in_actions(os.environ):
        return
    from llmch.ci.annotations import render_annotations
    from llmch.ci.plan_places import place_findings
    from llmch.entry.checkout import in_checkout
    from llmch.entry.reports import mask_secrets

    found = (_annotation(each, in_checkout(spec)) for each in place_findings(report.findings, {}))
    console.annotate(render_annotations(found, mask_secrets))


def _annotations(folder: Path, placed: tuple[PlacedFinding, ...]) -> Iterator[Annotation]:
    from llmch.entry.checkout import in_checkout

    names = {each.file: in_checkout(folder / each.file) for each in placed}
    return (_annotation(each, names[each.file]) for each in placed)


def _annotation(each: PlacedFinding, file: str) -> Annotation:
    from llmch.ci.annotations import Annotation, Level

    finding = each.finding
    title = f"{finding.code} {finding.order or 'plan'}"
    line, column = (each.place.line, each.place.column) if each.place else (1, 0)
    level = Level(finding.severity)
    if not file:
        return Annotation(level, title, each.message)
    return Annotation(level, title, each.message, file, line, column)


def _texts(folder: Path) -> Mapping[str, str]:
    """Return the texts of a plan's files by name; one that cannot be read is empty."""
    from shared.errors import InvalidInput
    from shared.files.strict_json import MAX_DOCUMENT_BYTES
    from shared.files.text_input import read_regular_file
    from shared.plan_folder.names import list_plan_files

    texts = {}
    for name in list_plan_files(folder):
        try:
            data = read_regular_file(folder / name, "file of the plan", MAX_DOCUMENT_BYTES).data
        except InvalidInput:
            data = b""
        texts[name] = data.decode("utf-8", "replace")
    return texts


def _plan_at(folder: Path) -> PlanAt:
    """Return where a plan is: in its repo, or on this machine."""
    from llmch.ci.sarif import PlanAt
    from shared.errors import LlmchError
    from shared.git import repos
    from shared.git.client import Git

    here = folder.resolve()
    try:
        found = repos.layout(Git(here))
    except LlmchError:
        found = None
    if found is None or not here.is_relative_to(root := found[0].resolve()):
        return PlanAt(here.as_posix(), in_repo=False)
    return PlanAt(here.relative_to(root).as_posix(), in_repo=True)
