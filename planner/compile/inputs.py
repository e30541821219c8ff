"""Gathers everything that a plan is made from: the spec, the prompt's template, and the repo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.compile.options import PlanOptions
from planner.plan.manifest import compile_hash
from planner.plan.target import NOTHING_MORE, Allowed
from planner.prompts.template import (
    Template,
    default_doctrine,
    load_template,
    replan_template,
)
from planner.replan.follow_up import FollowUp
from planner.replan.prompt import relevant_words
from planner.repo.base_tree import BaseTree, base_tree
from planner.repo.hints import read_repo_hints
from planner.repo.tracked import open_tree
from planner.spec.difference import compare_requirements
from planner.spec.read import Spec, read_spec
from shared.errors import InvalidInput
from shared.events.event import Emit, ignore
from shared.projects.base import VerifyCommand

HINT_CHARACTERS: Final = 24_000  # about 6,000 tokens: a tenth of what a plan's reply may take
# A change concerns few files, and the orders of the plan before name their own.
CHANGE_HINT_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class RepoInputs:
    """Hold the repo that a plan is for: its root, its files as git lists them, and their texts.

    `sources` has the texts that rules read, and `hints` is the repo as the prompt shows it.
    `verification` are the commands that verify the repo, where it has no script of its own for
    that. Without a repo, all fields are empty.
    """

    root: Path | None = None
    files: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    hints: str = ""
    verification: tuple[VerifyCommand, ...] = ()
    base: BaseTree | None = None
    """What each file was when the plan began."""


@dataclass(frozen=True, slots=True)
class CompileInputs:
    """Hold everything that a plan is made from.

    `compile_hash` covers the spec, the template, the model and its reasoning effort, and the plan
    that the new one follows. `task` says what changed since that plan; it is `None` for a plan of
    the whole specification.
    """

    spec: Spec
    template: Template
    doctrine: str
    repo: RepoInputs
    compile_hash: str
    require_coverage: bool = False
    allowed: Allowed = NOTHING_MORE
    task: FollowUp | None = None


def gather_inputs(options: PlanOptions, emit: Emit = ignore) -> CompileInputs:
    """Return the inputs of the plan. Raises `InvalidInput` where one of them cannot be used."""
    spec = read_spec(options.spec)
    template = replan_template() if options.follows else load_template(options.template)
    task = _follow_up(options, spec)
    return CompileInputs(
        spec=spec,
        template=template,
        doctrine=default_doctrine(),
        repo=_read_repo(options.repo, options, spec, task, emit) if options.repo else RepoInputs(),
        compile_hash=_compile_hash(options, spec, template),
        require_coverage=options.require_coverage,
        allowed=options.allowed,
        task=task,
    )


def _follow_up(options: PlanOptions, spec: Spec) -> FollowUp | None:
    """Return what changed since the plan that the new one follows, if there is one."""
    before = options.follows
    if before is None:
        return None
    if before.landed and options.repo is None:
        raise InvalidInput(
            f"orders of the plan in {before.folder} landed, and no repo was named that has them",
            "name it with --repo, and the branch with --branch",
        )
    if not spec.requirements:
        raise InvalidInput(
            f"spec {options.spec} states no requirement, or too many to list, so nobody can say "
            f"what has changed since the plan in {before.folder}",
            "give each requirement an id, as in `- FR-001: ...`, or plan anew without that plan",
        )
    difference = compare_requirements(
        before.plan.requirements, spec.requirements, ids_given=spec.ids_given
    )
    return FollowUp(before, difference)


def _compile_hash(options: PlanOptions, spec: Spec, template: Template) -> str:
    return compile_hash(
        spec=spec.sha256,
        template=template.sha256,
        model=options.model.model,
        reasoning_effort=options.model.reasoning_effort,
        follows=options.follows.facts.manifest_sha256 if options.follows else None,
    )


def _read_repo(
    folder: Path, options: PlanOptions, spec: Spec, task: FollowUp | None, emit: Emit
) -> RepoInputs:
    tree = open_tree(folder, options.branch, options.verify, emit, options.start)
    words, room = spec.text, HINT_CHARACTERS
    if task is not None:
        words, room = relevant_words(task), CHANGE_HINT_CHARACTERS
    hints = read_repo_hints(tree.files, words, room, tree.projects)
    paths, base = tuple(tree.files.paths), base_tree(tree)
    return RepoInputs(tree.root, paths, tree.files, hints.text, tree.verification, base)
