"""Verifies the base of a run before a model is paid.

Only success is kept, with the tests that each command reported. A failure is looked at again each
time, because the user may have fixed its cause outside of the repo.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from factory.judging.count_tests import tests_of
from factory.judging.environment_faults import Fault, Surroundings, find_fault, surroundings_of
from factory.judging.failure_brief import cut, find_failures, select_lines, stable_text
from factory.judging.proof import NOTHING_KNOWN, KnownCommit, KnownCommits, KnownRed, RedCheck
from factory.judging.run_checks import (
    Check,
    likely_cause,
    parse_check,
    run_to_its_end,
    verification_key,
    verification_of,
)
from factory.orders.documents import CountedTests
from factory.orders.read_orders import Exemption
from factory.orders.stages import AttemptStage
from factory.orders.task import RunOptions
from factory.preflight import Repo, name_paths
from factory.sandbox.policy import Cause, Ended
from factory.workbench.dependencies import Manifests, ways_to_prepare
from factory.workbench.leftovers import Undone
from factory.workbench.pool import Workbench, WorkbenchPool
from shared.errors import PreflightRefused
from shared.events.events import CommandEnded, CommandStarted, Emit, Noted
from shared.files.atomic_io import make_folder, write_json, write_refused
from shared.files.text_sources import read_plain
from shared.git import trees
from shared.projects.build_tools import Verification
from shared.projects.manifests import holds_only_documents, required_versions
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.work_order import WorkOrder

_MOST_KEPT: Final = 200
_LARGEST_FILE: Final = 256 * 1024  # bytes; 200 keys with the tests of three commands take 60,000
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_TOUCHED: Final = 100  # of one verification; more is a fault of the target's tests
_KEY = re.compile(r"[0-9a-f]{64}")


def _rendered(verified: Sequence[tuple[str, KnownCommit]]) -> str:
    document = {
        "verified": [each for each, _ in verified],
        "tests": {
            each: {text: counted.model_dump(mode="json") for text, counted in one.tests.items()}
            for each, one in verified
        },
        "touched": {
            each: sorted(one.touched)[:_MOST_TOUCHED] for each, one in verified if one.touched
        },
    }
    return json.dumps(document)


@dataclass(frozen=True, slots=True)
class KeptBases:
    """Keep the keys of verified trees in a repo's git folder. Only the holder of the lock writes.

    Anything else in the file, or in its place, counts as nothing and is replaced.
    """

    path: Path

    @classmethod
    def of(cls, common_dir: Path) -> KeptBases:
        """Return the keys that the repo with this git folder keeps."""
        return cls(common_dir / "llmch" / "verified.json")

    def known_of(self, key: str) -> KnownCommit | None:
        """Return what is known of a verified tree; `None` if the key is not kept.

        A key that an older version kept without the tests counts as not kept.
        """
        return self._read().get(key)

    def add(self, key: str, known: KnownCommit) -> None:
        """Keep a key with the tests that ran and the files touched, and forget the oldest keys.

        A disk that refuses is ignored. A file that a crash leaves torn counts as nothing, so it
        need not be written atomically.
        """
        kept = self._read()
        kept.pop(key, None)
        newest = list({**kept, key: known}.items())[-_MOST_KEPT:]
        text = _rendered(newest)
        while len(text) > _LARGEST_FILE and newest:
            newest = newest[len(newest) // 4 + 1 :]
            text = _rendered(newest)
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(exist_ok=True)
            self.path.unlink(missing_ok=True)
            try:
                with os.fdopen(os.open(self.path, _WRITE, 0o644), "w") as file:
                    file.write(text)
            except OSError:
                self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, KnownCommit]:
        try:
            document = json.loads(read_plain(self.path, _LARGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return {}
        document = document if isinstance(document, dict) else {}
        listed = document.get("verified")
        tests, touched = (_mapping(document.get(name)) for name in ("tests", "touched"))
        return {
            each: KnownCommit(
                tests=_parse_tests(tests[each]), touched=_parse_paths(touched.get(each))
            )
            for each in (listed if isinstance(listed, list) else [])
            if isinstance(each, str) and _KEY.fullmatch(each) and isinstance(tests.get(each), dict)
        }


def _mapping(document: object) -> dict[str, Any]:
    return document if isinstance(document, dict) else {}


def _parse_paths(document: object) -> frozenset[str]:
    listed = document if isinstance(document, list) else []
    return frozenset(each for each in listed if isinstance(each, str))


def _parse_tests(document: Mapping[str, object]) -> dict[str, CountedTests]:
    """Return the tests by command; what is not understood counts as nothing."""
    found: dict[str, CountedTests] = {}
    for text, each in document.items():
        with contextlib.suppress(ValidationError):
            found[text] = CountedTests.model_validate(each)
    return found


NOTHING_TO_RUN: Final = Exemption(granted="the plan is to bring what verifies it")

_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){1,2}")
_VERSION_SECONDS: Final = 20  # a program that prints its version; pyenv's shims take one
_WHO: Final = "base"  # in events, in the place of an order's id
_SHOWN_LINES: Final = 12
_SHOWN_CHARACTERS: Final = 600
_TOO_SHORT: Final = "If it only needs longer, raise --timeout-seconds."
_ALLOW: Final = "pass --allow-red to begin all the same: then no order may make more fail"


class Green(Enum):
    """Say whether the verification of a base passed, at least but for tests that are to pass."""

    YES = auto()
    BUT_FOR_TESTS = auto()
    NO = auto()


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

    def announce(self, commit: str, orders: Sequence[WorkOrder]) -> Verification:
        """Report what verifies `commit`, or orders to come, and what is not run there; return it.

        `orders` are those to be made, in their sequence.
        """
        found = self.look(commit)
        described = found.describe([(each.id, each.allowed_files) for each in orders])
        for line in (described, *found.notes):
            self.emit(Noted(line))
        return found

    def verify(self, commit: str, exemption: Exemption) -> None:
        """Run the verification on `commit`, unless an equal tree has passed it here before.

        Where `exemption` holds for it, the code is only compiled. How many tests ran is recorded in
        `known`, with what fails if the user allows it. Raises `PreflightRefused` if not, with the
        command, its output and a remedy.
        """
        with self.pool.lend(commit) as bench:
            chosen = self.options.settings.verify
            checks = verification_of(bench.workspace, chosen, exemption).checks().commands
            if not checks:
                return
            tree = trees.tree_of(self.repo.git, commit)
            key = verification_key(tree, checks, bench, self.options)
            kept = KeptBases.of(self.repo.common_dir)
            but_for_tests = sha256_bytes("\0".join((key, *self.options.to_pass)).encode())
            before, how = kept.known_of(key), "has passed its verification before"
            if before is None:
                before, how = kept.known_of(but_for_tests), "fails by the tests to pass alone"
            if before is not None:
                text = f"the base {commit[:10]} {how}"
                self.emit(Noted(text, detail=True))
                self.known.assume(before)
                return
            known, green = self._run(checks, bench, commit)
        self.known.assume(known)
        if green is not Green.NO:
            kept.add(key if green is Green.YES else but_for_tests, known)

    def _run(
        self, checks: Sequence[Check], bench: Workbench, commit: str
    ) -> tuple[KnownCommit, Green]:
        """Return what the checks showed, and whether all passed.

        It is `NOTHING_KNOWN` if the base has nothing to verify yet. Raises `PreflightRefused` for
        the first check that failed, unless failures are allowed.
        """
        green = Green.YES
        failed: dict[str, RedCheck] = {}
        tests: dict[str, CountedTests] = {}
        results: list[dict[str, object]] = []
        touched: set[str] = set()
        bench.workspace.expect()
        for number, check in enumerate(checks, 1):
            ended, undone = self._try(check, bench, f"verify_{number}")
            counted = tests_of(ended)
            if counted is not None:
                tests[check.text] = counted
            touched.update(undone.all)
            if undone.names:
                self.emit(Noted(f"`{check.text}` {_undone_after(undone)}"))
            results.append(_document(ended, counted, undone))
            write_json(self.folder / "verify_result.json", results, sync=False)
            if check.passes(ended, bench.workspace.files):
                continue
            red = RedCheck.of(ended, bench.workspace.files)
            if red.nothing:
                self.emit(Noted(f"`{check.text}` on the base {commit[:10]}: {red.describe()}"))
            elif not self.options.allow_red:
                run = self._but_for_tests(check, red, ended, bench, commit)
                if run is not None:
                    green = Green.BUT_FOR_TESTS
                    if (counted := tests_of(run)) is not None:
                        tests[check.text] = counted
                    continue
                if self._has_nothing_yet(check, ended, bench, commit):
                    return NOTHING_KNOWN, Green.NO
                raise self._refusal(check, ended, bench, commit)
            failed[check.text] = red
        known = KnownCommit(KnownRed(failed), tests, frozenset(touched))
        return known, Green.NO if failed else green

    def _but_for_tests(
        self, check: Check, red: RedCheck, ended: Ended, bench: Workbench, commit: str
    ) -> Ended | None:
        """Return, and report, a run by which a command fails by the tests to pass alone.

        They are run for that: whatever the runner is, both outputs name a failure alike. A run
        that ended early is made again without the files that it names. `None` is any other failure.
        """
        if not self.options.to_pass or not red.named or ended.cause is not Cause.EXITED:
            return None
        if find_fault(ended, surroundings_of(bench, self.options, commit)) is not None:
            return None
        shown: set[str] = set()
        for number, text in enumerate(self.options.to_pass, 1):
            tried, _ = self._try(parse_check(text), bench, f"to_pass_{number}")
            shown |= RedCheck.of(tried, bench.workspace.files).named
        if not red.named <= shown:
            return None
        if red.failures is None:
            files = {each.partition("::")[0] for each in red.named} & set(bench.workspace.files)
            for path in files:
                (bench.workspace.root / path).unlink()
            ended, _ = self._try(check, bench, "without_tests_to_pass")
            paths = bench.workspace.files
            if not (check.passes(ended, paths) or RedCheck.of(ended, paths).nothing):
                return None
        what = "fails by the tests that are to pass, and has to pass with them"
        self.emit(Noted(f"`{check.text}` on the base {commit[:10]} {what}"))
        return ended

    def _has_nothing_yet(self, check: Check, ended: Ended, bench: Workbench, commit: str) -> bool:
        """Return, and report, whether a command of the user failed because no code is there yet.

        This does not decide what an order may leave red: each order has to pass the command.
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

    def _try(self, check: Check, bench: Workbench, name: str) -> tuple[Ended, Undone]:
        """Run a check, and run a failing one again as often as the user wants it.

        After each run the tree is the base again, so that each command judges the base alone.
        """
        ended = self._run_one(check, bench, name)
        undone = bench.undo()
        for retry in range(1, self.options.retry_flaky + 1):
            if check.passes(ended, bench.workspace.files):
                break
            ended = self._run_one(check, bench, f"{name}_again_{retry}")
            undone = bench.undo()
        return ended, undone

    def _run_one(self, check: Check, bench: Workbench, name: str) -> Ended:
        self.emit(CommandStarted(_WHO, AttemptStage.VERIFY, check.text))
        log = make_folder(self.folder / "logs") / name
        seconds = self.options.settings.timeout_seconds
        try:
            ended = run_to_its_end(check, bench.sandbox, seconds=seconds, log=log)
        except OSError as error:
            raise write_refused(log, error) from error
        note = check.note_on(ended, bench.workspace.files)
        if not check.passes(ended, bench.workspace.files):
            red = RedCheck.of(ended, bench.workspace.files)
            if red.nothing:
                note = red.describe()
            elif self.options.allow_red:
                note = f"red before any order: {red.describe()}"
        spent = ended.duration_seconds
        self.emit(CommandEnded(_WHO, AttemptStage.VERIFY, check.text, ended.exit_code, spent, note))
        return ended

    def _refusal(
        self, check: Check, ended: Ended, bench: Workbench, commit: str
    ) -> PreflightRefused:
        lines = _telling_lines(stable_text(ended.output, bench.path_names().items()))
        how = ended.doubt and f"did not succeed. {ended.doubt}"
        how = how or f"ended with exit code {ended.exit_code}"
        if ended.cause is not Cause.EXITED:
            why = f" ({ended.reason})" if ended.reason else ""
            how = f"failed: {str(ended.cause).replace('_', ' ')}{why}"
        said = "".join(f"\n  | {line}" for line in lines)
        around = surroundings_of(bench, self.options, commit)
        fault = find_fault(ended, around)
        return PreflightRefused(
            f"verification is red on the base {commit[:10]}, before any order: "
            f"`{check.text}` {how}{said}",
            _remedy(
                ended,
                fault,
                around,
                tuple(self._ways_to_prepare(bench, fault, ended.output)),
                tuple(self._unmet_versions(bench)),
            ),
        )

    def _unmet_versions(self, bench: Workbench) -> Iterator[str]:
        """Yield a remedy for each program whose version the manifests do not allow."""
        files = Manifests.of(bench.workspace.root, bench.workspace.files)
        for each in required_versions(files):
            log = make_folder(self.folder / "logs") / f"version_{each.tool}"
            ended = bench.sandbox.run(each.ask, timeout_seconds=_VERSION_SECONDS, log=log)
            found = _VERSION.search(ended.stdout.text)
            if ended.ok and found and not each.is_met_by(found[0]):
                yield (
                    f"install {each.tool} {each.versions}, which {each.origin} asks for: commands "
                    f"have {found[0]}"
                )

    def _ways_to_prepare(self, bench: Workbench, fault: Fault | None, output: str) -> Iterator[str]:
        for each in sorted(bench.workspace.submodules):
            if f"{each}/" in output:
                yield f"pass a --verify without the submodule {each}, whose files no command has"
        if not self.options.install_dependencies:
            files = Manifests.of(bench.workspace.root, bench.workspace.files)
            present = frozenset(each.path for each in bench.linked)
            yield from ways_to_prepare(files, bench.python, present, missed=fault is not None)


