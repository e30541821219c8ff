"""Chooses the commands that judge a tree, and runs one of them in the sandbox.

The base and the tree that the order makes both name commands, and all of these verify the tree.
So tests that an order brings count at once, and it takes none away from its own verification.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.judging.count_tests import tests_of
from factory.judging.environment_faults import nothing_to_run
from factory.judging.failure_brief import stable_excerpt, stable_text
from factory.judging.proof import (
    NOTHING_KNOWN,
    KnownCommit,
    KnownRed,
    RedCheck,
    describe_red,
    is_test,
    why_not_believed,
)
from factory.orders.documents import MAX_WRITE_BYTES, CmdResult, CountedTests, SandboxRecord
from factory.orders.read_orders import NOT_EXEMPT, Exemption, TreeFacts
from factory.orders.stages import AttemptStage
from factory.orders.task import OrderTask, RunOptions
from factory.record.progress import Progress
from factory.sandbox.policy import Cause, Ended
from factory.sandbox.runner import Sandbox
from factory.sandbox.supervision import Show
from factory.sandbox.toolchains import changed_ns
from factory.sandbox.visible_files import Interpreter, interpreter_of
from factory.workbench.dependencies import manifests_among
from factory.workbench.leftovers import NOTHING_UNDONE, Undone
from factory.workbench.pool import Workbench
from factory.workbench.tree import NotReadable, Tree
from factory.workbench.workspace import Workspace
from shared.events.events import CommandEnded, CommandStarted, Emit, Warned
from shared.files.atomic_io import make_folder, write_json, write_refused
from shared.files.text_sources import RepoSources
from shared.languages.registry import LANGUAGES, steering
from shared.processes.shell_words import split_words
from shared.projects.build_tools import Ground, Verification, find_projects, find_verification
from shared.projects.manifests import ChangedFiles, RepoFiles, VerifyCommand
from shared.projects.project_kinds import COMPILE, INSTALLER, PYTEST
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.work_order import WorkOrder

# Pytest's exit code where it finds no tests. A command that the user chose has to pass as it is.
_NO_TESTS: Final = ((5, "no tests were found"),)
# An environment that uv or pipx made has no pip, which says nothing of the code.
_NO_PIP: Final = ((1, "the Python of commands has no pip"),)
_TOLERATED: Final = {PYTEST: _NO_TESTS, INSTALLER: _NO_PIP}


@dataclass(frozen=True, slots=True)
class Check:
    """Represent one command; `tolerated` pairs an exit code that passes with the reason.

    `is_new` says that the command does not verify the base, so what it finds there is not known.
    `stands_for` is the command of the base whose script the tree has changed, if this is that
    script.
    """

    text: str
    argv: tuple[str, ...]
    tolerated: tuple[tuple[int, str], ...] = ()
    is_new: bool = False
    stands_for: str = ""

    def note_on(self, ended: Ended, files: Collection[str]) -> str:
        """Return why a command passes that did not exit with 0; "" if it does not.

        The code under test may exit with any number: a runner that found no test says so. Where it
        is told to say nothing at all, none of the `files` of the tree may hold tests.
        """
        note = dict(self.tolerated).get(ended.exit_code, "")
        if not note or ended.cause is not Cause.EXITED:
            return ""
        if self.tolerated != _NO_TESTS or nothing_to_run(ended.output, ended.exit_code, ()):
            return note
        return "" if ended.output.strip() or any(map(is_test, files)) else note

    def allowed_by(self, known: KnownRed, now: RedCheck) -> bool:
        """Return whether the command may fail as it did now, by what is known of the base."""
        if now.nothing and (self.is_new or not known.is_seen):
            return True
        return known.allows(self.text, now)

    def passes(self, ended: Ended, files: Collection[str]) -> bool:
        return ended.ok or bool(self.note_on(ended, files))


def parse_check(text: str, *tolerated: tuple[int, str]) -> Check:
    """Return the command in `text`, split as a shell would split it and run without a shell."""
    return Check(text, split_words(text).texts, tolerated)


@dataclass(frozen=True, slots=True)
class Checks:
    """Hold the commands that verify a tree; `exempt` says why its code is compiled and not run."""

    commands: tuple[Check, ...]
    exempt: str = ""


@dataclass(frozen=True, slots=True)
class BaseVerification:
    """Hold what verifies a base, and the trees that an order makes of it.

    `files` are those of the base, and `found` is what they say. The code of an exempt order (one
    that only builds towards what verifies the repo) is compiled and not run. `linked` are folders
    of installed packages, which are not compiled.
    """

    files: RepoFiles
    found: Verification
    chosen: tuple[str, ...] = ()
    exemption: Exemption = NOT_EXEMPT
    linked: frozenset[str] = frozenset()

    def checks(self) -> Checks:
        """Return the commands that verify the base."""
        return self._exempt(self.files, self.found) or Checks(self._checks_of(self.found.commands))

    def checks_with(self, written: Mapping[str, str | None]) -> Checks:
        """Return the commands that verify the base with these texts written, by path.

        `None` is a file that is removed.
        """
        if self.chosen:
            return self.checks()
        files = ChangedFiles(self.files, written)
        now = find_verification(files)
        if exempt := self._exempt(files, now):
            return exempt
        old = {each.text for each in self.found.commands}
        scripts = {each.defined: each.text for each in self.found.commands if each.defined}
        commands = self._commands(files, now)
        if self.found.is_known:  # what no order can change has been seen on the base
            commands = tuple(each for each in commands if each.text != INSTALLER)
        checks = self._checks_of(commands)
        return Checks(
            tuple(
                replace(each, is_new=each.text not in old, stands_for=scripts.get(each.text, ""))
                for each in checks
            )
        )

    def _exempt(self, files: RepoFiles, now: Verification) -> Checks | None:
        before = TreeFacts(self.files.paths, self.found.is_known)
        why = self.exemption.reason(before, TreeFacts(files.paths, now.is_known))
        return Checks((_compile_without(self.linked),), why) if why else None

    def _commands(self, files: RepoFiles, now: Verification) -> tuple[VerifyCommand, ...]:
        if not self.found.is_known:
            return now.commands if now.is_known else self.found.commands
        kept = tuple(_kept(self.found, now, files))
        texts = {each.text for each in kept}
        return (*kept, *(each for each in now.commands if each.text not in texts))

    def _checks_of(self, commands: tuple[VerifyCommand, ...]) -> tuple[Check, ...]:
        compiling = _compile_without(self.linked)
        if self.chosen:
            return tuple(parse_check(each.text) for each in commands)
        return tuple(
            compiling
            if each.text == COMPILE
            else parse_check(each.text, *_TOLERATED.get(each.text, ()))
            for each in commands
        )


def verification_of(
    workspace: Workspace, chosen: tuple[str, ...] = (), exemption: Exemption = NOT_EXEMPT
) -> BaseVerification:
    """Return what verifies the workspace's baseline. The tree must be the baseline as it is.

    `chosen` is the setting `verify`.
    """
    return verification_before(workspace, {}, chosen, exemption)


def verification_before(
    workspace: Workspace,
    texts: Mapping[str, str | None],
    chosen: tuple[str, ...] = (),
    exemption: Exemption = NOT_EXEMPT,
) -> BaseVerification:
    """Return what verifies the tree that the workspace's baseline was made from.

    `texts` are the files that the baseline changed, as they were; `None` is one that was
    not there. The workspace must be its baseline as it is.
    """
    now = RepoSources(workspace.root, workspace.files)
    files: RepoFiles = ChangedFiles(now, texts) if texts else now
    found = find_verification(files, chosen)
    return BaseVerification(files, found, chosen, exemption, workspace.linked)


def _kept(base: Verification, now: Verification, files: RepoFiles) -> Iterator[VerifyCommand]:
    """Yield the commands of the base, in a form that does on the files what it did on the base."""
    present = {each.text: each for each in now.commands}
    if now.ground is Ground.SCRIPT:
        own = (each for project in find_projects(files) for each in project.verify)
        present |= {each.text: each for each in own}
    for each in base.commands:
        if not each.defined or each == present.get(each.text):
            yield each
        else:
            yield VerifyCommand(each.defined, f"{each.origin}, as on the base")


def _compile_without(folders: frozenset[str]) -> Check:
    if not folders:
        return parse_check(COMPILE)
    names = "|".join(map(re.escape, sorted(folders)))
    return parse_check(f"{COMPILE} -x {shlex.quote(f'^[.]/({names})/')}")


LookUp = Callable[[], KnownRed]
"""Returns what failed before the order. It may wait, so it is called only where a command fails."""

# The observed command has just ended by itself, so it takes about as long again.
_OBSERVATION_SECONDS: Final = 60.0


def _nothing_known() -> KnownCommit:
    return NOTHING_KNOWN


def _learn_nothing(known: KnownCommit) -> None:
    """Forget what a verification showed."""


# Scripts, and what build tools read.
_STARTING: Final = re.compile(
    r"\.(?:sh|bash|mk|cmake|gradle|kts|bazel|just)$"
    r"|(?:^|/)(?:(?:GNU)?[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|CMakeLists\.txt|meson\.build|BUILD)$"
)
# Build tools that run tests themselves read in these which ones. A script is run as it was, too.
_BUILDING: Final = re.compile(
    r"\.(?:mk|cmake|gradle|kts|bazel|just|runsettings|props|targets|\w+proj)$"
    r"|(?:^|/)(?:(?:GNU)?[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|CMakeLists\.txt|meson\.build|BUILD"
    r"|pom\.xml|(?:gradle|junit-platform)\.properties)$|(?:^|/)\.mvn/"
)


@dataclass(frozen=True, slots=True)
class Trial:
    """Hold what it takes to judge a workbench's tree: task, options, and where the records go.

    `folder` gets results and logs. `written` maps each file that no command may change to its
    hash, and `removed` has the files that no command may bring back. `attempt` is 0 outside an
    attempt. `known` returns what the verification showed before the order, and may wait for it;
    `learn` takes what it shows now, as soon as it passes. `staged` is the tree as git names it;
    empty if it cannot become a commit. `checks` are the commands that verify the tree; `exempt`
    says why they only compile it, if they do.
    """

    task: OrderTask
    options: RunOptions
    bench: Workbench
    emit: Emit
    progress: Progress
    folder: Path
    attempt: int = 0
    written: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    known: Callable[[], KnownCommit] = _nothing_known
    learn: Callable[[KnownCommit], None] = _learn_nothing
    staged: str = ""
    checks: tuple[Check, ...] = ()
    exempt: str = ""

    @property
    def order(self) -> WorkOrder:
        return self.task.order

    @property
    def tree(self) -> Tree:
        return self.bench.workspace.tree

    @property
    def files(self) -> Collection[str]:
        """Return the paths of the tree, of files that were removed among them."""
        return {*self.bench.workspace.files, *self.written}

    @property
    def configures_tests(self) -> bool:
        """Return whether the files that are judged have one that a test runner is configured by."""
        paths = (*self.written, *self.removed)
        return any(manifests_among(paths)) or any(map(steering, paths))

    @property
    def starts_tests_anew(self) -> bool:
        """Return whether the files that are judged have one by which tests are started."""
        paths = (*self.written, *self.removed)
        words = {word for each in self.checks for word in each.argv}
        return self.configures_tests or any(
            each in words or _STARTING.search(each) is not None for each in paths
        )

    @property
    def configuring(self) -> tuple[str, ...]:
        """Return the files of the change itself that a test runner may be configured by."""
        plans = {each.path for each in self.order.acceptance_files}
        paths = [each for each in (*self.written, *self.removed) if each not in plans]
        others = (e for e in paths if _BUILDING.search(e) or steering(e, self._text_of(e)))
        return tuple(dict.fromkeys((*manifests_among(paths), *others)))

    def _text_of(self, path: str) -> str:
        with contextlib.suppress(NotReadable, OSError):
            return self.tree.read(path, MAX_WRITE_BYTES).decode("utf-8", "replace")
        return ""

    def name_of(self, log: Path) -> str:
        """Return the path of a log as records spell it, relative to the order's folder."""
        return str(log).removeprefix(f"{self.task.folder}/")

    def excerpt(self, text: str) -> str:
        """Return an output without what differs between machines, cut to an excerpt's bound."""
        return stable_excerpt(text, self.bench.path_names().items())

    def stable(self, text: str) -> str:
        """Return the whole of an output without what differs between machines."""
        return stable_text(text, self.bench.path_names().items())


