"""Reads what is on record of attempts at an order, with the patch of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from factory.record.attempts_on_record import AttemptOnRecord, attempts_of_order
from factory.record.runs_on_record import RunOnRecord
from factory.workbench.patch import patch_of_attempt
from llmch.run_view.calls import calls_of_attempt
from llmch.run_view.commands import Written, commands_of_attempt
from llmch.run_view.documents import read_fields
from llmch.run_view.fields import Fields
from llmch.run_view.model.attempts import AttemptView, BriefView, Change
from llmch.run_view.model.states import Judged
from llmch.run_view.model.time_spans import Span
from shared.errors import LlmchError
from shared.git import patches
from shared.git.client import Git

MOST_PATCH_BYTES = 256 * 1024
"""A patch that is longer is cut; a page shows even less of it."""


@dataclass(frozen=True, slots=True)
class AttemptGround:
    """Hold what the attempts at an order have in common.

    `git` is `None` where the repo is not here. `summary` is that of the order, and `written` has
    the words of its commands as the order writes them.
    """

    run: RunOnRecord
    order: str
    git: Git | None
    common_dir: Path
    summary: Fields
    written: Written


def attempts_of(
    ground: AttemptGround, times: Mapping[tuple[str, int], Span]
) -> tuple[AttemptView, ...]:
    """Return the attempts of a run at an order; `times` has their spans by order and number."""
    records = {each.whole("attempt_index"): each for each in ground.summary.many("attempt_records")}
    return tuple(
        _attempt(
            each, ground, records.get(each.number, Fields()), times.get((ground.order, each.number))
        )
        for each in attempts_of_order(ground.run, ground.order, ground.common_dir)
    )


def _attempt(
    attempt: AttemptOnRecord, ground: AttemptGround, record: Fields, span: Span | None
) -> AttemptView:
    brief = brief_of(read_fields(attempt.folder / "failure_brief.json"))
    judged = Judged.PASSED if attempt.passed else Judged.FAILED if brief else Judged.OPEN
    # What landed is the change of the order.
    has_landed = attempt.passed and ground.summary.text("commit")
    return AttemptView(
        number=attempt.number,
        judged=judged,
        model=record.text("model"),
        summary=attempt.proposal.summary if attempt.proposal else "",
        start=span.start if span else None,
        end=span.end if span else None,
        brief=brief,
        change=Change() if has_landed else _change(attempt, ground.git),
        commands=commands_of_attempt(attempt.folder, ground.written),
        asked_again=tuple(
            f"{each.text('reason')}: {each.text('note')}" for each in record.many("questions")
        ),
        repairs=record.texts("repairs"),
        repeats=record.whole("repeats"),
        calls=calls_of_attempt(attempt.folder, ground.run.folder),
    )


def brief_of(record: Fields) -> BriefView | None:
    """Return why something failed, out of its record; `None` where there is no record."""
    if not record.text("stage"):
        return None
    return BriefView(
        stage=record.text("stage"),
        command=record.text("command"),
        exit_code=record.whole("exit_code"),
        excerpt=record.text("primary_error_excerpt") or record.text("excerpt"),
        facts=record.texts("facts"),
        remedy=record.text("remedy"),
    )


def _change(attempt: AttemptOnRecord, git: Git | None) -> Change:
    command = f"llmch diff {attempt.run.run_id} {attempt.order} {attempt.number}"
    try:
        if attempt.patch is None and git is None:
            return Change(missing="its repository is not here, so nothing can be compared")
        patch = attempt.patch if git is None else patch_of_attempt(git, attempt)
    except LlmchError as error:
        return Change(missing=error.message, command=command)
    if not patch:
        return Change(missing="nothing was proposed, or nothing that changes a file")
    return _shown(patch, command)


def change_of_commit(git: Git | None, parent: str, commit: str) -> Change:
    """Return what a commit changes, or why nobody can say so here.

    `parent` is "" where it is not on record; then it is the commit's first one.
    """
    if git is None:
        return Change(missing="its repository is not here")
    command = f"git diff {parent[:12] or f'{commit[:12]}^'} {commit[:12]}"
    try:
        return _shown(patches.between(git, parent or f"{commit}^", commit), command)
    except LlmchError:
        return Change(missing=f"the repository does not have {commit[:12]} with its parent")


def _shown(patch: bytes, command: str) -> Change:
    text = patch[:MOST_PATCH_BYTES].decode("utf-8", "replace")
    return Change(text, command=command, is_cut=len(patch) > MOST_PATCH_BYTES)
