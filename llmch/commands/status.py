"""`llmch status`: show where a repo's latest run stands, also while it goes on."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from llmch.arguments import add_output_arguments
from llmch.console import Console
from shared.errors import ExitCode

_LOOK_EVERY_SECONDS = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `status`."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="wait for a run where none has begun, and go on until it is over",
    )
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Print the status; 0 whatever it is, 8 where it cannot be read."""
    from factory.preflight import find_repo

    common_dir = find_repo(args.repo).common_dir
    document = _look(common_dir)
    if document is None and args.watch:
        console.remark("nothing has run on this repo yet; waiting for a run to begin")
        document = _wait_for_a_run(common_dir)
    if document is None:
        console.remark("nothing has run on this repo yet")
        console.result({"run_id": None, "state": "none", "orders": []})
        return ExitCode.OK
    console.result(_watch(document, common_dir, args, console))
    return ExitCode.OK


def _wait_for_a_run(common_dir: Path) -> dict[str, Any]:
    while (document := _look(common_dir)) is None:
        time.sleep(_LOOK_EVERY_SECONDS)
    return document


def _watch(
    document: dict[str, Any], common_dir: Path, args: argparse.Namespace, console: Console
) -> dict[str, Any]:
    """Show the document, and each later one with `--watch`; return the last.

    With `--json` only the last one is printed.
    """
    show = not args.json
    if show:
        _show(document, console)
    while args.watch and document["state"] == "running":
        time.sleep(_LOOK_EVERY_SECONDS)
        before, document = document, _look(common_dir) or document
        if show and _steps(before) != _steps(document):
            _show(document, console)
    return document


def _look(common_dir: Path) -> dict[str, Any] | None:
    from factory.batch.status import read_status, status_document

    status = read_status(common_dir)
    return None if status is None else status_document(status, common_dir)


def _steps(document: dict[str, Any]) -> object:
    return document["state"], document["orders"]


def _show(document: dict[str, Any], console: Console) -> None:
    from factory.batch.status import RunState, render_failures, render_status

    run = f"run {document['run_id']} on {document['branch']}: {document['state']}"
    if document["state"] == "running":
        run += f" (pid {document['pid']}, {document['elapsed_seconds']:.0f}s)"
    elif RunState(document["state"]).can_go_on:
        run += "; the same command again goes on from there"
    console.lines(run)
    headings = ("order", "state", "attempts", "tokens", "cost", "")
    console.table(render_status(document), headings)
    console.lines(*render_failures(document))
