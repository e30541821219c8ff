"""`llmch demo`: build a shipped example from its specification and show what was built."""

from __future__ import annotations

import argparse
from pathlib import Path

from llmch.arguments import add_output_arguments
from llmch.console import Console
from shared.errors import ExitCode

_ROOT = Path("llmch-demo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `demo`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the example (wordgame)")
    parser.add_argument("--list", action="store_true", help="list the examples and end")
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="make the repo here (./llmch-demo/NAME)"
    )
    parser.add_argument(
        "--llm", choices=("replay", "live"), default="replay",
        help="replay the shipped replies, which needs no key, or ask a model (replay)",
    )  # fmt: skip
    parser.add_argument(
        "--sandbox", dest="sandbox.backend", metavar="BACKEND",
        help="auto, bwrap, landlock or off (auto)",
    )  # fmt: skip
    parser.add_argument(
        "--artifacts-dir", type=Path, metavar="DIR", help="root of run records (./artifacts)"
    )
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Build the example; 0 where all its orders landed and the program ran."""
    from llmch.examples import DEFAULT, find_example, list_examples

    if args.list:
        examples = list_examples()
        console.lines(*[f"{each.name:<10} {each.shows}" for each in examples])
        console.result({"examples": [{"name": e.name, "shows": e.shows} for e in examples]})
        return ExitCode.OK
    return _build(args, console, find_example(args.name or DEFAULT).name)


def _build(args: argparse.Namespace, console: Console, name: str) -> ExitCode:
    from factory.summary import public_json
    from llmch.demo import DemoOptions, build_demo, free_folder
    from llmch.demo_replies import demo_models, demo_source
    from llmch.examples import find_example
    from llmch.showing import show_program
    from llmch.wiring import settings_for
    from planner.run import plan_document
    from shared.events import Noted

    example = find_example(name)
    settings = settings_for(args, console)
    source = demo_source(args.llm, example, settings)
    planner, factory = demo_models(args.llm, example, settings)
    options = DemoOptions(
        example=example,
        folder=args.dir or free_folder(_ROOT, example.name),
        artifacts=settings.artifacts_dir,
        planner=planner,
        factory=factory,
        sandbox=settings.sandbox,
    )
    console(Noted(f"example {example.name}: {example.shows}"))
    result = build_demo(options, source, console)
    if result.plan.error is not None:
        raise result.plan.error
    if result.summary is None:
        console.result({"ok": False, "plan": plan_document(result.plan), "run": None})
        return ExitCode.INVALID
    passed = result.summary.verdict == "PASS"
    shown = show_program(result.repo, result.summary.branch, options, console) if passed else False
    console.result(
        {
            "ok": passed and shown,
            "repo": str(result.repo),
            "plan": plan_document(result.plan),
            "run": public_json(result.summary),
        }
    )
    return ExitCode.OK if passed and shown else ExitCode.FAILED
