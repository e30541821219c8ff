"""Measures how strong the tests of an order are: how many small faults in its lines they notice.

A fault is a mutant: one file of the commit with one small change (`Mutation`), on a line that the
commit wrote. The order's own acceptance commands run on it in the sandbox, and
the first that fails has noticed it. Several workbenches work side by side. Each begins each run
with the commit's own tree, so that no mutant bears on another one.

Where a language can try several mutants in one start (`Batch`), that is done, and what became of
them is an exit code which no code under test can choose. Whatever else comes of such a start, its
mutants are tried one by one.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final

from factory.judging.run_checks import Check, parse_check, run_to_its_end
from factory.orders.documents import NO_FAULTS, Strength
from factory.sandbox.policy import Cause, Ended
from factory.workbench.pool import Workbench
from shared.errors import EnvironmentFault, InvalidInput
from shared.files.atomic_io import write_refused
from shared.git import trees
from shared.git.client import Git
from shared.languages.capabilities import Batch, Mutation, MutationKind, Mutations, Useless
from shared.languages.registry import LANGUAGES, is_test_file, language_of
from shared.settings.settings import StrengthSettings
from shared.work_order.work_order import WorkOrder

_SLOWER: Final = 5  # times as long as the code as it is: what takes longer does not end
_GRACE_SECONDS: Final = 1.0
_LOOK_EVERY_SECONDS: Final = 0.1
_MEASURE_SECONDS: Final = 1800.0
_MAX_SURVIVORS: Final = 200
# Such files hold no code, so no test has to notice a fault in them.
_NO_CODE: Final = re.compile(
    r"\.(?:md|rst|txt|json[l5c]?|toml|ya?ml|ini|cfg|lock|csv|tsv|xml|svg|png|jpe?g|gif|ico|html?|css)$"
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """Represent a mutation of the file at `path`; `line` counts from 1."""

    path: str
    line: int
    mutation: Mutation
    was: str
    """The code in its place."""

    @property
    def what(self) -> str:
        """Return what was changed, on one line: "`<` to `<=`"."""
        was = _shown(self.was)
        match self.mutation.kind:
            case MutationKind.STATEMENT:
                return f"removed `{was}`"
            case MutationKind.CONDITION:
                return f"inverted `{was}`"
            case _ if not self.mutation.text:
                return f"removed `{was}`"
            case _:
                return f"`{was}` to `{_shown(self.mutation.text)}`"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.what}"

    def applied_to(self, text: str) -> str:
        return text[: self.mutation.start] + self.mutation.text + text[self.mutation.end :]


_MAX_SHOWN: Final = 60  # characters of the code on each side of a change
MAX_CHARACTERS: Final = 200_000
"""A longer file was generated: no person reads what its tests miss."""


def _shown(code: str) -> str:
    line = " ".join(code.split())
    line = "".join(each if each.isprintable() else "?" for each in line).replace("`", "'")
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 4]} ..."


def mutants_of(
    mutations: Mutations, path: str, text: str, lines: Collection[int]
) -> tuple[Mutant, ...] | None:
    """Return the mutants of the given lines of a file; `None` if it cannot be read.

    A change that touches any other line is left out: its author is another one.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    found = mutations.find_mutations(path, text)
    if found is None:
        return None
    starts = [0, *accumulate(len(each) + 1 for each in text.split("\n"))]

    def mutants() -> Iterator[Mutant]:
        for each in dict.fromkeys(found):
            first = bisect_right(starts, each.start)
            last = bisect_right(starts, max(each.start, each.end - 1))
            was = text[each.start : each.end]
            if was != each.text and all(line in lines for line in range(first, last + 1)):
                yield Mutant(path, first, each, was)

    return tuple(mutants())


