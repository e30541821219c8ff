"""`llmch explain`: say what a rule's code means and how to fix it."""

from __future__ import annotations

import argparse
import difflib

from llmch.arguments import add_output_arguments
from llmch.console import Console
from shared.errors import ExitCode, InvalidInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `explain`."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a rule's code, as in E101")
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Print one rule, or the list of all."""
    from llmch.codes import CODES

    if args.code is None:
        console.lines(*[f"{rule.code}  {rule.title}" for rule in CODES.values()])
        listed = [{"code": rule.code, "title": rule.title} for rule in CODES.values()]
        console.result({"rules": listed})
        return ExitCode.OK
    rule = CODES.get(args.code.upper())
    if rule is None:
        near = difflib.get_close_matches(args.code.upper(), CODES, n=3, cutoff=0.5)
        raise InvalidInput(
            f"there is no rule {args.code!r}",
            f"near it are {', '.join(near)}" if near else "`llmch explain` lists all codes",
        )
    console.lines(
        *[
            f"{rule.code}  {rule.title}  ({rule.severity})",
            "",
            f"Why: {rule.why}",
            "",
            "Bad:",
            *_indented(rule.bad),
            "",
            "Good:",
            *_indented(rule.good),
            "",
            f"Remedy: {rule.remedy}",
        ]
    )
    console.result(
        {
            "code": rule.code,
            "title": rule.title,
            "severity": rule.severity,
            "why": rule.why,
            "bad": rule.bad,
            "good": rule.good,
            "remedy": rule.remedy,
        }
    )
    return ExitCode.OK


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
