"""Tries what can be tried of a valid plan before its code exists.

For each order: is the program of each command there, does the runner take the command's words, can
the plan's tests be collected. Languages say how (`CommandReader.rehearsal`), and whoever wires the
planner gives what runs it, in the sandbox, on the files that the plan begins with. Nothing is
concluded from what takes too long or cannot be started at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.compile.patches import is_outlined
from planner.rules.rule_model import Finding
from shared.errors import InvalidInput, quoted
from shared.events.events import Emit, Noted, Warned
from shared.files.atomic_io import write_json
from shared.files.strict_documents import JsonProblem, at, parse_json
from shared.files.text_sources import read_text_input
from shared.languages.acceptance_commands import analyse_command
from shared.languages.language_tools import ToolMissing, ToolResult, ToolRunner
from shared.languages.planned_code import CannotRun, PlannedFiles
from shared.languages.read_commands import Command
from shared.languages.registry import language_named
from shared.projects.build_tools import BRINGING, may_come

if TYPE_CHECKING:
    from planner.plan.file_projection import TargetRepo
    from planner.plan.parse_plan import Draft, Plan
    from shared.work_order.work_order import WorkOrder

_MOST_SECONDS: Final = 10.0  # for one command: an empty test takes one or two
_LEAST_IN_ALL: Final = 20.0
_SECONDS_AN_ORDER: Final = 2.0
_MOST_WORDS: Final = 300
# The tree is at another place in each run, and only what is said of its files counts.
_FOLDERS: Final = re.compile(r"(?:file://)?(?<![\w.])/(?:[\w.+@~-]{1,255}/){1,40}(?=[\w.+@~-])")
_LOOK: Final = 'for each; do command -v -- "$each" >/dev/null || echo "$each"; done'


@dataclass(slots=True)
class DryRun:
    """Try plans by `runner`; without one, answer only what `known` has of an earlier planning.

    `known` has the answers by what was run, so that nothing is tried twice.
    """

    runner: ToolRunner | None
    target: TargetRepo
    emit: Emit
    known: dict[str, str] = field(default_factory=dict)
    _ends: float = field(default=0.0, init=False)
    _tried: int = field(default=0, init=False)
    _left: int = field(default=0, init=False)

    def findings(self, plan: Plan, own: Collection[int] | None) -> Iterator[Finding]:
        """Yield what cannot run here of the orders at the positions `own`, or of all."""
        drafts = [each for each in plan.drafts if each.order is not None and not each.landed]
        meant = [each for each in drafts if own is None or each.position in own]
        meant = [each for each in meant if not is_outlined(each.raw)]
        began = time.monotonic()
        self._ends = began + max(_LEAST_IN_ALL, _SECONDS_AN_ORDER * len(meant))
        self._tried = self._left = 0
        missing = self._missing(meant)
        code = _Code([each.order for each in drafts if each.order is not None], self.target)
        for draft in meant:
            planned = self._scene(drafts, draft.position)
            for index, text in draft.commands():
                refusal = self._refusal(analyse_command(text), planned, missing, code)
                if refusal is not None:
                    message = f"`{text}` cannot run here: {refusal.words}"
                    field = at("acceptance_commands", index)
                    yield Finding(refusal.code, draft.position, draft.label, field, message)
        self._say(time.monotonic() - began)

    def _say(self, seconds: float) -> None:
        if self._tried:
            said = f"dry run: {self._tried} runs, {seconds:.1f} s"
            self.emit(Noted(said, detail=True))
        if self._left:
            self.emit(Warned(f"the dry run of the plan took too long: {self._left} commands left"))

    def _missing(self, meant: Sequence[Draft]) -> frozenset[str]:
        """Return the programs of commands that are not here and that nothing will bring."""
        commands = (analyse_command(text) for each in meant for _, text in each.commands())
        named = {each.argv[0] for each in commands if each.argv and not each.problem}
        programs = sorted(each for each in named if "/" not in each)
        if not programs:
            return frozenset()
        said = self._ask(("sh", "-c", _LOOK, "sh", *programs), {}, lambda done: done.stdout)
        repo = self.target
        texts = [repo.sources.get(path) or "" for path in BRINGING if path in repo.files]
        allowed = [path for each in meant if each.order for path in each.order.allowed_files]
        return frozenset(
            each for each in said.split() if not may_come(each, repo.files, allowed, texts)
        )

    def _scene(self, drafts: Sequence[Draft], position: int) -> PlannedFiles:
        orders = [each.order for each in drafts if each.order is not None]
        before = [each.order for each in drafts if each.order and each.position <= position]
        tests = {each.path: each.content for order in before for each in order.acceptance_files}
        return PlannedFiles(
            tests={path: text for path, text in tests.items() if text},
            written=frozenset(path for each in orders for path in each.allowed_files),
            repo=self.target.sources,
            listing=self.target.files,
            dependencies=self.target.allowed.dependencies,
        )

    def _refusal(
        self, command: Command, planned: PlannedFiles, missing: Collection[str], code: _Code
    ) -> CannotRun | None:
        if command.problem or command.operator or not command.argv:
            return None
        if command.argv[0] in missing:
            return CannotRun("E401", f"{quoted(command.argv[0])} is not installed here")
        language = language_named(command.language)
        rehearsals = language.rehearsals if language is not None else None
        tried = rehearsals.rehearsal(command, planned) if rehearsals is not None else None
        if tried is None:
            return None
        files = {**(code.of(command.language) if tried.with_code else {}), **tried.files}

        def answer(done: ToolResult) -> str:
            found = tried.refusal(done)
            return f"{found.code} {_short(found.words)}" if found is not None else ""

        kind, _, words = self._ask(tried.argv, files, answer).partition(" ")
        return CannotRun("E403" if kind == "E403" else "E402", words) if kind else None

    def _ask(
        self, argv: Sequence[str], files: Mapping[str, str], answer: Callable[[ToolResult], str]
    ) -> str:
        """Return the answer to a run, "" where nothing could be tried."""
        content = json.dumps([argv, files], sort_keys=True)
        key = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        if key in self.known or self.runner is None:
            return self.known.get(key, "")
        seconds = min(_MOST_SECONDS, self._ends - time.monotonic())
        if seconds <= 0:
            self._left += 1
            return ""
        try:
            done = self.runner.run(files, argv, seconds=seconds)
        except ToolMissing as error:
            self.emit(Noted(f"dry run: {error}", detail=True))
            return ""
        self._tried += 1
        self.known[key] = answer(done)
        return self.known[key]


class _Code:
    """Make code that keeps the interfaces of a plan and does nothing, language by language."""

    def __init__(self, orders: Sequence[WorkOrder], target: TargetRepo) -> None:
        self._orders = orders
        self._target = target
        self._made: dict[str, Mapping[str, str]] = {}

    def of(self, language: str) -> Mapping[str, str]:
        if language not in self._made:
            self._made[language] = self._make(language)
        return self._made[language]

    def _make(self, name: str) -> Mapping[str, str]:
        language = language_named(name)
        conformance = language.conformance if language is not None else None
        if conformance is None:
            return {}
        interfaces = conformance.contracts_in_force(self._orders)
        return conformance.build_skeleton(interfaces, self._target.sources)


def _short(words: str) -> str:
    return " ".join(_FOLDERS.sub("", words).split())[:_MOST_WORDS]


@contextlib.contextmanager
def recorded(dry_run: DryRun | None, transcript: Path) -> Iterator[None]:
    """End the runner with the block, and record its answers beside the transcript."""
    try:
        yield
    finally:
        if dry_run is not None and dry_run.runner is not None:
            dry_run.runner.close()
        if dry_run is not None and dry_run.known:
            write_json(_record_of(transcript), dict(sorted(dry_run.known.items())))


def _record_of(transcript: Path) -> Path:
    return transcript.with_name(f"{transcript.stem}.dry_run.json")


def known_answers(transcript: Path) -> dict[str, str]:
    """Return what was recorded beside a transcript; nothing where it is not usable."""
    path = _record_of(transcript)
    if not path.is_file():
        return {}
    try:
        document = parse_json(read_text_input(path, "dry run").text)
    except (InvalidInput, JsonProblem):
        return {}
    found = document if isinstance(document, dict) else {}
    return {key: each for key, each in found.items() if isinstance(each, str)}