def _telling_lines(text: str) -> list[str]:
    """Return the lines that say what failed, or the last ones where no line is known to."""
    marked = [each.lines for each in find_failures(text.split("\n"))]
    if marked:
        return select_lines(text, marked, _SHOWN_CHARACTERS).splitlines()
    return cut(text).splitlines()[-_SHOWN_LINES:]


def _remedy(
    ended: Ended,
    fault: Fault | None,
    around: Surroundings,
    prepare: tuple[str, ...],
    other_versions: tuple[str, ...],
) -> str:
    """Return what a user can do about a base that is red, the likely remedy first.

    `prepare` are the ways to what the base declares and commands do not find, and `other_versions`
    those to the versions of programs that it asks for.
    """
    if ended.cause is Cause.TIMED_OUT:
        cause = likely_cause(ended.output)
        return f"{cause or _TOO_SHORT}\nOr {_ALLOW}."
    if fault is not None:
        ways = (fault.remedy_after(prepare), *other_versions)
        return f"{fault.what} To fix it, {', or '.join(ways)}.\nOr {_ALLOW}."
    others = (f"pass --python {each} if it passes there" for each in around.environments)
    ways = (*prepare, *other_versions, *others, _fix_of(ended.output))
    return f"{', or '.join(ways)}.\nOr {_ALLOW}."


