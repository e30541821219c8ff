"""Gathers everything that a plan is made from: the spec, the prompt's template, and the repo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.compile.options import PlanOptions
from planner.plan.manifest import compile_hash
from planner.plan.target import NOTHING_MORE, Allowed
from planner.prompts.template import Template, default_doctrine, load_template
from planner.repo.base_tree import BaseTree, base_tree
from planner.repo.hints import read_repo_hints
from planner.repo.tracked import open_tree
from planner.spec.read import Spec, read_spec
from shared.events.event import Emit, ignore
from shared.projects.base import VerifyCommand

HINT_CHARACTERS: Final = 24_000  # about 6,000 tokens: a tenth of what a plan's reply may take


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

    `compile_hash` covers the spec, the template, the model and its reasoning effort.
    """

    spec: Spec
    template: Template
    doctrine: str
    repo: RepoInputs
    compile_hash: str
    require_coverage: bool = False
    allowed: Allowed = NOTHING_MORE


def gather_inputs(options: PlanOptions, emit: Emit = ignore) -> CompileInputs:
    """Return the inputs of the plan. Raises `InvalidInput` where one of them cannot be used."""
    spec, template = read_spec(options.spec), load_template(options.template)
    return CompileInputs(
        spec=spec,
        template=template,
        doctrine=default_doctrine(),
        repo=_read_repo(options.repo, options, spec, emit) if options.repo else RepoInputs(),
        compile_hash=_compile_hash(options, spec, template),
        require_coverage=options.require_coverage,
        allowed=options.allowed,
    )


def _compile_hash(options: PlanOptions, spec: Spec, template: Template) -> str:
    return compile_hash(
        spec=spec.sha256,
        template=template.sha256,
        model=options.model.model,
        reasoning_effort=options.model.reasoning_effort,
    )


def _read_repo(folder: Path, options: PlanOptions, spec: Spec, emit: Emit) -> RepoInputs:
    tree = open_tree(folder, options.branch, options.verify, emit, options.start)
    hints = read_repo_hints(tree.files, spec.text, HINT_CHARACTERS, tree.projects)
    paths, base = tuple(tree.files.paths), base_tree(tree)
    return RepoInputs(tree.root, paths, tree.files, hints.text, tree.verification, base)
