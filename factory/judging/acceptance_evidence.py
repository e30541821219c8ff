"""Finds acceptance commands that prove nothing: before any work is done, and after it.

A command should fail on the baseline, and also on code that keeps the order's interfaces and does
nothing. Both runs have the plan's acceptance files in place and the removed files gone, and use the
order's own workspace before a proposal is written there. They run during the model's call, so that
they cost no time, and leave the workspace at the baseline. Prompts and commits contain nothing of
them.

Where an order only removes files, nothing is left to do once they are gone. Its commands are tried
while the files are there.

Commands find a program on the PATH of the sandbox, where an order cannot write. Only the
verification may install one there, if the sandbox lets it: a program of the project. So a program
that the project seems to bring is not judged. In doubt the project is assumed to bring it, because
a reply costs less than an order that ends too early.

A change may come with a configuration of the test runner. The commands that passed are then run
on tests that are no code in any language: a runner that passes again has not run them. The change
answers for it only if the runner fails there with what configures tests as it was before. They are
also run on the right tests so: a runner that then runs more of them was told to leave some out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from factory.judging.proof import W234, W252, is_test, why_nothing_is_proven
from factory.judging.run_checks import Trial, try_acceptance, try_command
from factory.orders import documents
from factory.orders.documents import AttemptRecord, CmdResult, CommandFlag, CountedTests
from factory.orders.task import OrderTask, RunOptions
from factory.preflight import name_paths
from factory.proposal.reply_formats import ImpossibleClaim
from factory.record.progress import AnnouncedProgress
from factory.workbench.pool import Workbench
from factory.workbench.tree import NotReadable, Tree
from shared.events.events import CommandTried, Emit
from shared.files.atomic_io import make_folder, write_json, write_refused
from shared.git import trees
from shared.languages.acceptance_commands import analyse_command, runs_tests
from shared.languages.registry import LANGUAGES, language_of, steering
from shared.processes.shell_words import split_words
from shared.projects.manifests import beside_dependencies
from shared.work_order.work_order import WorkOrder

T = TypeVar("T")

# The limit for one command. Nothing is concluded from a command that takes longer.
_LIMIT_SECONDS: Final = 60.0
_LOOK_EVERY_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """Hold the commands that passed on the baseline, and those that passed on the empty code."""

    on_baseline: tuple[str, ...] = ()
    on_skeleton: tuple[str, ...] = ()

    def flags(self) -> tuple[CommandFlag, ...]:
        """Return a flag for each of these commands, those on the baseline first."""
        green = (
            CommandFlag(code=W252.code, command=each, message=W252.title)
            for each in self.on_baseline
        )
        hollow = (
            CommandFlag(code=W234.code, command=each, message=W234.title)
            for each in self.on_skeleton
        )
        return (*green, *hollow)


def named_by(
    claim: ImpossibleClaim, order: WorkOrder, verification: Sequence[str]
) -> tuple[str, ...]:
    """Return the commands of the order that a claim names, itself or by a test that they run.

    Where the claim has no field for them, these are the commands that its reason quotes.
    """
    commands = dict.fromkeys((*order.acceptance_commands, *verification))
    tests = [each.path for each in order.acceptance_files if each.path in (claim.command or "")]
    if claim.command is None:
        return tuple(each for each in commands if each in claim.reason)
    if claim.command in commands:
        return (claim.command,)
    return tuple(each for each in commands if any(path in each for path in tests))


def why_not_so(
    claim: ImpossibleClaim,
    named: Sequence[str],
    order: WorkOrder,
    evidence: Evidence | None,
    earlier: Sequence[AttemptRecord],
) -> str:
    """Return what shows that an order is not impossible as claimed; "" if nothing does.

    A command that passed on code that does nothing, or in an attempt, contradicts nothing by
    itself. `named` are the commands that the claim names.
    """
    if claim.command and not named:
        return f"the order has no command or test `{claim.command}`"
    found = evidence or Evidence()
    passed = dict.fromkeys(found.on_skeleton, "on code that keeps the interfaces and does nothing")
    passed |= dict.fromkeys(found.on_baseline, "before anything is written")
    for record in earlier:
        for command, result in zip(order.acceptance_commands, record.acceptance, strict=False):
            if result.exit_code == 0:
                passed[command] = f"in attempt {record.attempt_index}"
    if not named or not all(each in passed for each in named):
        return ""
    return "; ".join(f"`{each}` passes {passed[each]}" for each in named)


class EvidenceCollector:
    """Make the two runs of one order; `stop` ends them from another thread.

    `tests` are the texts of the plan's acceptance files, which both runs have in place.
    """

    def __init__(
        self,
        task: OrderTask,
        options: RunOptions,
        bench: Workbench,
        tests: Mapping[str, str],
        emit: Emit,
        cancelled: Callable[[], bool],
    ) -> None:
        seconds = min(options.settings.timeout_seconds, _LIMIT_SECONDS)
        settings = replace(options.settings, timeout_seconds=seconds)
        self._options = replace(options, settings=settings)
        self._task = task
        self._bench = bench
        self._tests = tests
        self._emit = emit
        self._cancelled = cancelled
        self._stopped = threading.Event()
        self._on_baseline: tuple[str, ...] | None = None
        self._on_skeleton: tuple[str, ...] | None = None

    @property
    def patience_seconds(self) -> float:
        return self._options.patience_seconds

    def baseline(self) -> tuple[str, ...]:
        """Return the commands that pass on the baseline although they are not regression tests.

        The commands are tried once, however often this is called.
        """
        if self._on_baseline is None:
            self._on_baseline = self._passing("baseline", {})
        return self._on_baseline

    def skeleton(self) -> tuple[str, ...]:
        """Return the commands that pass on code that keeps the interfaces and does nothing.

        The commands are tried once, however often this is called.
        """
        if self._on_skeleton is None:
            self._on_skeleton = self._try_skeleton()
        return self._on_skeleton

    def _try_skeleton(self) -> tuple[str, ...]:
        order = self._task.order
        # The path of an interface may be anything; the paths that the order may write are checked.
        interfaces = [each for each in order.interfaces if each.path in order.allowed_files]
        if any(each.path in self._tests for each in interfaces):
            return ()  # the file of a test beside its code is not empty
        if not interfaces or self._is_over():
            return ()
        sources = _sources(self._bench.workspace.tree, [each.path for each in interfaces])
        files: dict[str, str] = {}
        for language in LANGUAGES:
            own = [each for each in interfaces if language_of(each.path) is language]
            if own and language.conformance is not None:
                files.update(language.conformance.build_skeleton(own, sources))
        return self._passing("hollow", files)

    def stop(self) -> None:
        """Kill the running command, and start no other."""
        self._stopped.set()
        self._bench.sandbox.end_commands()

    def _is_over(self) -> bool:
        return self._stopped.is_set() or self._cancelled()

    def _passing(self, name: str, files: Mapping[str, str]) -> tuple[str, ...]:
        """Return the commands that pass with `files` in the tree, then restore the baseline."""
        order, folder = self._task.order, make_folder(self._task.folder / name)
        progress = AnnouncedProgress(self._task.name, self._emit)
        trial = Trial(self._task, self._options, self._bench, self._emit, progress, folder)
        try:
            removed = order.removed_files if order.asks_model else ()
            if not order.asks_model:
                self._bench.restore()
            if not _write(trial.tree, {**files, **self._tests}, removed):
                return ()
            results = dict(self._try(trial, name))
        finally:
            self._bench.restore()
        documents = [result.model_dump(mode="json") for result in results.values()]
        write_json(folder / "acceptance_result.json", documents, sync=False)
        return tuple(_unexpected(order.regression, results))

    def _try(self, trial: Trial, name: str) -> Iterator[tuple[str, CmdResult]]:
        if self._is_over():
            return
        for command, result in try_acceptance(trial):
            seconds = result.duration_seconds
            self._emit(CommandTried(self._task.name, name, command, result.exit_code, seconds))
            yield command, result
            if self._is_over():
                return


def beside(ask: Callable[[], T], collector: EvidenceCollector) -> tuple[T, Evidence]:
    """Return what `ask` returns, and the evidence gathered meanwhile and for a short time after.

    The gathering has ended when this returns or raises. An error of `ask` goes first.
    """
    found: list[Evidence] = []
    failed: list[BaseException] = []

    def gather() -> None:
        try:
            found.append(Evidence(collector.baseline(), collector.skeleton()))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=gather, name="evidence", daemon=True)
    thread.start()
    patience = 0.0
    try:
        answer = ask()
        patience = collector.patience_seconds
    finally:
        _end(thread, collector, patience)
    if failed:
        raise failed[0]
    return answer, found[0]


def _end(thread: threading.Thread, collector: EvidenceCollector, patience: float) -> None:
    ends = time.monotonic() + patience
    try:
        while thread.is_alive() and time.monotonic() < ends:
            thread.join(_LOOK_EVERY_SECONDS)
    finally:
        while thread.is_alive():  # repeated, because a command may have been about to start
            collector.stop()
            thread.join(_LOOK_EVERY_SECONDS)


def _unexpected(regression: Sequence[str], results: Mapping[str, CmdResult]) -> Iterator[str]:
    for command, result in results.items():
        passed = result.exit_code == 0 and not why_nothing_is_proven(command, result.tests)
        if passed and command not in regression:
            yield command


_NO_CODE: Final = "<<<<<<< llmch: a test runner that reads this file has to fail >>>>>>>\n"
_RUNS_NONE: Final = (
    "The command succeeds whatever the plan's tests hold, so it does not run them and proves "
    "nothing: the configuration that comes with this change must let the test runner run them."
)
_SKIPPED: Final = (
    "The command reports {tests}, and {files} {skip} none: the code that they test, or what comes "
    "with it, does. Each of the plan's tests has to run."
)
_LEAVES_OUT: Final = (
    "The command ran {now}, and {then} with {files} as before: the configuration that comes with "
    "this change must leave out none."
)
_MAY_LEAVE_OUT: Final = " An order that is to leave tests out lists in its `changes` what goes."


def command_without_tests(
    trial: Trial, tests: Mapping[str, CountedTests]
) -> tuple[str, str] | None:
    """Return a test command that a change keeps from running the plan's tests, and an account.

    The commands have passed, `tests` has what they reported, and the tree is the one that they
    judged; it is so again afterwards. Nothing is run where the change configures no test runner.
    """
    plans = [each.path for each in trial.order.acceptance_files if is_test(each.path)]
    commands = tuple(dict.fromkeys(trial.order.acceptance_commands))
    if skipping := next(_skipped_by_code(trial, tests, plans), None):
        return skipping
    runners = [each for each in commands if runs_tests(each)]
    if not plans or not runners or not trial.configuring:
        return None
    hollow = dict.fromkeys(plans, _NO_CODE)
    passing = _passing_on(trial, commands, plans, hollow, "without_tests")
    if not passing.isdisjoint(runners):
        # What passes so with the old configuration too is not kept from a test by the new one.
        before = {**_as_configured_before(trial), **hollow}
        passing -= _passing_on(trial, commands, plans, before, "without_tests_before")
    if unread := [each for each in runners if each in passing]:
        return unread[0], _RUNS_NONE
    naming = {each: tests[each] for each in runners if each in tests and _names(each, plans)}
    return next(_left_out(trial, naming), None)


def _skipped_by_code(
    trial: Trial, tests: Mapping[str, CountedTests], plans: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the commands whose tests are the plan's, where others than these skipped some.

    What the base has of the files that steer tests may do so, and is no matter of the change.
    """
    for text in trial.order.acceptance_commands:
        counted = tests.get(text)
        if counted is None or not counted.skipped:
            continue
        command, sources = analyse_command(text), _sources(trial.tree, plans)
        loaded = _on_base(trial, filter(steering, trial.files))
        own = [each.path for each in trial.order.acceptance_files if steering(each.path)]
        loaded |= _sources(trial.tree, own)
        for language in LANGUAGES:
            if language.skips_none is not None and language.skips_none(command, sources, loaded):
                skip = "skips" if len(plans) == 1 else "skip"
                said = {"tests": counted.describe(), "files": name_paths(plans), "skip": skip}
                yield text, _SKIPPED.format(**said)


