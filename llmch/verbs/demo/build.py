"""Builds a shipped example in a fresh repo: makes its plan, then runs all its orders."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from factory.batch.coordinator import run_all
from factory.orders.documents import BatchSummary
from factory.orders.model_choice import ModelChoice
from factory.orders.options import RunOptions
from llmch.entry.wiring import tool_runner
from llmch.verbs.demo.examples import Example
from planner.compile.model import PlannerModel
from planner.compile.options import PlanOptions
from planner.plan_result import PlanResult
from planner.run import run_plan
from shared.errors import InvalidInput
from shared.events.event import Emit
from shared.files.atomic_io import make_folder, write_bytes
from shared.git.client import Git
from shared.git.config import clean_environment
from shared.llm.stack import ModelSource
from shared.settings.sandbox import SandboxSettings
from shared.settings.settings import Settings

_README = "# {title}\n\nBuilt by llmch from its specification.\n"
_IGNORED = "__pycache__/\n.pytest_cache/\n"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Say which example to build, where, and with which models."""

    example: Example
    folder: Path
    artifacts: Path
    planner: PlannerModel
    factory: ModelChoice
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Hold the result of a demo; `summary` is `None` where there was no valid plan to execute."""

    repo: Path
    plan: PlanResult
    summary: BatchSummary | None


def build_demo(options: DemoOptions, source: ModelSource, emit: Emit) -> DemoResult:
    """Make the repo, plan the example's spec and run all its orders."""
    repo = make_repo(options.folder, options.example.title)
    settings = Settings(artifacts_dir=options.artifacts, sandbox=options.sandbox)
    plan = run_plan(
        PlanOptions(
            spec=options.example.spec,
            artifacts=options.artifacts,
            model=options.planner,
            max_attempts=5,
            repo=repo,
        ),
        source,
        emit,
        tool_runner(settings, repo),
    )
    if plan.output_dir is None:
        return DemoResult(repo, plan, None)
    summary = run_all(
        plan.output_dir,
        RunOptions(
            repo=repo,
            settings=settings,
            models=options.factory,
            python=Path(sys.executable),
        ),
        source,
        emit,
    )
    return DemoResult(repo, plan, summary)


def free_folder(parent: Path, name: str) -> Path:
    """Return `parent/name`, or `parent/name-2` and so on where that folder exists."""
    number, folder = 1, parent / name
    while folder.exists():
        number += 1
        folder = parent / f"{name}-{number}"
    return folder


def make_repo(folder: Path, title: str) -> Path:
    """Create a git repo with one commit at `folder`.

    Raises `InvalidInput` where `folder` is a file or holds anything.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty", "name another folder with --dir")
    make_folder(folder)
    write_bytes(folder / "README.md", _README.format(title=title).encode(), sync=False)
    write_bytes(folder / ".gitignore", _IGNORED.encode(), sync=False)
    git = Git(folder.resolve(), environment={**clean_environment(os.environ), **_IDENTITY})
    git.run("init", "--quiet", "--initial-branch=main")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-gpg-sign", "--message=Start")
    return folder.resolve()


_IDENTITY = {
    "GIT_AUTHOR_NAME": "llmch demo",
    "GIT_AUTHOR_EMAIL": "demo@localhost",
    "GIT_COMMITTER_NAME": "llmch demo",
    "GIT_COMMITTER_EMAIL": "demo@localhost",
}