def choose(mutants: Iterable[Mutant], seed: int) -> Iterator[Mutant]:
    """Yield the mutants in the order in which they are tried, which the seed decides.

    One of each line comes first, then a second one of each, and so on. Of a line's mutants, the one
    whose kind was tried least comes next.
    """
    by_line = defaultdict(list)
    for each in mutants:
        by_line[each.path, each.line].append(each)
    turns = sorted(by_line.items(), key=lambda each: _rank(seed, each[0]))
    tried: Counter[MutationKind] = Counter()
    while turns:
        for _, left in turns:
            chosen = min(
                left,
                key=lambda each: (
                    tried[each.mutation.kind],
                    _rank(seed, (each.path, each.mutation)),
                ),
            )
            left.remove(chosen)
            tried[chosen.mutation.kind] += 1
            yield chosen
        turns = [each for each in turns if each[1]]


def _rank(seed: int, what: object) -> bytes:
    """Return what sorts in an order that the seed decides, on every machine alike."""
    return hashlib.sha256(f"{seed} {what!r}".encode("utf-8", "backslashreplace")).digest()


BATCH: Final = 5
"""The mutants of one batch. What became of each has to fit into an exit code, with their count."""
FIRST_CODE: Final = 32


def outcomes_of(code: int) -> tuple[bool, ...]:
    """Return which mutants of a batch were killed, by its exit code; nothing for any other code.

    The code has a bit for each mutant that was tried, after a first bit that is set.
    """
    bits = code - FIRST_CODE
    if not 1 <= bits < 1 << (BATCH + 1):
        return ()
    return tuple(each == "1" for each in f"{bits:b}"[1:])


@dataclass(frozen=True, slots=True)
class Measured:
    """Say what is measured: the lines of `commit` in `written`, by the commands of `order`.

    `written` has the numbers of the lines that count, by path (`written_since`).
    `lend` lends a workbench whose tree is exactly a commit, to so many at a time as `jobs` says.
    Each command may take `seconds`, and all mutants together may take `measure_seconds`.
    """

    git: Git
    order: WorkOrder
    commit: str
    written: Mapping[str, frozenset[int]]
    lend: Callable[[str], AbstractContextManager[Workbench]]
    settings: StrengthSettings
    seconds: float
    jobs: int = 1
    measure_seconds: float = _MEASURE_SECONDS
    batched: bool = True
    check_cancelled: Callable[[], None] = lambda: None

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(each.path for each in self.order.acceptance_files)


@dataclass(frozen=True, slots=True)
class _ChosenMutants:
    """Hold the mutants that are tried, and what is known of all others."""

    mutants: tuple[Mutant, ...]
    texts: Mapping[str, str]
    useless: Counter[Useless]
    unmeasured: tuple[str, ...]


def measure(asked: Measured) -> Strength:
    """Return how many of the mutants the order's commands notice.

    Raises `CommandFailed` if disk or git refuse, and what `check_cancelled` raises.
    """
    found = _find(asked)
    commands = tuple(parse_check(each) for each in dict.fromkeys(asked.order.acceptance_commands))
    known = Strength(
        seed=asked.settings.seed,
        equivalent=found.useless[Useless.EQUIVALENT],
        unmeasured=found.unmeasured,
    )
    if not found.mutants:
        return _without(known, NO_FAULTS)
    if not commands:
        return _without(known, "the order has no acceptance command")
    trial = _Measuring(asked, found.texts, commands)
    if why := trial.begin():
        return _without(known, why)
    fates = trial.try_all(found.mutants)
    counted = Counter(fates.values())
    survivors = [str(each) for each in found.mutants if fates.get(each) == _SURVIVED]
    return known.model_copy(
        update={
            "killed": counted[_KILLED],
            "of": counted[_KILLED] + counted[_SURVIVED],
            "survivors": tuple(survivors[:_MAX_SURVIVORS]),
            "invalid": counted[_UNBUILT],
            "untried": len(found.mutants) - len(fates),
        }
    )


def _without(known: Strength, why: str) -> Strength:
    return known.model_copy(update={"why_not": why})


_KILLED, _SURVIVED, _UNBUILT = "killed", "survived", "unbuilt"