def try_acceptance(trial: Trial) -> Iterator[tuple[str, CmdResult]]:
    """Run each acceptance command once, whether or not it passes; yield its text and its result.

    No event is emitted, because such a run is not a step of an attempt. Raises as `run_checks`
    does.
    """
    trial.bench.follow_manifests()
    for number, text in enumerate(dict.fromkeys(trial.order.acceptance_commands), 1):
        yield text, try_command(trial, text, f"accept_{number}")


def try_command(trial: Trial, text: str, name: str) -> CmdResult:
    """Run one command as `try_acceptance` does, and return its result; `name` names its logs."""
    return _result(_execute(parse_check(text), trial, name), trial)


@dataclass(frozen=True, slots=True)
class Ran:
    """Hold how a command ended, its result, and what was undone after it."""

    ended: Ended
    result: CmdResult
    undone: Undone


def run_check(check: Check, trial: Trial, purpose: AttemptStage, known: LookUp, name: str) -> Ran:
    """Run a command, and run a failing one again: one that then passes is flaky, not wrong.

    After each run the tree is what will be committed again. `known` looks up what may fail, and
    `name` is that of the log. Raises `CommandFailed` if the log is refused.
    """
    ran = _run_one(check, trial, purpose, known, name)
    for retry in range(1, trial.options.retry_flaky + 1):
        if check.passes(ran.ended, trial.bench.workspace.files):
            break
        trial.progress.check_cancelled()  # it may have failed because it was killed
        again = _run_one(check, trial, purpose, known, f"{name}_again_{retry}")
        if check.passes(again.ended, trial.bench.workspace.files):
            before = ran.result.exit_code
            note = f"flaky: failed with exit code {before}, passed on run {retry + 1}"
            trial.emit(Warned(f"{trial.order.id}: `{check.text}` is {note}"))
            flaky = again.result.model_copy(update={"note": note, "flaky": True})
            return replace(again, result=flaky)
        ran = again
    return ran


