"""Declares `--repo` for verbs that can do without a repo, and says which repo they mean."""

from __future__ import annotations

import argparse
from pathlib import Path

from shared.events.event import Emit
from shared.events.messages import Noted


def add_optional_repo(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add `--repo`, described by `purpose`, and `--no-repo`, of which at most one may be given."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--repo", type=Path, metavar="DIR", help=f"{purpose} (.)")
    either.add_argument("--no-repo", action="store_true", help="go without a repo")


def repo_meant(args: argparse.Namespace, emit: Emit, without: str) -> Path | None:
    """Return the folder of the repo that the command line means, or `None` for no repo.

    Without either option, that is the current folder where it lies in a git repo. Elsewhere, one
    line says that there is no repo, and `without` says in it what that means to the verb. Raises
    `GitFailed` where git refuses to look.
    """
    if args.no_repo:
        return None
    if args.repo is not None:
        return Path(args.repo)
    here = Path()
    if lies_in_repo(here):
        return here
    emit(Noted(f"{here.resolve()} is not in a git repo: {without}"))
    return None


def lies_in_repo(folder: Path) -> bool:
    """Return whether `folder` lies in the working tree of a git repo. Raises `GitFailed`."""
    from shared.git import repos
    from shared.git.client import Git

    return repos.layout(Git(folder.resolve())) is not None