def _passing_on(
    trial: Trial,
    commands: Sequence[str],
    tests: Sequence[str],
    files: Mapping[str, str | None],
    name: str,
) -> set[str]:
    """Return the commands that pass over the tests, which hold no code in `files`.

    One that then runs no test at all does not: those that it ran were in them.
    """
    results = _tried(trial, commands, files, name)
    failed = {
        command
        for command, result in results.items()
        if result.exit_code or (result.tests is not None and not result.tests.ran)
    }
    return set(_with_unread_tests(commands, tests, failed)) if results else set()


def _with_unread_tests(
    commands: Sequence[str], tests: Sequence[str], failed: Set[str]
) -> Iterator[str]:
    """Yield the commands that passed although they name one of the tests, which hold no code.

    Where a test is named by no command that failed, one of the commands that name none has to run
    it. If all of those passed, they follow.
    """
    naming = [each for each in commands if _names(each, tests)]
    yield from (each for each in naming if each not in failed)
    others = [each for each in commands if each not in naming]
    read = [test for test in tests if any(test in each for each in naming if each in failed)]
    if len(read) < len(tests) and failed.isdisjoint(others):
        yield from others


def _names(command: str, paths: Iterable[str]) -> bool:
    return any(each in command for each in paths)


def chooses_tests(trial: Trial) -> bool:
    """Return whether the change may say which tests run, by more than what a project depends on."""
    before, now = _on_base(trial, trial.configuring), _sources(trial.tree, trial.configuring)
    return any(
        beside_dependencies(path, before.get(path)) != beside_dependencies(path, now.get(path))
        for path in trial.configuring
    )