def _find(asked: Measured) -> _ChosenMutants:
    """Return the mutants of the lines that the commit wrote, chosen by the seed."""
    texts: dict[str, str] = {}
    mutants: list[Mutant] = []
    unmeasured: list[str] = []
    for path in sorted(asked.written):
        content = trees.content_of(asked.git, asked.commit, path)
        if content is None or path in asked.tests or is_test_file(path):
            continue
        found = _mutants_of(asked, path, content)
        if found is None:
            if not _holds_no_code(path):
                unmeasured.append(path)
            continue
        texts[path] = content.decode()
        mutants += found
    chosen: list[Mutant] = []
    useless: Counter[Useless] = Counter()
    for each in choose(mutants, asked.settings.seed):
        if len(chosen) == asked.settings.mutants:
            break
        text = texts[each.path]
        why = mutations_of(each.path).why_useless(each.path, text, each.applied_to(text))
        if why is None:
            chosen.append(each)
        else:
            useless[why] += 1
    return _ChosenMutants(tuple(chosen), texts, useless, tuple(unmeasured))


def _mutants_of(asked: Measured, path: str, content: bytes) -> tuple[Mutant, ...] | None:
    language = language_of(path)
    if language is None or language.mutations is None:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return mutants_of(language.mutations, path, text, asked.written[path])


def written_since(git: Git, parent: str, commit: str) -> Mapping[str, frozenset[int]]:
    """Return the lines that a commit wrote, by path; a file that it removed has none."""
    paths = trees.files_between(git, parent, commit)
    return {path: trees.lines_written(git, parent, commit, path) for path in paths}


def _holds_no_code(path: str) -> bool:
    """Return whether a file is prose, data, or says what is to be installed."""
    installers = (each.dependencies for each in LANGUAGES if each.dependencies)
    name = posixpath.basename(path)
    is_named = "." not in name.lstrip(".") or _NO_CODE.search(name) is not None
    return is_named or any(each.is_manifest(path) for each in installers)


def mutations_of(path: str) -> Mutations:
    """Return the mutations of the language of a file that has a mutant."""
    language = language_of(path)
    assert language is not None and language.mutations is not None, "it has a mutant"
    return language.mutations