def _run_one(check: Check, trial: Trial, purpose: AttemptStage, known: LookUp, name: str) -> Ran:
    order = trial.order.id
    trial.emit(CommandStarted(order, purpose, check.text))
    ended = _execute(check, trial, name)
    undone = trial.bench.undo()
    note = _note_on(check, ended, known, trial)
    trial.emit(
        CommandEnded(order, purpose, check.text, ended.exit_code, ended.duration_seconds, note)
    )
    return Ran(ended, _result(ended, trial, note, undone), undone)


def _note_on(check: Check, ended: Ended, known: LookUp, trial: Trial) -> str:
    """Return why a command passes although it failed; "" if it does not pass or did not fail."""
    if check.passes(ended, trial.bench.workspace.files):
        return check.note_on(ended, trial.bench.workspace.files)
    now, before = RedCheck.of(ended, trial.files), known()
    if not check.allowed_by(before, now):
        return ""
    return describe_red(before.checks.get(check.text, now), now)


def observe(argv: Sequence[str], trial: Trial, name: str) -> str:
    """Run a command that only shows why another one failed; return its standard error.

    Raises `Interrupted` if the order was cancelled.
    """
    trial.progress.check_cancelled()
    log = make_folder(trial.folder / "logs") / name
    seconds = min(trial.options.settings.timeout_seconds, _OBSERVATION_SECONDS)
    try:
        return trial.bench.sandbox.run(argv, timeout_seconds=seconds, log=log).stderr.text
    except OSError as error:
        raise write_refused(log, error) from error


