"""Reads an issue and its comments as the specification of a plan, and answers in comments.

All texts in them are a model's or a stranger's: each is escaped, so that it shows and does nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from factory.orders.stages import OrderState
from llmch.ci import issue_calls, run_reports
from llmch.ci.issue_calls import Issue
from llmch.ci.issue_events import OWN_MARK
from llmch.ci.pull_requests import MOST_BODY, Remote
from llmch.console import Console
from llmch.console.document import Block, Document, Item, Link, Paragraph, Section, Sign, Verbatim
from llmch.entry.answers import BatchDocument
from llmch.previews import preview_document
from planner.spec import issue_text
from shared.errors import InvalidInput, LlmchError
from shared.events.events import Noted, Warned
from shared.files.atomic_io import make_folder, write_text

if TYPE_CHECKING:
    from llmch.previews.plan_preview import PlanPreview
    from shared.settings.settings import Settings
    from shared.work_order.work_order import Assumption


def add_spec_arguments(parser: argparse.ArgumentParser, *, event: bool = False) -> None:
    """Add the flags that say what is to be built: a specification, an issue, or an event."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--spec", type=Path, metavar="FILE",
        help="what to build: a file, or a folder of spec-kit, OpenSpec or Kiro",
    )  # fmt: skip
    group.add_argument(
        "--issue", metavar="URL",
        help="build what an issue asks for: its address on GitHub or GitLab (asked by gh or glab), "
        "or a file with it as JSON",
    )  # fmt: skip
    if event:
        group.add_argument(
            "--event", type=Path, metavar="FILE",
            help="do what the payload of an event asks for: plan an issue, take answers, build, or "
            "carry out a review (docs/issues.md)",
        )  # fmt: skip


def take_issue(args: argparse.Namespace, settings: Settings, console: Console) -> None:
    """Make the issue that `--issue` names the specification of a command.

    Raises `InvalidInput` for an issue that cannot be one, and `PreflightRefused` where it cannot be
    read.
    """
    if args.issue is None:
        return
    if args.issue.lower().startswith(("http://", "https://")):
        remote, number = issue_calls.parse_issue_url(args.issue)
        issue = issue_calls.open_board(remote).issue(number)
    else:
        document = issue_calls.read_document(Path(args.issue), "issue")
        issue = issue_calls.parse_issue(issue_calls.issue_document(document))
        remote = _remote_of(issue)
    folder = issue_folder(settings.artifacts_dir, remote, issue.number)
    write_spec(folder, issue, console)
    args.spec = folder / SPEC_NAME
    if issue.comments:
        console(Noted(f"the comments of {issue.named} ({issue.comments:,}) are not read"))


def _remote_of(issue: Issue) -> Remote:
    try:
        return issue_calls.parse_issue_url(issue.url)[0]
    except InvalidInput:
        return Remote("file", "issue")


def issue_folder(artifacts: Path, remote: Remote, number: int) -> Path:
    """Return the folder among the records that has the specification of an issue."""
    return artifacts / "issues" / f"{issue_calls.shown_name(remote)}-{number}"


SPEC_NAME: Final = "issue.md"


def write_spec(folder: Path, issue: Issue, console: Console) -> tuple[str, ...]:
    """Write the specification that an issue is; say and return in words what is not in it.

    Raises `InvalidInput` for an issue that cannot be one.
    """
    shown = issue_text.spec_of_issue(issue.title, issue.body, issue.named)
    if shown.left_out:
        console(Warned(f"not read of {issue.named}: {', '.join(shown.left_out)}"))
    make_folder(folder)
    spec = folder / SPEC_NAME
    write_text(spec, shown.text)
    console(Noted(f"{issue.named} is the specification, as {spec} has it"))
    return shown.left_out


NOT_PUSHED: Final = (
    "The branch could not be pushed. Where somebody else moved it meanwhile, ask for it again: the "
    "next run goes on from what is there."
)


def comment_text(document: Document) -> str:
    """Return a document as the text of a comment, with llmch's mark, as long as a forge takes."""
    text = run_reports.markdown_of(document).strip()
    if len(text) > MOST_BODY:
        text = f"{text[:MOST_BODY]}\n\nThe rest is in the records of the job.\n"
    return f"{OWN_MARK}\n\n{text}\n"


@dataclass(frozen=True, slots=True)
class PlanComment(Document):
    """Say what a plan will do, what it asks, and how to go on."""

    preview: PlanPreview
    questions: tuple[Assumption, ...]
    left_out: tuple[str, ...] = ()
    """What of the issue was not read, since nobody can see it there."""

    def blocks(self) -> Iterator[Block]:
        if self.left_out:
            yield Paragraph((f"Not read of the issue: {', '.join(self.left_out)}.",))
        yield from preview_document.short_form(self.preview)
        if self.questions:
            items = (
                Item(
                    f"{each.id}: {each.text}",
                    Sign.WARNING if each.kind == "contradiction" else Sign.NONE,
                    aside=f"read as: {each.reading}",
                )
                for each in self.questions
            )
            yield Section("Questions", tuple(items))
            yield Paragraph(
                ("Answer in a comment, a line for each, or leave it to the reading taken:",)
            )
            yield Verbatim("\n".join(f"{each.id}: ..." for each in self.questions))
        yield Paragraph(("To have the plan built, write this as a comment:",))
        yield Verbatim("/llmch build")


@dataclass(frozen=True, slots=True)
class RunComment(Document):
    """Say how a run for an issue ended, and where its pull request is."""

    made: Document

    def blocks(self) -> Iterator[Block]:
        yield from self.made.blocks()
        if not isinstance(self.made, BatchDocument):
            return
        if self.made.summary.pushed is False:
            yield Paragraph((NOT_PUSHED,))
        request = self.made.pull_request
        if request is not None and request.url:
            yield Link(request.action, request.url)
        elif request is not None:
            yield Paragraph((f"No pull request was opened: {request.problem}",))


@dataclass(frozen=True, slots=True)
class ReplyComment(Document):
    """Say which commits carry out what was asked for in a review."""

    made: Document

    def blocks(self) -> Iterator[Block]:
        if not isinstance(self.made, BatchDocument):
            yield from self.made.blocks()
            return
        summary = self.made.summary
        landed = (each for each in summary.orders if each.state is OrderState.LANDED)
        items = tuple(
            Item(f"{each.commit} {each.work_order}")
            for each in landed  # which forges link
        )
        yield Section(f"Commits on {summary.branch}" if items else "No new commit", items)
        for each in summary.orders:
            if each.state in (OrderState.FAILED, OrderState.BLOCKED):
                stage = f" ({each.failure.stage})" if each.failure else ""
                yield Paragraph((f"{each.work_order} {each.state}{stage}",))
        if summary.pushed is False:
            yield Paragraph((NOT_PUSHED,))


@dataclass(frozen=True, slots=True)
class ErrorComment(Document):
    """Say why an event came to nothing."""

    error: LlmchError

    def blocks(self) -> Iterator[Block]:
        yield Paragraph((f"Nothing was done: {self.error.message}",))
        if self.error.hint:
            yield Paragraph((self.error.hint,))
