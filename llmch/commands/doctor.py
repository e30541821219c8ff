"""`llmch doctor`: say what would work on this machine, and what to do about the rest."""

from __future__ import annotations

import argparse
from pathlib import Path

from llmch.arguments import add_output_arguments, add_record_arguments
from llmch.console import Console
from shared.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `doctor`."""
    parser.add_argument("--repo", type=Path, metavar="DIR", help="also look at this git repo")
    parser.add_argument("--online", action="store_true", help="also ask the model server")
    add_record_arguments(parser)
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Examine the machine; 0 where nothing keeps llmch from working, 1 where something does."""
    from llmch.examination import Health, examine
    from llmch.wiring import settings_for

    settings = settings_for(args, console, repo=args.repo)
    findings = examine(settings, args.repo, online=args.online)
    for each in findings:
        console.lines(f"{_MARKS[each.health.value]:<5} {each.name:<12} {each.told}")
        if each.remedy:
            console.lines(f"      {'':<12} -> {each.remedy}")
    broken = any(each.health is Health.BROKEN for each in findings)
    console.result(
        {
            "ok": not broken,
            "findings": [
                {
                    "name": each.name,
                    "health": each.health,
                    "told": each.told,
                    "remedy": each.remedy or None,
                }
                for each in findings
            ],
        }
    )
    return ExitCode.FAILED if broken else ExitCode.OK


_MARKS = {"well": "ok", "limited": "warn", "broken": "no"}
