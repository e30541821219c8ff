"""`llmch reset`: end a repo's unfinished run by force; artifacts, specs and commits stay."""

from __future__ import annotations

import argparse
from pathlib import Path

from llmch.arguments import add_output_arguments
from llmch.asking import agrees, someone_is_there
from llmch.console import Console
from shared.errors import ExitCode, InvalidInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `reset`."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Remove working trees and state; 8 where a run is still going on."""
    from factory.preflight import find_repo
    from factory.reset import find_leftovers, reset_repo

    place = find_repo(args.repo)
    found = find_leftovers(place)
    paths = [str(path) for path in (*found.workspaces, *found.state)]
    if not found.any:
        console.remark("there is nothing to reset")
        console.result({"removed": []})
        return ExitCode.OK
    if not args.yes:
        console.lines("these go; commits, artifacts and specs stay:", *(f"  {p}" for p in paths))
        _confirm()
    removed = reset_repo(place)
    console.remark(f"removed {len(removed.workspaces)} working trees and the run's state")
    console.result({"removed": [str(path) for path in (*removed.workspaces, *removed.state)]})
    return ExitCode.OK


def _confirm() -> None:
    if not someone_is_there():
        raise InvalidInput("reset asks first, and nobody is there to answer", "pass --yes")
    if not agrees("go on?"):
        raise InvalidInput("nothing was removed", "answer y, or pass --yes")
