"""Verifies the base of a run before a model is paid: what is red there is not the model's fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.judging.counting.of_command import tests_of
from factory.judging.environment import Surroundings, find_fault
from factory.judging.excerpt import cut, select_lines, stable_text
from factory.judging.failure.account import find_failures
from factory.judging.known_commits import NOTHING_KNOWN, KnownCommit, KnownCommits
from factory.judging.known_red import KnownRed, RedCheck
from factory.judging.surroundings import surroundings_of
from factory.judging.unending import likely_cause
from factory.judging.verification import Check, verification_of
from factory.judging.verification_key import verification_key
from factory.orders.options import RunOptions
from factory.orders.stages import AttemptStage
from factory.orders.verified_by import CountedTests
from factory.repo.preflight import Repo
from factory.run.kept_bases import KeptBases
from factory.sandbox import Cause, Ended
from factory.workbench.pool import WorkbenchPool
from factory.workbench.workbench import Workbench
from shared.errors import PreflightRefused
from shared.events.event import Emit
from shared.events.messages import Noted
from shared.events.order_commands import CommandEnded, CommandStarted
from shared.files.atomic_io import make_folder, write_json, write_refused
from shared.git import trees
from shared.projects.documents import holds_only_documents
from shared.projects.verification import Verification

_WHO: Final = "base"  # stands in events where an order's id would
_SHOWN_LINES: Final = 12
_SHOWN_CHARACTERS: Final = 600
_TOO_SHORT: Final = "If it only needs longer, raise --timeout-seconds."
_ALLOW: Final = "pass --allow-red to begin all the same: then no order may make more fail"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Verify the commit that a run starts from. Records go to `folder`."""

    options: RunOptions
    repo: Repo
    pool: WorkbenchPool
    folder: Path
    known: KnownCommits
    emit: Emit

    def look(self, commit: str) -> Verification:
        """Return what verifies `commit`."""
        with self.pool.lend(commit) as bench:
            bench.used = False  # its tree is only read
            return verification_of(bench.workspace, self.options.settings.verify).found

    def announce(self, commit: str) -> Verification:
        """Report what verifies `commit` and what is not run there; return it."""
        found = self.look(commit)
        for line in (found.describe(), *found.notes):
            self.emit(Noted(line))
        return found

    def verify(self, commit: str, *, exempt: bool) -> None:
        """Run the verification on `commit`, unless an equal tree has passed it here before.

        `exempt` says that the code is only compiled. How many tests ran is recorded in `known`,
        with what fails if the user allows it. Raises `PreflightRefused` if not, with the command,
        its output and a remedy.
        """
        with self.pool.lend(commit) as bench:
            chosen = self.options.settings.verify
            checks = verification_of(bench.workspace, chosen, exempt=exempt).checks()
            if not checks:
                return
            tree = trees.tree_of(self.repo.git, commit)
            key = verification_key(tree, checks, bench, self.options)
            kept = KeptBases.of(self.repo.common_dir)
            tests = kept.tests_of(key)
            if tests is not None:
                self.emit(Noted(f"the base {commit[:10]} has passed its verification before"))
                self.known.assume(KnownCommit(tests=tests))
                return
            known = self._run(checks, bench, commit)
        self.known.assume(known)
        if known is not NOTHING_KNOWN and not known.red.checks:
            kept.add(key, known.tests)

    def _run(self, checks: Sequence[Check], bench: Workbench, commit: str) -> KnownCommit:
        """Return what the checks showed; `NOTHING_KNOWN` if the base has nothing to verify yet.

        Raises `PreflightRefused` for the first check that failed, unless failures are allowed.
        """
        failed: dict[str, RedCheck] = {}
        tests: dict[str, CountedTests] = {}
        results: list[dict[str, object]] = []
        for number, check in enumerate(checks, 1):
            ended = self._try(check, bench, f"verify_{number}")
            counted = tests_of(ended)
            if counted is not None:
                tests[check.text] = counted
            results.append(_document(ended, counted))
            write_json(self.folder / "verify_result.json", results, sync=False)
            if check.passes(ended):
                continue
            if not self.options.allow_red:
                if self._has_nothing_yet(check, ended, bench, commit):
                    return NOTHING_KNOWN
                raise self._refusal(check, ended, bench, commit)
            failed[check.text] = RedCheck.of(ended)
        return KnownCommit(KnownRed(failed), tests)

    def _has_nothing_yet(self, check: Check, ended: Ended, bench: Workbench, commit: str) -> bool:
        """Return, and report, whether a command of the user failed because no code is there yet.

        What an order may leave red is not decided by this: each order has to pass the command.
        """
        if ended.cause is not Cause.EXITED or not holds_only_documents(bench.workspace.files):
            return False
        if find_fault(ended, surroundings_of(bench, self.options, commit)) is not None:
            return False
        self.emit(
            Noted(
                f"`{check.text}` fails on the base {commit[:10]}, which has no code yet: each "
                "order has to make it pass, the first one too"
            )
        )
        return True

    def _try(self, check: Check, bench: Workbench, name: str) -> Ended:
        """Run a check, and run a failing one again as often as the user wants it."""
        ended = self._run_one(check, bench, name)
        for retry in range(1, self.options.retry_flaky + 1):
            if check.passes(ended):
                break
            ended = self._run_one(check, bench, f"{name}_again_{retry}")
        return ended

    def _run_one(self, check: Check, bench: Workbench, name: str) -> Ended:
        self.emit(CommandStarted(_WHO, AttemptStage.VERIFY, check.text))
        log = make_folder(self.folder / "logs") / name
        seconds = self.options.settings.timeout_seconds
        try:
            ended = bench.sandbox.run(check.argv, timeout_seconds=seconds, log=log)
        except OSError as error:
            raise write_refused(log, error) from error
        note = check.note_for(ended.exit_code) or ""
        if self.options.allow_red and not check.passes(ended):
            note = f"red before any order: {RedCheck.of(ended).describe()}"
        spent = ended.duration_seconds
        self.emit(CommandEnded(_WHO, AttemptStage.VERIFY, check.text, ended.exit_code, spent, note))
        return ended

    def _refusal(
        self, check: Check, ended: Ended, bench: Workbench, commit: str
    ) -> PreflightRefused:
        output = f"{ended.stdout.text}\n{ended.stderr.text}"
        lines = _telling_lines(stable_text(output, bench.path_names().items()))
        how = f"ended with exit code {ended.exit_code}"
        if ended.cause is not Cause.EXITED:
            why = f" ({ended.reason})" if ended.reason else ""
            how = f"failed: {str(ended.cause).replace('_', ' ')}{why}"
        said = "".join(f"\n  | {line}" for line in lines)
        around = surroundings_of(bench, self.options, commit)
        return PreflightRefused(
            f"verification is red on the base {commit[:10]}, before any order: "
            f"`{check.text}` {how}{said}",
            _remedy(ended, around),
        )