def _execute(check: Check, trial: Trial, name: str) -> Ended:
    log = make_folder(trial.folder / "logs") / name
    seconds = trial.options.settings.timeout_seconds
    tests = [each.path for each in trial.order.acceptance_files]
    try:
        return run_to_its_end(check, trial.bench.sandbox, tests, seconds=seconds, log=log)
    except OSError as error:
        raise write_refused(log, error) from error


# Exit codes that no interpreter, test runner or shell has a meaning for.
_FREE_CODES: Final = (*range(32, 64), *range(80, 100), *range(102, 120))
_NO_OWN_END: Final = (
    "The command exited with 0, but it ended before its own end: something in the code under test "
    "ended the process."
)


def run_to_its_end(
    check: Check,
    sandbox: Sandbox,
    tests: Collection[str] = (),
    *,
    seconds: float,
    log: Path,
    show: Show | None = None,
) -> Ended:
    """Run a command; an exit with 0 that shows no success becomes one with 1, and `doubt` says why.

    Where the language can show it, the command exits with a code that the code under test cannot
    foresee if it came to its own end, which is returned as 0. `tests` are files that are tests
    whatever their names. Raises OSError if a log cannot be written.
    """
    end = secrets.choice(_FREE_CODES)
    readers = (each.commands for each in LANGUAGES if each.commands is not None)
    launched = next(filter(None, (each.launched(check.argv, end, tests) for each in readers)), ())
    ended = sandbox.run(launched or check.argv, timeout_seconds=seconds, log=log, show=show)
    if launched and ended.cause is Cause.EXITED:
        doubt = "" if ended.exit_code else _NO_OWN_END
        code = 1 if doubt else 0 if ended.exit_code == end else ended.exit_code
        ended = replace(ended, exit_code=code, doubt=doubt)
    ended = replace(ended, argv=check.argv)
    doubt = why_not_believed(ended) if ended.ok else ""
    return replace(ended, exit_code=1, doubt=doubt) if doubt else ended