def left_out_by_configuration(
    trial: Trial, ran: Mapping[str, CountedTests]
) -> tuple[str, str] | None:
    """Return a command of the verification whose tests a change leaves out, and an account."""
    for command, account in _left_out(trial, ran) if ran else ():
        return command, f"{account}{_MAY_LEAVE_OUT}"
    return None


def _left_out(trial: Trial, ran: Mapping[str, CountedTests]) -> Iterator[tuple[str, str]]:
    """Yield the commands that run more tests with what configures tests as it is on the base.

    Those of other files count as well: what the change wrote could tell a count of them apart from
    a real run, and have it say what suits it.
    """
    before = _as_configured_before(trial)
    for command, result in _tried(trial, tuple(ran), before, "as_configured_before").items():
        now, then = ran[command], result.tests
        if then is not None and then.ran > now.ran:
            least = "at least " if now.at_least else ""
            said = {
                "now": least + documents.count_of_tests(now.ran),
                "then": documents.count_of_tests(then.ran),
            }
            yield command, _LEAVES_OUT.format(**said, files=name_paths(tuple(before)))


def _as_configured_before(trial: Trial) -> dict[str, str | None]:
    """Return what the base has of the files by which the change configures tests.

    Code that is new is empty and not gone: a package without its first file holds no tests at all.
    """
    before = _on_base(trial, trial.configuring)
    new = {path: "" for path in trial.configuring if language_of(path) and path in trial.written}
    return {path: before.get(path, new.get(path)) for path in trial.configuring}