def _telling_lines(text: str) -> list[str]:
    """Return the lines that tell what failed, or the last ones where none is known to."""
    marked = [each.lines for each in find_failures(text.split("\n"))]
    if marked:
        return select_lines(text, marked, _SHOWN_CHARACTERS).splitlines()
    return cut(text).splitlines()[-_SHOWN_LINES:]


def _remedy(ended: Ended, around: Surroundings) -> str:
    """Return what a user can do about a base that is red, the likely remedy first."""
    if ended.cause is Cause.TIMED_OUT:
        cause = likely_cause(f"{ended.stdout.text}\n{ended.stderr.text}")
        return f"{cause or _TOO_SHORT}\nOr {_ALLOW}."
    fault = find_fault(ended, around)
    if fault is not None:
        return f"{fault.what} To fix it, {fault.remedy}.\nOr {_ALLOW}."
    ways = ["commit a fix to the base"]
    ways += [f"pass --python {each} if it passes there" for each in around.environments]
    return f"{', or '.join(ways)}.\nOr {_ALLOW}."


def _document(ended: Ended, tests: CountedTests | None) -> dict[str, object]:
    return {
        "command": list(ended.argv),
        "exit_code": ended.exit_code,
        "cause": str(ended.cause),
        "duration_seconds": round(ended.duration_seconds, 3),
        "stdout_path": f"logs/{ended.stdout.log.name}",
        "stderr_path": f"logs/{ended.stderr.log.name}",
        "tests": tests.model_dump(mode="json") if tests else None,
    }
