"""Finds the plan that a repo was built from before, so that equal inputs are planned once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from planner.compile.options import PlanOptions
from planner.prompts.template import load_template
from planner.run import PlanResult, run_plan
from planner.spec.read import read_spec
from shared.events.event import Emit
from shared.events.messages import Noted
from shared.files.atomic_io import make_folder, write_json
from shared.files.exclusive import exclusively
from shared.languages.capabilities.tools import ToolRunner
from shared.llm.stack import ModelSource
from shared.plan_folder.names import MANIFEST_NAME
from shared.work_order.hashing import canonical_json, sha256_bytes


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Hold the folder of a valid plan, and the result of the run that made it.

    `folder` is `None` if that run made no valid plan. `result` is `None` if the plan is an earlier
    one.
    """

    folder: Path | None
    result: PlanResult | None = None


def plan_once(
    options: PlanOptions,
    common_dir: Path,
    source: ModelSource,
    emit: Emit,
    runner: ToolRunner | None = None,
) -> BuildPlan:
    """Return the plan for these inputs: the one this repo was built from before, else a new one.

    `common_dir` is the repo's git folder, which keeps the list of plans. `plan_identity` says
    which inputs count. Raises as `planner.run.run_plan` does.
    """
    identity = plan_identity(options)
    known = _known(identity, common_dir)
    if known is not None:
        emit(Noted(f"continuing with the plan in {known}"))
        return BuildPlan(known)
    result = run_plan(options, source, emit, runner)
    if result.output_dir is not None:
        remember_plan(identity, result.output_dir, common_dir)
    return BuildPlan(result.output_dir, result)


def remember_plan(identity: str, folder: Path, common_dir: Path) -> None:
    """Put a plan on file as the newest one, beside those that other processes put there.

    Raises `CommandFailed` where the disk refuses.
    """
    path = _path(common_dir)
    make_folder(path.parent)
    with exclusively(path.with_suffix(".lock")):
        others = {name: each for name, each in _read(path).items() if name != identity}
        write_json(path, {**others, identity: str(folder)})


def known_plan(options: PlanOptions, common_dir: Path) -> Path | None:
    """Return the folder of the plan that this repo was built from before for these inputs.

    Raises `InvalidInput` where the spec or the template cannot be used.
    """
    return _known(plan_identity(options), common_dir)


def plan_identity(options: PlanOptions) -> str:
    """Return the hash that a plan on file must have to serve these options.

    The hash covers what the user has the plan compiled from, and what it must pass besides the
    rules. The repo does not count, because it changes as the plan's orders land. llmch's own
    template does not count, because another version of llmch goes on with the plan and its branch.
    The review does not count either: a plan that was accepted without one stays accepted. Raises
    `InvalidInput` where the spec or the template cannot be used.
    """
    own = load_template(options.template).sha256 if options.template else None
    return sha256_bytes(
        canonical_json(
            {
                "spec": read_spec(options.spec).sha256,
                "template": own,
                "model": options.model.model,
                "reasoning_effort": options.model.reasoning_effort,
                "require_coverage": options.require_coverage,
                "programs": sorted(options.allowed.programs),
                "dependencies": sorted(options.allowed.dependencies),
            }
        )
    )


def _known(identity: str, common_dir: Path) -> Path | None:
    known = _read(_path(common_dir)).get(identity)
    return Path(known) if known and (Path(known) / MANIFEST_NAME).is_file() else None


def _path(common_dir: Path) -> Path:
    return common_dir / "llmch" / "plans.json"


def _read(path: Path) -> dict[str, str]:
    """Return the plans on file. A file that cannot be read counts as empty and is replaced."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    pairs = document.items() if isinstance(document, dict) else ()
    return {name: folder for name, folder in pairs if isinstance(folder, str)}
