"""Tries what can be tried of a valid plan before its code exists.

For each order: is the program of each command there, does the runner take the command's words, can
the plan's tests be collected. Languages say how (`CommandReader.rehearsal`), and whoever wires the
planner gives what runs it, in the sandbox, on the files that the plan begins with. Nothing is
concluded from what takes too long or cannot be started at all.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from planner.compile.patches import is_outlined
from planner.repo.machine import FOLDERS
from planner.repo.repo_outlines import counted
from planner.rules.acceptance import with_whole_tests
from planner.rules.rule_model import Finding
from shared.errors import quoted
from shared.events.events import Emit, Noted, Warned
from shared.files.strict_documents import at
from shared.languages.acceptance_commands import analyse_command
from shared.languages.language_tools import ToolResult
from shared.languages.planned_code import CannotRun, PlannedFiles, Rehearsal
from shared.languages.registry import language_named
from shared.projects.build_tools import BRINGING, may_come

if TYPE_CHECKING:
    from planner.plan.file_projection import TargetRepo
    from planner.plan.parse_plan import Draft, Plan
    from planner.repo.machine import Machine
    from shared.work_order.work_order import WorkOrder

_LEAST_IN_ALL: Final = 20.0
_SECONDS_AN_ORDER: Final = 2.0
_MOST_WORDS: Final = 300


@dataclass(slots=True)
class DryRun:
    """Try plans for a repo on the machine where their commands will run."""

    machine: Machine
    target: TargetRepo
    emit: Emit
    _ends: float = field(default=0.0, init=False)

    def findings(self, plan: Plan, own: Collection[int] | None) -> Iterator[Finding]:
        """Yield what cannot run here of the orders at the positions `own`, or of all."""
        whole = with_whole_tests(plan, self.target)
        drafts = [each for each in whole.drafts if each.order is not None and not each.landed]
        meant = [each for each in drafts if own is None or each.position in own]
        meant = [each for each in meant if not is_outlined(each.raw)]
        began = time.monotonic()
        self._ends = began + max(_LEAST_IN_ALL, _SECONDS_AN_ORDER * len(meant))
        asked, left = self.machine.asked, self.machine.left
        missing = self._missing(meant)
        code = _Code([each.order for each in drafts if each.order is not None], self.target)
        trials = [*self._trials(drafts, meant, missing, code)]
        fine = self._fine_together(trials)
        for each in trials:
            if each not in fine and (refusal := self._refusal(each)) is not None:
                message = f"`{each.command}` cannot run here: {refusal.words}"
                field = at("acceptance_commands", each.index)
                yield Finding(refusal.code, each.draft.position, each.draft.label, field, message)
        if tried := self.machine.asked - asked:
            said = f"dry run: {counted(tried, 'run')}, {time.monotonic() - began:.1f} s"
            self.emit(Noted(said, detail=True))
        if left := self.machine.left - left:
            were = f"{counted(left, 'run')} of it {'was' if left == 1 else 'were'} left out"
            self.emit(Warned(f"the dry run of the plan took too long: {were}"))
        if self.machine.problem:
            self.emit(Noted(f"dry run: {self.machine.problem}", detail=True))

    def _missing(self, meant: Sequence[Draft]) -> frozenset[str]:
        """Return the programs of commands that are not here and that nothing will bring."""
        commands = (analyse_command(text) for each in meant for _, text in each.commands())
        named = {each.argv[0] for each in commands if each.argv and not each.problem}
        programs = sorted(each for each in named if "/" not in each)
        if not programs:
            return frozenset()
        missing = self.machine.missing(programs, self._ends)
        repo = self.target
        texts = [repo.sources.get(path) or "" for path in BRINGING if path in repo.files]
        allowed = [path for each in meant if each.order for path in each.order.allowed_files]
        return frozenset(each for each in missing if not may_come(each, repo.files, allowed, texts))

    def _scene(self, drafts: Sequence[Draft], position: int) -> PlannedFiles:
        orders = [each.order for each in drafts if each.order is not None]
        before = [each.order for each in drafts if each.order and each.position <= position]
        tests = {each.path: each.content for order in before for each in order.acceptance_files}
        # What a test is added to is not known where an earlier order may write it.
        unknown = [each for each, text in tests.items() if not text]
        return PlannedFiles(
            tests={path: text for path, text in tests.items() if text},
            written=frozenset((*unknown, *(p for each in orders for p in each.allowed_files))),
            repo=self.target.sources,
            listing=self.target.files,
            dependencies=self.target.allowed.dependencies,
            installs=self.target.allowed.installs,
        )

    def _trials(
        self, drafts: Sequence[Draft], meant: Sequence[Draft], missing: Collection[str], code: _Code
    ) -> Iterator[_Trial]:
        """Yield the commands that are refused at once, and those that can be tried."""
        for draft in meant:
            planned = self._scene(drafts, draft.position)
            for index, text in draft.commands():
                command = analyse_command(text)
                if command.problem or command.operator or not command.argv:
                    continue
                language = language_named(command.language)
                rehearsals = language.rehearsals if language is not None else None
                tried = rehearsals.rehearsal(command, planned) if rehearsals is not None else None
                if command.argv[0] in missing:
                    yield _Trial(draft, index, text, missing=command.argv[0])
                elif tried is not None:
                    made = code.of(command.language) if tried.with_code else {}
                    yield _Trial(draft, index, text, tried, {**made, **tried.files})

    def _fine_together(self, trials: Sequence[_Trial]) -> frozenset[_Trial]:
        """Return the trials that succeed in one run for several commands."""
        alike: dict[tuple[str, ...], list[_Trial]] = {}
        for each in trials:
            if each.tried is not None and each.tried.named:
                words = each.tried.argv[: -len(each.tried.named)]
                alike.setdefault(words, []).append(each)
        found = (self._fine(words, group) for words, group in alike.items())
        return frozenset(each for group in found for each in group)

    def _fine(self, words: Sequence[str], group: Sequence[_Trial]) -> Sequence[_Trial]:
        files: dict[str, str] = {}
        for each in group:
            files.update(each.files)
        named = [*dict.fromkeys(n for each in group if each.tried for n in each.tried.named)]
        if len(named) == 1 or any(each.files.items() - files.items() for each in group):
            return ()  # an order replaces a test of an earlier one

        def answer(done: ToolResult) -> str:
            printed = all(each.rpartition("/")[2] in done.stdout for each in named)
            return "fine" if done.exit_code == 0 and printed else ""

        said = self.machine.ask((*words, *named), files, answer, self._ends)
        return group if said == "fine" else ()

    def _refusal(self, trial: _Trial) -> CannotRun | None:
        tried = trial.tried
        if tried is None:
            return CannotRun("E401", f"{quoted(trial.missing)} is not installed here")

        def answer(done: ToolResult) -> str:
            found = tried.refusal(done)
            return f"{found.code} {_short(found.words)}" if found is not None else ""

        said = self.machine.ask(tried.argv, trial.files, answer, self._ends)
        kind, _, words = said.partition(" ")
        return CannotRun("E403" if kind == "E403" else "E402", words) if kind else None


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """Hold a command of an order with how it is tried, or with its program that is `missing`."""

    draft: Draft
    index: int
    command: str
    tried: Rehearsal | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""


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
    return " ".join(FOLDERS.sub("", words).split())[:_MOST_WORDS]