def _on_base(trial: Trial, paths: Iterable[str]) -> dict[str, str]:
    """Return the texts of those files that the base has."""
    git, base = trial.bench.workspace.git, trial.task.base
    found = {path: trees.content_of(git, base, path) for path in paths}
    return {path: e.decode("utf-8", "replace") for path, e in found.items() if e is not None}


def _tried(
    trial: Trial, commands: Sequence[str], files: Mapping[str, str | None], name: str
) -> Mapping[str, CmdResult]:
    """Return how commands end with other texts of some files, `None` being one that is not there.

    The result is empty if a path takes no file. Raises `Interrupted` if the order was cancelled.
    """
    results: dict[str, CmdResult] = {}
    removed = [path for path, text in files.items() if text is None]
    texts = {path: text for path, text in files.items() if text is not None}
    try:
        if commands and _write(trial.tree, texts, removed):
            for number, command in enumerate(commands, 1):
                results[command] = try_command(trial, command, f"{name}_{number}")
                trial.progress.check_cancelled()  # it may have failed because it was killed
    finally:
        trial.bench.undo()
    return results


def _sources(tree: Tree, paths: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in paths:
        try:
            found[path] = tree.read(path).decode("utf-8")
        except (NotReadable, UnicodeDecodeError):
            continue
    return found


def _write(tree: Tree, files: Mapping[str, str], removed: Sequence[str]) -> bool:
    """Remove and write files that nobody proposed; return whether each path allows it."""
    for path in removed:
        try:
            tree.remove(path)
        except NotReadable:
            return False
        except OSError as error:
            raise write_refused(tree.root / path, error) from error
    for path, text in files.items():
        try:
            tree.write(path, text.encode())
        except NotReadable:
            return False
        except OSError as error:
            raise write_refused(tree.root / path, error) from error
    return True


@dataclass(frozen=True, slots=True)
class Unfound:
    """Hold a command as the order has it, and its program, which is not on the PATH."""

    command: str
    program: str


def programs_not_found(
    commands: Iterable[str], has_program: Callable[[str], bool]
) -> tuple[Unfound, ...]:
    """Return the commands whose program `has_program` denies.

    A path with a slash is a file of the project, which the order may have to write.
    """
    named = (Unfound(command, split_words(command).texts[0]) for command in commands)
    return tuple(
        each for each in named if "/" not in each.program and not has_program(each.program)
    )