_DECLARATION: Final = re.compile(
    r"node_modules/((?:@[\w.-]{1,100}/)?[\w.-]{1,100})/[\w./-]{1,200}\.d\.[cm]?ts[:(]\d"
)


def _fix_of(output: str) -> str:
    """Return what to do about a base where nothing else is known: its files are wrong, or those of
    a package in which its own command finds a fault.
    """
    if found := _DECLARATION.search(output):
        return f"declare a version of {found[1]} whose declarations this project's tools can read"
    return "commit a fix to the base"


def _undone_after(undone: Undone) -> str:
    """Return what a command did to the files of the base, for a person."""
    changed = f"changed {name_paths(undone.changed)}" if undone.changed else ""
    made = f"left {name_paths(undone.made)}" if undone.made else ""
    return f"{' and '.join(filter(None, (changed, made)))} in the tree, which was undone"


def _document(ended: Ended, tests: CountedTests | None, undone: Undone) -> dict[str, object]:
    return {
        "command": list(ended.argv),
        "exit_code": ended.exit_code,
        "cause": str(ended.cause),
        "duration_seconds": round(ended.duration_seconds, 3),
        "stdout_path": f"logs/{ended.stdout.log.name}",
        "stderr_path": f"logs/{ended.stderr.log.name}",
        "tests": tests.model_dump(mode="json") if tests else None,
        "undone": list(undone.names),
    }