def _result(
    ended: Ended, trial: Trial, note: str = "", undone: Undone = NOTHING_UNDONE
) -> CmdResult:
    return CmdResult(
        command=ended.argv,
        exit_code=ended.exit_code,
        cause=ended.cause,
        stdout_trunc=trial.excerpt(ended.stdout.text),
        stderr_trunc=trial.excerpt(ended.stderr.text),
        stdout_path=trial.name_of(ended.stdout.log),
        stderr_path=trial.name_of(ended.stderr.log),
        duration_seconds=round(ended.duration_seconds, 3),
        sandbox=_sandbox_record(trial.bench.sandbox),
        note=note or ended.reason,
        tests=_tests_of(ended, trial),
        doubt=ended.doubt,
        undone=undone.names,
    )


def _tests_of(ended: Ended, trial: Trial) -> CountedTests | None:
    """Return the tests that a command reported: none where it says that it found nothing to run."""
    found = tests_of(ended)
    if found is None and not ended.ok and RedCheck.of(ended, trial.files).nothing:
        return CountedTests(passed=0, failed=0, skipped=0)
    return found


def _sandbox_record(sandbox: Sandbox) -> SandboxRecord:
    return SandboxRecord(
        backend=sandbox.backend,
        version=sandbox.version,
        guarantees={str(name): held for name, held in sandbox.guarantees.items()},
        limits=asdict(sandbox.limits),
    )


def record_results(trial: Trial, name: str, results: Sequence[CmdResult]) -> None:
    """Write the results to the file `name` of the folder of records."""
    write_json(
        trial.folder / name, [result.model_dump(mode="json") for result in results], sync=False
    )


_END: Final = 4000  # characters; what a program waits for is at the end of its output
_WATCHES = re.compile(
    r"watch(?:ing)? (?:for|mode|usage|files)|press \w+ to (?:quit|exit|rerun|show help)"
    r"|waiting for (?:file )?changes|\bnodemon\b|\[watch\]",
    re.IGNORECASE,
)
_SERVES = re.compile(
    r"\blistening (?:on|at)\b|\b(?:server|app)(?: is)? (?:running|started|listening|ready)\b"
    r"|\bserving\b.*\b(?:on|at)\b|\blocal:\s+http",
    re.IGNORECASE,
)


def likely_cause(output: str) -> str:
    """Return the likely cause as a sentence with its remedy; "" if the output shows none."""
    end = output[-_END:]
    if _WATCHES.search(end):
        what = "it watches for changes, as its output says, and never ends"
    elif _SERVES.search(end):
        what = "it serves, as its output says, and never ends"
    else:
        return ""
    return f"The likely cause: {what}. A command that ends is needed (--verify CMD names one)."


def verification_key(
    tree: str, checks: Sequence[Check], bench: Workbench, options: RunOptions
) -> str:
    """Return the hash of all that a verification's outcome depends on, as far as llmch knows it.

    That is the tree, the commands, the sandbox with its settings, the interpreter with the packages
    beside it, the linked folders, the toolchains, and the time limit.
    """
    settings, sandbox = options.settings, bench.sandbox
    document = {
        "tree": tree,
        "commands": [each.text for each in checks if each.text != INSTALLER],
        "backend": [sandbox.backend, sandbox.version],
        "guarantees": {str(name): held for name, held in sandbox.guarantees.items()},
        "limits": asdict(sandbox.limits),
        "net": settings.sandbox.net,
        "paths": [list(map(str, each)) for each in (settings.sandbox.read, settings.sandbox.write)],
        "variables": {name: os.environ.get(name) for name in settings.sandbox.env},
        "python": _describe(interpreter_of(bench.python)),
        "linked": [(each.path, str(each.source), changed_ns(each.source)) for each in bench.linked],
        "prepared": sorted(bench.supplies.prepared.environment.items()),
        "toolchains": bench.toolchains.identity(),
        "timeout_seconds": settings.timeout_seconds,
    }
    return sha256_bytes(json.dumps(document, sort_keys=True).encode())


def _describe(python: Interpreter) -> list[object]:
    """Identify the interpreter; an installation or a removal changes a folder's time."""
    packages = [
        folder
        for prefix in python.prefixes
        for folder in sorted(prefix.glob("lib/python3*/*-packages"))
    ]
    places = [python.executable, *packages]
    return [python.tag, *([str(each), changed_ns(each)] for each in places)]
