"""Makes the examples' transcripts from their readable sources: `python -m tests.authoring`.

The replies are authored, and the header of each transcript says so. Where it says that the
factory's replies are a model's own, those are kept as they were recorded, and only the planner's
part is made anew. Everything else happens as in a real run, so a transcript also proves that the
example works.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path

from factory.orders.documents import ReplyFormat
from factory.orders.task import RunOptions
from factory.run.run_order import run_order
from factory.run_flags import model_choice
from llmch.verbs.demo import (
    DemoOptions,
    DemoResult,
    Example,
    build_demo,
    is_there,
    list_examples,
    recorded_models,
)
from planner.compile.inputs import PlanOptions
from planner.plan.plan_edits import Change
from planner.plan_flags import planning_model
from planner.run_plan import run_plan
from shared.errors import LlmchError
from shared.events.events import Emit, ignore
from shared.llm.model_client import Completion, LlmClient, Request, Role, Usage
from shared.llm.replayed_replies import ReplayClient
from shared.llm.stack import Mode, ModelSource
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import OriginKind, ReplyOrigin
from shared.settings.settings import Settings
from shared.work_order.parse_order import EMPTY_SHA256
from tests.harness import commit_all, git

AUTHORED = ReplyOrigin(OriginKind.AUTHORED, model="authored")
_SHOWN = re.compile(r"^## (\S+).*\nbase_sha256: (\w+)", re.MULTILINE)
_STALE = "0" * 64


class AuthoredPlanner:
    """Answers the planner with an example's written plan, and hands all else to `factory`."""

    def __init__(self, folder: Path, factory: LlmClient) -> None:
        self._replies = folder / "replies"
        self._factory = factory

    def complete(self, request: Request) -> Completion:
        if request.place.role is not Role.PLANNER:
            return self._factory.complete(request)
        text = (self._replies / f"plan-{request.place.attempt}.json").read_text("utf-8")
        return _completion(text, request)


class AuthoredFactory:
    """Answers with an example's written files, base hashes read off the prompt."""

    def __init__(self, folder: Path) -> None:
        self._replies = folder / "replies"

    def complete(self, request: Request) -> Completion:
        place = request.place
        folder = self._replies / f"{place.order}-{place.attempt}"
        return _completion(_proposal(folder, request.prompt), request)


def build_example(
    example: Example,
    folder: Path,
    factory: LlmClient,
    origin: ReplyOrigin,
    transcript: Path,
    emit: Emit = ignore,
) -> DemoResult:
    """Build the example in `folder` from its authored plan and what `factory` replies.

    The replies are recorded in a new `transcript`, whose header says `origin`.
    """
    model = AuthoredPlanner(example.folder, factory)
    source = ModelSource(Mode.LIVE, lambda _: model, transcript, origin=origin, dated=False)
    planner, choice = recorded_models(origin)
    options = DemoOptions(
        example=example,
        folder=folder / example.name,
        artifacts=folder / "artifacts",
        planner=planner,
        factory=choice,
    )
    return build_demo(options, source, emit)


def make_transcript(example: Example, target: Path) -> None:
    """Run the example with the replies that it has and record them at `target`."""
    origin, factory = factory_of(example)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "transcript.jsonl"
        result = build_example(example, Path(scratch), factory, origin, made)
        if result.summary is None or result.summary.verdict != "PASS":
            raise SystemExit(f"{example.name}: its replies do not build it")
        target.write_bytes(made.read_bytes())


def factory_of(example: Example) -> tuple[ReplyOrigin, LlmClient]:
    """Return where the example's factory replies come from, and what gives them."""
    if example.transcript.exists():
        with Transcript.read(example.transcript) as recorded:
            if recorded.origin.kind is OriginKind.LIVE:
                return recorded.origin, ReplayClient(recorded)
    return AUTHORED, AuthoredFactory(example.folder)


CHANGE = Path(__file__).parents[1] / "examples" / "change"


def read_change() -> Change:
    """Return what the example of `llmch do` asks for."""
    asked = tomllib.loads((CHANGE / "change.toml").read_text("utf-8"))
    return Change(asked["change"], tuple(asked["files"]))


def make_repo_to_change(folder: Path) -> Path:
    """Copy the files of that example into a new repo, and commit them."""
    shutil.copytree(CHANGE / "repo", folder)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder)
    return folder


def make_change_transcript(target: Path) -> None:
    """Make the example's change with its written replies, and record them at `target`."""
    model = AuthoredPlanner(CHANGE, AuthoredFactory(CHANGE))
    settings, change = Settings(), read_change()
    with tempfile.TemporaryDirectory() as scratch:
        repo, made = make_repo_to_change(Path(scratch) / "repo"), Path(scratch) / "made.jsonl"
        spec = Path(scratch) / "asked.md"
        spec.write_text(change.render())
        settings = replace(settings, artifacts_dir=Path(scratch) / "artifacts")
        source = ModelSource(Mode.LIVE, lambda _: model, made, origin=AUTHORED, dated=False)
        planner = planning_model(settings.planner)
        asked = PlanOptions(spec, settings.artifacts_dir, planner, 1, repo, change=change)
        plan = run_plan(asked, source, ignore)
        assert plan.output_dir is not None, plan.report.render()
        choice = model_choice(settings, ReplyFormat.JSON)
        options = RunOptions(repo, settings, choice, Path(sys.executable))
        if run_order(plan.output_dir / "WO-01.json", options, source, ignore).verdict != "PASS":
            raise SystemExit("change: its replies do not make it")
        target.write_bytes(made.read_bytes())


def _proposal(folder: Path, prompt: str) -> str:
    reply = tomllib.loads((folder / "reply.toml").read_text("utf-8"))
    shown = dict(_SHOWN.findall(prompt))
    stale = set(reply.get("stale", ()))
    root = folder / "files"
    writes = []
    for file in sorted(path for path in root.rglob("*") if path.is_file()):
        path = file.relative_to(root).as_posix()
        base = _STALE if path in stale else shown.get(path, EMPTY_SHA256)
        content = file.read_bytes().decode("utf-8")
        writes.append({"path": path, "base_sha256": base, "content": content})
    return json.dumps({"summary": reply["summary"], "writes": writes}, ensure_ascii=False)


def _completion(text: str, request: Request) -> Completion:
    return Completion(text=text, model=request.model, usage=Usage())


def main() -> int:
    """Make all transcripts anew, in place; none where an example cannot be built here."""
    for example in list_examples():
        if example.need is not None and not is_there(example):
            raise SystemExit(f"{example.name} needs {example.need.what}")
    for example in list_examples():
        try:
            make_transcript(example, example.transcript)
        except LlmchError as error:
            raise SystemExit(f"{example.name}: {error.message}; `make record`?") from None
        sys.stdout.write(f"{example.transcript}\n")
    make_change_transcript(CHANGE / "transcript.jsonl")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
