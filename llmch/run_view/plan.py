"""Reads the plan of a run, and what the planner did for it, as far as either is still there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from factory.orders.read import read_workdir
from llmch.run_view.documents import read_fields, read_lines
from llmch.run_view.fields import Fields
from llmch.run_view.model.planning import PlanningView
from llmch.run_view.model.usage import RoleUsage, UsageView
from llmch.run_view.planning import read_planning
from llmch.run_view.summaries import usage_of
from llmch.run_view.timeline import usage_by_role
from shared.errors import LlmchError
from shared.plan_folder.names import MANIFEST_NAME
from shared.work_order.schemas import WorkOrder

_RUN_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # a ULID


@dataclass(frozen=True, slots=True)
class PlanView:
    """Hold a plan with the usage of the planner; `missing` says what is not there, if anything."""

    title: str = ""
    overview: tuple[str, ...] = ()
    orders: tuple[WorkOrder, ...] = ()
    roles: tuple[RoleUsage, ...] = ()
    usage: UsageView = field(default_factory=UsageView)
    spec: str = ""
    missing: str = ""
    planning: PlanningView | None = None


def read_plan(run: Path, head: Fields) -> PlanView:
    """Return the plan of the run in the folder `run`, which has this head; a single order has none.

    How it was made is read where the records of the planner's run are: around the plan, or beside
    those of the run.
    """
    folder = head.path("workdir")
    if head.text("command") == "run" or folder is None:
        return PlanView()
    try:
        loaded = read_workdir(folder)
    except LlmchError as error:
        return PlanView(missing=f"the plan cannot be read any more: {error.message}")
    facts = next((each.plan for each in loaded if each.plan), None)
    if facts and facts.manifest_sha256 != head.text("manifest_sha256"):
        return PlanView(missing=f"the plan in {folder} is not the one of this run any more")
    manifest = read_fields(folder / MANIFEST_NAME)
    records = _records_of_planner(folder, run, facts.planner_run_id if facts else "")
    made = read_fields(records / "run.json") if records else Fields()
    usage = usage_of(made.fields("usage")) if made.fields("usage") else UsageView()
    return PlanView(
        title=facts.title if facts else "",
        overview=_overview(manifest),
        orders=tuple(each.order for each in loaded),
        roles=tuple(_roles(records, usage)) if records else (),
        usage=usage,
        spec=made.text("spec"),
        planning=read_planning(records) if records else None,
    )


def _overview(manifest: Fields) -> tuple[str, ...]:
    one = manifest.text("system_overview")
    return (one,) if one else manifest.texts("system_overview")


def _records_of_planner(folder: Path, run: Path, run_id: str) -> Path | None:
    """Return the folder of the run that made the plan in `folder`, if it is here."""
    if not _RUN_ID.fullmatch(run_id):
        return None
    around, beside = folder.parent, run.parent.parent / "planner" / run_id
    if around.name == run_id:
        return around
    return beside if beside.is_dir() else None


def _roles(records: Path, usage: UsageView) -> Iterator[RoleUsage]:
    found = usage_by_role(read_lines(records / "events.jsonl"))
    for each in found:
        whole = usage if len(found) == 1 else each.usage
        yield RoleUsage(each.role, each.model, whole, each.seconds)
