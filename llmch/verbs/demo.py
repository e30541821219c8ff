"""Implements `llmch demo`: builds a shipped example from its specification."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from factory.batch.batch import run_all
from factory.orders.documents import BatchSummary, ReplyFormat
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.task import RunOptions
from factory.run_flags import model_choice
from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Policy
from factory.workbench.judging_tools import toolchains_for
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Rows, Shape
from llmch.entry.answers import BatchDocument, PlanDocument
from llmch.entry.command_line import add_record_arguments
from llmch.entry.wiring import also_for, live_source, settings_for, tool_runner
from planner.compile.inputs import PlannerModel, PlanOptions
from planner.plan_flags import planning_model
from planner.run_plan import PlanResult, run_plan
from shared.errors import ExitCode, InvalidInput, PreflightRefused
from shared.events.events import Emit, Noted, Warned
from shared.files.atomic_io import make_folder, write_bytes
from shared.git.client import Git, clean_environment
from shared.llm.model_client import Role
from shared.llm.stack import Mode, ModelSource
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import ReplyOrigin
from shared.processes.process import ProgramMissing, ToolFailed, run_tool
from shared.settings.settings import SandboxSettings, Settings

_ROOT = Path("llmch-demo")


@dataclass(frozen=True, slots=True)
class ExampleList(Document):
    """Represent the answer of `demo --list`: all examples."""

    shape = Shape("examples", examples=Shape("name", "shows"))

    examples: tuple[Example, ...]

    def blocks(self) -> Iterator[Block]:
        yield Rows(tuple((each.name, each.shows) for each in self.examples))


@dataclass(frozen=True, slots=True)
class DemoDocument(Document):
    """Represent the answer of `demo`; `ok` says whether the program was built and ran."""

    result: DemoResult
    ok: bool

    def to_json(self) -> object:
        plan = PlanDocument(self.result.plan).to_json()
        if self.result.summary is None:
            return {"ok": self.ok, "plan": plan, "run": None}
        run = BatchDocument(self.result.summary).to_json()
        return {"ok": self.ok, "repo": str(self.result.repo), "plan": plan, "run": run}

    def blocks(self) -> Iterator[Block]:
        yield from PlanDocument(self.result.plan).blocks()
        if self.result.summary is not None:
            yield from BatchDocument(self.result.summary).blocks()


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    """Build the example. The exit code is 0 if all its orders landed and the program ran."""
    if args.list:
        return Outcome(ExampleList(list_examples()))
    example = find_example(args.name or DEFAULT)
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


DEFAULT = "wordgame"


@dataclass(frozen=True, slots=True)
class MachineNeed:
    """Describe what an example needs of the machine: `probe` is a command that succeeds there."""

    what: str
    probe: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """Describe one example; `run` are the commands that show the program it builds.

    `need` is `None` if the example needs nothing that llmch does not need itself.
    """

    name: str
    title: str
    shows: str
    folder: Path
    run: tuple[tuple[str, ...], ...]
    need: MachineNeed | None = None

    @property
    def spec(self) -> Path:
        return self.folder / "spec.md"

    @property
    def transcript(self) -> Path:
        return self.folder / "transcript.jsonl"


def list_examples() -> tuple[Example, ...]:
    """Return all examples, sorted by name."""
    folders = sorted(each.parent for each in _root().glob("*/example.toml"))
    return tuple(_read(folder) for folder in folders)


def find_example(name: str) -> Example:
    """Return the example called `name`.

    Raises `InvalidInput`, which names all examples, where none has that name.
    """
    examples = {each.name: each for each in list_examples()}
    if name not in examples:
        raise InvalidInput(
            f"{name!r} is not an example", f"the examples are: {', '.join(examples)}"
        )
    return examples[name]


def _read(folder: Path) -> Example:
    document = tomllib.loads((folder / "example.toml").read_text("utf-8"))
    needs = document.get("needs")
    return Example(
        name=folder.name,
        title=document["title"],
        shows=document["shows"],
        folder=folder,
        run=tuple(tuple(argv) for argv in document["run"]),
        need=MachineNeed(needs["what"], tuple(needs["probe"])) if needs else None,
    )


@cache
def _root() -> Path:
    # A wheel has the examples inside the package; a checkout has them beside it.
    package = Path(str(resources.files("llmch")))
    installed = package / "_examples"
    return installed if installed.is_dir() else package.parent / "examples"


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
    """Hold the result of a demo; `summary` is `None` if there was no valid plan to execute."""

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
            repo=repo, settings=settings, models=options.factory, python=Path(sys.executable)
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

    Raises `InvalidInput` if `folder` is a file or holds anything.
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


def demo_source(mode: str, example: Example, settings: Settings) -> ModelSource:
    """Return the source of replies in `mode`.

    Raises `ModelUnavailable` if a live model has no key.
    """
    if mode == Mode.LIVE:
        planner = live_source(settings, settings.planner)
        return also_for(planner, Role.FACTORY, live_source(settings, settings.factory))
    return ModelSource(Mode.REPLAY, transcript=example.transcript)


def demo_models(
    mode: str, example: Example, settings: Settings
) -> tuple[PlannerModel, ModelChoice]:
    """Return the models that plan and write; a replay uses those that its transcript names."""
    if mode == Mode.LIVE:
        return planning_model(settings.planner), model_choice(settings)
    with Transcript.read(example.transcript) as transcript:
        return recorded_models(transcript.origin)


def recorded_models(origin: ReplyOrigin) -> tuple[PlannerModel, ModelChoice]:
    """Return the models that a transcript's header names, to be asked as they were then."""
    model = origin.model or "unknown"
    factory_model = origin.factory_model or model
    return (
        PlannerModel(origin.planner_model or model, None, None),
        ModelChoice(
            (Rung(factory_model),),
            reply_format=ReplyFormat(origin.reply_format or ReplyFormat.JSON),
        ),
    )