@dataclass(slots=True)
class _Measuring:
    """Try mutants, each on a workbench of its own."""

    asked: Measured
    texts: Mapping[str, str]
    commands: tuple[Check, ...]
    seconds: float = 0.0
    """How long each command may take."""
    is_batched: bool = False
    ends: float = 0.0
    benches: list[Workbench] = field(default_factory=list)
    is_over: bool = False

    def begin(self) -> str:
        """Run the commands on the code as it is, and return why they can measure nothing."""
        path = next(iter(self.texts))
        with self._lend() as bench:
            started = time.monotonic()
            for each in self.commands:
                ended = self._run(each, bench, self.asked.seconds)
                if not ended.ok:
                    return f"`{each.text}` fails on the commit as it is"
            took = time.monotonic() - started
            self.seconds = min(_SLOWER * took + _GRACE_SECONDS, self.asked.seconds)
            bench.restore()
            unchanged = (0, 0, "")
            if self.asked.batched:
                self.is_batched = self._try_batch(path, [unchanged], bench) == (False,)
            bench.restore()
        self.ends = time.monotonic() + self.asked.measure_seconds
        return ""

    def try_all(self, mutants: Sequence[Mutant]) -> Mapping[Mutant, str]:
        """Return what became of each mutant that was tried before the time was over."""
        groups = list(self._groups(mutants))
        fates: dict[Mutant, str] = {}

        def work() -> None:
            with self._lend() as bench:
                while groups and not self.is_over and time.monotonic() < self.ends:
                    with contextlib.suppress(IndexError):  # another worker took the last one
                        fates.update(self._try_group(groups.pop(0), bench))

        workers = max(1, min(self.asked.jobs, len(groups)))
        with ThreadPoolExecutor(workers, "mutants") as threads:
            futures = [threads.submit(work) for _ in range(workers)]
            try:
                self._follow(futures)
            finally:
                self.is_over = True
                if not all(each.done() for each in futures):
                    for bench in tuple(self.benches):
                        bench.sandbox.end_commands()
        return fates

    def _follow(self, futures: Sequence[Future[None]]) -> None:
        """Wait until all have ended. Raises what one of them raises, or if it is cancelled."""
        pending = set(futures)
        while pending:
            self.asked.check_cancelled()
            done, pending = wait(pending, _LOOK_EVERY_SECONDS, FIRST_EXCEPTION)
            for each in done:
                each.result()

    def _groups(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, ...]]:
        """Yield the mutants that are tried in one start: of one file, in the chosen order."""
        if not self.is_batched:
            yield from ((each,) for each in mutants)
            return
        by_file = sorted(mutants, key=lambda each: each.path)
        for _, same in groupby(by_file, key=lambda each: each.path):
            left = tuple(same)
            yield from (left[at : at + BATCH] for at in range(0, len(left), BATCH))

    def _try_group(self, group: tuple[Mutant, ...], bench: Workbench) -> Mapping[Mutant, str]:
        fates: dict[Mutant, str] = {}
        left = group
        while self.is_batched and left:
            changes = [(m.mutation.start, m.mutation.end, m.mutation.text) for m in left]
            outcomes = self._try_batch(left[0].path, changes, bench)
            bench.restore()
            if not outcomes:
                break
            for mutant, killed in zip(left, outcomes, strict=False):
                fates[mutant] = _KILLED if killed else _SURVIVED
            left = left[len(outcomes) :]
        for mutant in left:
            if self.is_over:
                break
            fates[mutant] = self._try_one(mutant, bench)
            bench.restore()
        return fates

    def _try_one(self, mutant: Mutant, bench: Workbench) -> str:
        """Return what became of a mutant in a start of its own."""
        text = self.texts[mutant.path]
        try:
            bench.workspace.tree.write(mutant.path, mutant.applied_to(text).encode())
        except OSError as error:
            raise write_refused(bench.workspace.root / mutant.path, error) from error
        for each in self.commands:
            ended = self._run(each, bench, self.seconds)
            if not ended.ok:
                is_unbuilt = mutations_of(mutant.path).is_unbuilt
                unbuilt = ended.cause is Cause.EXITED and is_unbuilt(ended.output)
                return _UNBUILT if unbuilt else _KILLED
        return _SURVIVED

    def _try_batch(
        self, path: str, changes: Sequence[tuple[int, int, str]], bench: Workbench
    ) -> tuple[bool, ...]:
        """Return which of the first changes were noticed; nothing if one start cannot say so."""
        batch = Batch(
            commands=tuple(each.argv for each in self.commands),
            path=path,
            changes=tuple(changes),
            seconds=self.seconds,
            first_code=FIRST_CODE,
            tests=self.asked.tests,
            files=bench.workspace.files,
            beside=tuple(each.path for each in bench.linked),
        )
        argv = mutations_of(path).batched(batch)
        if not argv:
            return ()
        most = self.seconds * (len(changes) * len(self.commands) + 1)
        ended = self._in_sandbox(argv, bench, most)
        return outcomes_of(ended.exit_code) if ended.cause is Cause.EXITED else ()

    def _run(self, check: Check, bench: Workbench, seconds: float) -> Ended:
        log = _log_of(bench)
        try:
            return run_to_its_end(check, bench.sandbox, self.asked.tests, seconds=seconds, log=log)
        except OSError as error:
            raise write_refused(log, error) from error

    def _in_sandbox(self, argv: Sequence[str], bench: Workbench, seconds: float) -> Ended:
        log = _log_of(bench)
        try:
            return bench.sandbox.run(argv, timeout_seconds=seconds, log=log)
        except OSError as error:
            raise write_refused(log, error) from error

    @contextlib.contextmanager
    def _lend(self) -> Iterator[Workbench]:
        with self.asked.lend(self.asked.commit) as bench:
            with contextlib.suppress(InvalidInput, EnvironmentFault):  # the first run shows it
                bench.follow_manifests(tuple(self.texts))
            self.benches.append(bench)
            try:
                yield bench
            finally:
                self.benches.remove(bench)


def _log_of(bench: Workbench) -> Path:
    """Return where the output of a mutant goes: nobody reads it once the next one runs."""
    return bench.workspace.root.parent / "mutant"
