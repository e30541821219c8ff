"""Implements `llmch doctor`: reports what works on this machine, and how to fix the rest."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factory import factory_checkups as factory_health
from factory.preflight import find_repo
from factory.run.run_order import BaseTrial
from factory.run_flags import add_trial_arguments
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Shape
from llmch.entry import wiring
from llmch.entry.command_line import add_record_arguments, lies_in_repo
from llmch.entry.run_orders import tried_base
from shared.errors import ExitCode, LlmchError
from shared.git import repos, trees
from shared.llm import live_client
from shared.processes import pinned_tools

if TYPE_CHECKING:
    from shared.git.repos import Checkup
    from shared.settings.settings import RoleSettings, Settings

_MARKS = {"well": "ok", "limited": "warn", "broken": "no"}


@dataclass(frozen=True, slots=True)
class DoctorDocument(Document):
    """Represent the answer of `doctor`: the result of each checkup of the machine.

    The key `told` is an older name of `detail`.
    """

    shape = Shape(
        "ok",
        "findings=checkups",
        "base",
        base=Shape("ok", "commit?", "tests", "detail", "remedy?"),
        findings=Shape("name", "health", "detail", "told=detail", "remedy?"),
    )

    checkups: tuple[Checkup, ...]
    base: BaseTrial | None = None

    @property
    def ok(self) -> bool:
        return all(each.health != "broken" for each in self.checkups)

    def blocks(self) -> Iterator[Block]:
        for each in self.checkups:
            yield Paragraph((f"{_MARKS[each.health]:<5} {each.name:<12} {each.detail}",))
            if each.remedy:
                remedy = each.remedy.replace("\n", f"\n{'':<22}")
                yield Paragraph(tuple(f"{'':<19}-> {remedy}".splitlines()))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", type=Path, metavar="DIR", help="also look at this git repo (.)")
    parser.add_argument("--online", action="store_true", help="also ask the model server")
    parser.add_argument(
        "--fetch",
        metavar="TOOL",
        choices=("tsc",),
        help="first fetch a tool that judges plans: tsc, the TypeScript compiler",
    )
    add_trial_arguments(parser)
    add_record_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Examine the machine. The exit code is 1 if a fault keeps llmch from working, else 0."""
    repo = args.repo or _repo_here()
    settings = wiring.settings_for(args, console, repo=repo)
    if args.fetch:
        pinned_tools.fetch(pinned_tools.TOOLS[args.fetch])
    found = tuple(_examine(settings, repo, online=args.online))
    base = tried_base(args, console, repo, settings) if repo else None
    document = DoctorDocument((*found, *check_base(base)), base)
    return Outcome(document, ExitCode.OK if document.ok else ExitCode.FAILED)


def check_base(base: BaseTrial | None) -> Iterator[repos.Checkup]:
    """Yield what trying the base showed, if it was tried."""
    if base is not None:
        health = repos.Health.WELL if base.ok else repos.Health.BROKEN
        yield repos.Checkup("base", health, base.detail, base.remedy)


def _examine(settings: Settings, repo: Path | None, *, online: bool) -> Iterator[repos.Checkup]:
    yield repos.check_git()
    yield factory_health.check_interpreter(settings.python, repo)
    yield from factory_health.check_sandboxes()
    yield from factory_health.check_toolchains(settings.sandbox, repo)
    yield from factory_health.check_agents()
    yield from repos.check_tools(_paths_in(repo) if repo is not None else None)
    for name, role in _roles(settings).items():
        for model in role.models:
            server = role.base_url, role.provider, role.key_variable
            yield live_client.check_model(name, model, *server, online=online)
    yield repos.check_folder("records", settings.artifacts_dir, "--artifacts-dir")
    yield factory_health.check_workspaces()
    if repo is not None:
        yield from factory_health.check_repo(repo, settings.verify)
        yield from factory_health.check_dependencies(repo, settings)
    else:
        detail = f"{Path.cwd()} is not in a git repo"
        yield repos.Checkup("repo", repos.Health.LIMITED, detail, "name one with --repo DIR")


def _repo_here() -> Path | None:
    here = Path()
    try:
        return here if lies_in_repo(here) else None
    except LlmchError:
        return here  # what keeps git from answering is one of the findings


def _paths_in(repo: Path) -> Collection[str] | None:
    try:
        return trees.tracked_files(find_repo(repo).git)
    except LlmchError:
        return None  # what keeps git from answering is one of the findings


def _roles(settings: Settings) -> dict[str, RoleSettings]:
    """Return the roles to ask; the reviewer only where it differs from the planner."""
    planner, reviewer = settings.planner, settings.reviewer
    roles = {"planner": planner, "factory": settings.factory}
    asked = [
        (each.model, each.base_url, each.provider, each.key_variable)
        for each in (planner, reviewer)
    ]
    if asked[0] != asked[1]:
        roles["reviewer"] = reviewer
    return roles