_SECONDS = 20.0  # for a program that only says what it is able to do


def is_there(example: Example) -> bool:
    """Return whether the machine has what the example needs."""
    if example.need is None:
        return True
    # An empty folder has no configuration that the program might read.
    with tempfile.TemporaryDirectory(prefix="llmch-demo-") as folder:
        try:
            ended = run_tool(
                example.need.probe, cwd=Path(folder), env=os.environ, timeout_seconds=_SECONDS
            )
        except (ProgramMissing, ToolFailed):
            return False
    return ended.exit_code == 0


def demand(example: Example) -> None:
    """Raise `PreflightRefused`, which names what is missing, where the example cannot be built."""
    if example.need is None or is_there(example):
        return
    others = ", ".join(each.name for each in list_examples() if each.need is None)
    raise PreflightRefused(
        f"the example {example.name} needs {example.need.what}, and it is not on the PATH",
        f"install it, or build an example that needs nothing: {others}",
    )


_TIMEOUT_SECONDS = 60.0


def show_program(repo: Path, branch: str, options: DemoOptions, console: Console) -> bool:
    """Print the branch's commits and run the example's commands on it.

    Returns whether all commands ended with 0. The demo's own fresh repo is switched to the branch,
    so that a person finds the program there.
    """
    git = Git(repo)
    git.run("switch", "--quiet", branch)
    place = shlex.quote(os.path.relpath(repo))
    console.remark("", f"$ cd {place}", f"$ git switch {branch}", "$ git log --oneline")
    console.remark(git.run("log", "--oneline", "--no-decorate"))
    results = [_run(argv, repo, options, console) for argv in options.example.run]
    return all(results)


def _run(argv: tuple[str, ...], repo: Path, options: DemoOptions, console: Console) -> bool:
    console.remark("", f"$ {shlex.join(argv)}")
    with tempfile.TemporaryDirectory(prefix="llmch-demo-") as scratch:
        private = Path(scratch) / "private"
        private.mkdir()
        policy = Policy(
            workspace=repo,
            git_dir=repo / ".git",
            private=private,
            python=Path(sys.executable),
            toolchains=toolchains_for(repo, repo, options.sandbox),
        )
        sandbox = open_sandbox(options.sandbox.backend, policy)
        ended = sandbox.run(argv, timeout_seconds=_TIMEOUT_SECONDS, log=Path(scratch) / "log")
    console.remark(ended.stdout.text.rstrip("\n"))
    if not ended.ok:
        console.remark(ended.stderr.text.rstrip("\n"))
        console(Warned(f"the program ended with exit code {ended.exit_code}"))
    return ended.ok
