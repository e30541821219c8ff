"""Finds out where a submitted plan lands, and with which settings: those of the repo, too."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.entry.wiring import settings_for
from shared.errors import InvalidInput, PreflightRefused
from shared.events.event import Emit
from shared.settings.settings import Settings

if TYPE_CHECKING:
    from factory.fleet.plans.submission import Target


@dataclass(frozen=True, slots=True)
class Submitting:
    """Say where a plan lands, and the settings of the person and the repo together."""

    target: Target
    settings: Settings


def target_of(args: argparse.Namespace, emit: Emit) -> Submitting:
    """Return where `--repo` and `--base` say that a plan lands.

    A clone stands for its remote, at the commit that is checked out. Raises `InvalidInput`,
    `PreflightRefused` where the remote does not have that commit, and `CommandFailed` where the
    remote does not answer.
    """
    from factory.repo.preflight import find_repo
    from shared.git import repos
    from shared.git.client import Git

    folder = Path(args.repo)
    if not folder.is_dir():
        return _of_url(args, args.repo, emit)
    if repos.is_bare(Git(folder)):
        return _of_url(args, str(folder.resolve()), emit)
    return _of_clone(args, find_repo(folder).tree, emit)


def _of_url(args: argparse.Namespace, url: str, emit: Emit) -> Submitting:
    from factory.fleet.plans.submission import fetch_project, find_target
    from shared.git.client import Git

    with tempfile.TemporaryDirectory(prefix="llmch-") as folder:
        project = Path(folder).resolve()
        target = find_target(Git(project), url, args.base or "")
        base = fetch_project(target, project)
        settings = settings_for(args, emit, repo=project, fetched=True)
    return Submitting(replace(target, base=base), settings)


def _of_clone(args: argparse.Namespace, tree: Path, emit: Emit) -> Submitting:
    from factory.fleet.plans.submission import find_target
    from shared.git import remote_refs, worktrees
    from shared.git.client import Git

    settings = settings_for(args, emit, repo=tree)
    git, name = Git(tree), settings.fleet.remote
    remote = remote_refs.url_of(git, name)
    if not remote:
        raise InvalidInput(
            f"{tree} has no remote {name!r}, which the fleet needs",
            "add one that all workers reach, or name it in the setting `fleet.remote`",
        )
    here = worktrees.changes(git)
    target = find_target(git, remote_refs.absolute(remote, tree), args.base or here.branch)
    if not args.base and here.head != target.base:
        raise PreflightRefused(
            f"{here.branch} is at {here.head[:12]} here, and at {target.base[:12]} on {remote}",
            f"push it, or name a branch of the remote with --base {here.branch}",
        )
    return Submitting(target, settings)
