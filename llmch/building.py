"""The plan of a `build`: made once for equal inputs, found again by the next call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from planner.run import PlanOptions, PlanResult, plan_identity, run_plan
from shared.atomic_io import make_folder, write_json
from shared.events import Emit, Noted
from shared.llm.stack import ModelSource
from shared.plan_folder.names import MANIFEST_NAME


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The folder of a valid plan, and the result of making it where it was made now."""

    folder: Path | None
    result: PlanResult | None = None


def plan_once(options: PlanOptions, common_dir: Path, source: ModelSource, emit: Emit) -> BuildPlan:
    """Return the plan for these inputs: the one this repo was built from before, else a new one.

    `planner.run.plan_identity` says what counts. Raises as `planner.run.run_plan` does.
    """
    identity = plan_identity(options)
    known = _read(_path(common_dir)).get(identity)
    if known and (Path(known) / MANIFEST_NAME).is_file():
        emit(Noted(f"going on with the plan in {known}"))
        return BuildPlan(Path(known))
    result = run_plan(options, source, emit)
    if result.output_dir is not None:
        make_folder(_path(common_dir).parent)
        plans = {**_read(_path(common_dir)), identity: str(result.output_dir)}
        write_json(_path(common_dir), plans)
    return BuildPlan(result.output_dir, result)


def _path(common_dir: Path) -> Path:
    return common_dir / "llmch" / "plans.json"


def _read(path: Path) -> dict[str, str]:
    """Return the plans on file; what cannot be read is only made again."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    pairs = document.items() if isinstance(document, dict) else ()
    return {name: folder for name, folder in pairs if isinstance(folder, str)}
