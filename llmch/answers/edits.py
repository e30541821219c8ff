"""Takes what a person edited in a plan, for `check --accept-edits`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import InvalidInput
from shared.events.event import Emit
from shared.events.messages import Noted
from shared.files.strict_json import JsonValue

if TYPE_CHECKING:
    from planner.plan.edits import EditedPlan


@dataclass(frozen=True, slots=True)
class Edits:
    """Hold the documents of a plan's files as they are, and the plan that they make."""

    read: Mapping[str, JsonValue]
    taken: EditedPlan

    @property
    def lines(self) -> tuple[str, ...]:
        """Return a line for each edited order."""
        return tuple(each.render() for each in self.taken.edits)


def read_edits(folder: Path, repo: Path | None, branch: str | None) -> Edits | None:
    """Return what was edited in the plan in `folder`, `None` where nothing was.

    Raises `InvalidInput` where an order was edited that has landed in the repo: its commit stays,
    and the order would be made again.
    """
    from planner.plan.edits import take_edits
    from shared.plan_folder.read import FileMalformed, read_plan_files

    try:
        read = read_plan_files(folder)
    except FileMalformed:
        return None  # the rules say what is wrong with it
    taken = take_edits(read)
    if taken is None:
        return None
    if repo is not None:
        _refuse_landed(folder, taken, repo, branch)
    return Edits(read, taken)


def note_edited(folder: Path, emit: Emit) -> None:
    """Report a plan that was edited and not taken: `run` and `run-all` refuse it."""
    from shared.plan_folder.edited import edited_manifest
    from shared.plan_folder.read import read_manifest

    with contextlib.suppress(InvalidInput):  # the rules say what is wrong with it
        manifest = read_manifest(folder)
        if manifest is not None and manifest.was_edited:
            error = edited_manifest(folder)
            emit(Noted(f"{error.message}; {error.hint}"))


def _refuse_landed(folder: Path, taken: EditedPlan, repo: Path, branch: str | None) -> None:
    from factory.orders.read import LoadedOrder
    from factory.record.landed import landed_otherwise
    from planner.plan.plan import parse_plan
    from planner.repo.tracked import open_repo

    drafts = parse_plan(taken.document).drafts
    orders = [LoadedOrder(each.order, taken.plan) for each in drafts if each.order is not None]
    if not orders or taken.plan is None:
        return
    landed = landed_otherwise(open_repo(repo), orders, branch)
    if landed:
        names = ", ".join(f"{name} ({commit[:12]})" for name, commit in sorted(landed.items()))
        raise InvalidInput(
            f"{folder}: edited or removed, but landed already: {names}; "
            "an edited order would be made again",
            "undo these edits, and put the change into an order that has not landed; "
            f"`llmch plan --spec SPEC --from {shlex.quote(str(folder))}` plans a change of what "
            "landed",
        )
