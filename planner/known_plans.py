"""Finds the plan that a repo was built from before, so that equal inputs are planned once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.compile import inputs
from planner.prompts.prompt_templates import load_template
from planner.replan.predecessor import read_predecessor
from planner.repo import machine
from planner.run_plan import PlanResult, run_plan
from planner.spec.read_spec import read_spec
from planner.spec.spec_difference import compare_requirements
from shared.errors import InvalidInput
from shared.events.events import Emit, Noted
from shared.files.atomic_io import exclusively, make_folder, write_json
from shared.files.strict_documents import MAX_DOCUMENT_BYTES
from shared.files.text_sources import read_plain
from shared.languages import language_tools
from shared.llm import stack
from shared.work_order.parse_order import canonical_json, sha256_bytes
from shared.work_order.plan_folder import MANIFEST_NAME, PlanFacts, read_manifest


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Hold the folder of a valid plan, and the result of the run that made it.

    `folder` is `None` if that run made no valid plan. `result` is `None` if the plan is an earlier
    one.
    """

    folder: Path | None
    result: PlanResult | None = None


def plan_once(
    options: inputs.PlanOptions,
    common_dir: Path,
    source: stack.ModelSource,
    emit: Emit,
    runner: language_tools.ToolRunner | None = None,
    trial: language_tools.ToolRunner | machine.OwnQuestions | None = None,
) -> BuildPlan:
    """Return the plan for these inputs: the one this repo was built from before, else a new one.

    `common_dir` is the repo's git folder, which keeps the list of plans. `plan_identity` says
    which inputs count. Raises as `planner.run_plan.run_plan` does.
    """
    identity = plan_identity(options)
    known = _known(identity, common_dir)
    if known is not None:
        emit(Noted(f"continuing with the plan in {known}"))
        return BuildPlan(known)
    if options.follows is not None:
        emit(Noted(f"the plan in {options.follows.folder} is followed by a new one"))
    result = plan_anew(options, common_dir, source, emit, runner, trial)
    return BuildPlan(result.output_dir, result)


def plan_anew(
    options: inputs.PlanOptions,
    common_dir: Path,
    source: stack.ModelSource,
    emit: Emit,
    runner: language_tools.ToolRunner | None = None,
    trial: language_tools.ToolRunner | machine.OwnQuestions | None = None,
) -> PlanResult:
    """Plan, whatever is on file, and put a valid plan on file; raises as `run_plan` does."""
    result = run_plan(options, source, emit, runner, trial)
    if result.output_dir is not None:
        remember_plan(plan_identity(options), result.output_dir, common_dir)
    return result


def remember_plan(identity: str, folder: Path, common_dir: Path) -> None:
    """Put a plan on file as the newest one, beside those that other processes put there.

    Raises `CommandFailed` if the disk refuses.
    """
    path = _path(common_dir)
    make_folder(path.parent)
    with exclusively(path.with_suffix(".lock")):
        others = {name: each for name, each in _read(path).items() if name != identity}
        write_json(path, {**others, identity: str(folder)})


def known_plan(options: inputs.PlanOptions, common_dir: Path) -> Path | None:
    """Return the folder of the plan that this repo was built from before for these inputs.

    Raises `InvalidInput` if the spec or the template cannot be used.
    """
    return _known(plan_identity(options), common_dir)


def plan_to_follow(options: inputs.PlanOptions, common_dir: Path) -> Path | None:
    """Return the plan of this repo that a plan for these options goes on from, or `None`.

    That is the newest plan at the end of its line of which the spec still has half of the
    requirements: with fewer, the spec is taken for another product's. A plan whose orders name no
    requirements cannot be followed. Raises `InvalidInput` if the spec cannot be used.
    """
    wanted = read_spec(options.spec)
    facts = _facts_on_file(common_dir)
    followed = _followed(facts)
    ends = [folder for folder, fact in facts.items() if fact.manifest_sha256 not in followed]
    for folder in reversed(ends):
        try:
            before = read_predecessor(folder, ()).plan.requirements
        except InvalidInput:
            continue
        difference = compare_requirements(before, wanted.requirements)
        if 2 * (len(difference.untouched) + len(difference.changed)) >= len(before):
            return folder
    return None


def plan_identity(options: inputs.PlanOptions) -> str:
    """Return the hash that a plan on file must have to serve these options.

    The hash covers what the user has the plan compiled from, and what it must pass besides the
    rules. The repo does not count, because it changes as the plan's orders land. llmch's own
    template does not count, because another version of llmch goes on with the plan and its branch.
    The review does not count either: a plan that was accepted without one stays accepted. Raises
    `InvalidInput` if the spec or the template cannot be used.
    """
    own = load_template(options.template).sha256 if options.template else None
    return sha256_bytes(
        canonical_json(
            {
                "spec": read_spec(options.spec).sha256,
                **({"change": True} if options.change else {}),
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
    if not known or not (Path(known) / MANIFEST_NAME).is_file():
        return None
    facts = _facts_on_file(common_dir)
    own = facts.get(Path(known))
    return None if own and own.manifest_sha256 in _followed(facts) else Path(known)


def _facts_on_file(common_dir: Path) -> dict[Path, PlanFacts]:
    """Return the identities of the plans on file by their folders, the newest last."""
    found: dict[Path, PlanFacts] = {}
    for folder in dict.fromkeys(map(Path, _read(_path(common_dir)).values())):
        with contextlib.suppress(InvalidInput):
            manifest = read_manifest(folder)
            if manifest is not None and manifest.facts is not None:
                found[folder] = manifest.facts
    return found


def _followed(facts: Mapping[Path, PlanFacts]) -> frozenset[str]:
    return frozenset(each for fact in facts.values() for each in fact.lineage)


def _path(common_dir: Path) -> Path:
    return common_dir / "llmch" / "plans.json"


def _read(path: Path) -> dict[str, str]:
    """Return the plans on file. A file that cannot be read counts as empty and is replaced."""
    try:
        document = json.loads(read_plain(path, MAX_DOCUMENT_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    pairs = document.items() if isinstance(document, dict) else ()
    return {name: folder for name, folder in pairs if isinstance(folder, str)}
