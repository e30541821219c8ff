"""Declares the options of `llmch demo`, builds the example, and returns the answer."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.answers.orders import BatchDocument
from llmch.answers.plan import PlanDocument
from llmch.console import Console
from llmch.console.document import Block, Outcome, Rows
from llmch.entry.arguments import add_record_arguments
from shared.errors import ExitCode

if TYPE_CHECKING:
    from llmch.verbs.demo.build import DemoResult
    from llmch.verbs.demo.examples import Example

_ROOT = Path("llmch-demo")


@dataclass(frozen=True, slots=True)
class ExampleList:
    """Represent the answer of `demo --list`: all examples."""

    examples: tuple[Example, ...]

    def to_json(self) -> object:
        """Return the name of each example and what the example shows."""
        return {"examples": [{"name": each.name, "shows": each.shows} for each in self.examples]}

    def blocks(self) -> Iterator[Block]:
        """Return a line for each example."""
        yield Rows(tuple((each.name, each.shows) for each in self.examples))


@dataclass(frozen=True, slots=True)
class DemoDocument:
    """Represent the answer of `demo`; `ok` says whether the program was built and ran."""

    result: DemoResult
    ok: bool

    def to_json(self) -> object:
        """Return the answers of `plan` and `run-all`; without a plan, the run is `None`."""
        plan = PlanDocument(self.result.plan).to_json()
        if self.result.summary is None:
            return {"ok": self.ok, "plan": plan, "run": None}
        run = BatchDocument(self.result.summary).to_json()
        return {"ok": self.ok, "repo": str(self.result.repo), "plan": plan, "run": run}

    def blocks(self) -> Iterator[Block]:
        """Return the blocks of the plan, and those of the run where there was one."""
        yield from PlanDocument(self.result.plan).blocks()
        if self.result.summary is not None:
            yield from BatchDocument(self.result.summary).blocks()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `demo`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the example (wordgame)")
    parser.add_argument("--list", action="store_true", help="list the examples and exit")
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
    add_record_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Build the example. The exit code is 0 where all its orders landed and the program ran."""
    from llmch.verbs.demo.examples import DEFAULT, find_example, list_examples

    if args.list:
        return Outcome(ExampleList(list_examples()))
    return _build(args, console, find_example(args.name or DEFAULT).name)


def _build(args: argparse.Namespace, console: Console, name: str) -> Outcome:
    from llmch.entry.wiring import settings_for
    from llmch.verbs.demo.build import DemoOptions, build_demo, free_folder
    from llmch.verbs.demo.examples import find_example
    from llmch.verbs.demo.needs import demand
    from llmch.verbs.demo.replies import demo_models, demo_source
    from llmch.verbs.demo.showing import show_program
    from shared.events.messages import Noted

    example = find_example(name)
    demand(example)
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
        return Outcome(DemoDocument(result, ok=False), ExitCode.INVALID)
    ok = result.summary.verdict == "PASS" and show_program(
        result.repo, result.summary.branch, options, console
    )
    return Outcome(DemoDocument(result, ok=ok), ExitCode.OK if ok else ExitCode.FAILED)
