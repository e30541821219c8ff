"""Decides what the commands that judged an order prove, given what was red before it.

This matters only with `--allow-red`; without it, no order begins on a base that is red. The rule,
for each command of the verification:

- A command that passed on the base has to pass.
- A command that failed on the base may fail again in the same manner (by its own exit code, or by
  the same limit). Where the output of both runs names all failures, no new name may be among them;
  where it only counts them, there may not be more. Where only one of them has a count, nothing
  shows that no more fails, so that is a failure. Where neither has one, exit codes and the names
  that are there decide.
- A command that found nothing to run on the base may find nothing again, whatever the user allows.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from factory.judging.count_tests import tests_of, unfinished
from factory.judging.environment_faults import (
    Failures,
    count_failures,
    name_failures,
    nothing_to_run,
)
from factory.orders import documents
from factory.sandbox.policy import Cause, Ended
from shared.errors import RuleText
from shared.languages.acceptance_commands import reports_tests, runs_tests
from shared.languages.registry import language_of

if TYPE_CHECKING:
    from factory.orders.documents import (
        CmdResult,
        CountedTests,
        JudgingCommand,
        Strength,
        VerifiedBy,
    )
    from shared.work_order.work_order import WorkOrder


_TEST_FOLDERS: Final = frozenset({"test", "tests"})

Tests: TypeAlias = "Mapping[str, CountedTests]"
"""The tests that commands reported, by the text of the command. Others reported none."""


def why_nothing_is_proven(
    command: str, tests: CountedTests | None, *, configured: bool = False
) -> str:
    """Return why a test command that succeeded proves nothing, as a sentence; "" if it proves.

    A command that is not a test runner by its text is not expected to run tests. Of one whose
    output says how many ran, silence proves nothing where what is judged has also `configured` it:
    it may have been told to list the tests, or to build none.
    """
    if tests is None and configured and reports_tests(command):
        return (
            "The command succeeded but its output reports no test, so it proves nothing: the "
            "configuration that comes with this change must let the test runner run its tests and "
            "print how many."
        )
    if tests is None or tests.ran or not runs_tests(command):
        return ""
    how = f"skipped all of its {tests.skipped} tests" if tests.skipped > 1 else "ran no test"
    if tests.skipped == 1:
        how = "skipped its only test"
    return f"The command succeeded but {how}, so it proves nothing: the tests it names have to run."


def why_not_believed(ended: Ended) -> str:
    """Return why a command that exited with 0 did not succeed, as a sentence; "" if it did."""
    tests = tests_of(ended)
    if tests is None or not tests.failed:
        return unfinished(ended)
    return f"The command exited with 0, but its output reports {tests.describe()}."


@dataclass(frozen=True, slots=True)
class FewerTests:
    """Say that the verification ran fewer tests than before the order, or no longer says how many.

    `command` is the one that ran fewer; "" if the commands changed and only their sum is
    compared. `now` is `None` if the command succeeded and its output reports no tests. `others`
    is how many tests the other commands ran.
    """

    command: str
    before: documents.CountedTests
    now: int | None
    others: int = 0

    def is_refused(self, order: WorkOrder, *, is_new: bool) -> bool:
        """Return whether `order` fails because nothing shows a test that ran.

        An order may bring a test runner that llmch cannot read, or leave the tests to another
        command: `is_new` says that it writes a file by which tests are started. Where no other
        command counts any, it then says so in `changes`. An order that removes tests may remove the
        last one.
        """
        if any(map(is_test, order.removed_files)):
            return False
        if self.now is None:
            return not (is_new and (self.others or order.changes))
        return self.now == 0

    def describe(self) -> str:
        """Return both numbers, in a few words."""
        least = "at least " if self.before.at_least else ""
        what = f"`{self.command}`" if self.command else "the verification"
        tests = f"{least}{documents.count_of_tests(self.before.ran)}"
        if self.now is None:
            return (
                f"{what} ran {tests} before this order; after it, its output does not say how many"
            )
        return f"{what} ran {tests} before this order and {self.now or 'none'} after it"


def find_fewer_tests(before: Tests, now: Tests, silent: Collection[str] = ()) -> FewerTests | None:
    """Return the command that ran fewer tests than before; one that ran none goes first.

    `silent` are the commands that succeeded and whose output, as far as it was kept, reports no
    tests. Exact numbers are not compared with those that are the least. Where the commands are not
    the same as before, their sums are compared; any other command that reported no tests shows
    nothing.
    """
    found = sorted(_fewer(before, now, silent), key=lambda each: each.now or 0)
    return found[0] if found else None


def _fewer(before: Tests, now: Tests, silent: Collection[str]) -> Iterator[FewerTests]:
    lost = [command for command, then in before.items() if then.ran and command in silent]
    for command in lost:
        yield FewerTests(command, before[command], None, sum_of(now).ran)
    for command, then in before.items():
        if command in now and _is_fewer(then, now[command]):
            yield FewerTests(command, then, now[command].ran)
    if now and not lost and not before.keys() <= now.keys():
        then, sum_now = sum_of(before), sum_of(now)
        if _is_fewer(then, sum_now):
            yield FewerTests("", then, sum_now.ran)


def _is_fewer(then: CountedTests, now: CountedTests) -> bool:
    return now.ran < then.ran and (not now.ran or then.at_least == now.at_least)


def sum_of(tests: Tests) -> CountedTests:
    """Return what all commands counted together."""
    return documents.CountedTests(
        passed=sum(each.passed for each in tests.values()),
        failed=sum(each.failed for each in tests.values()),
        skipped=sum(each.skipped for each in tests.values()),
        at_least=any(each.at_least for each in tests.values()),
    )


def verified_by(
    verify: Sequence[CmdResult],
    acceptance: Sequence[CmdResult],
    exempt: str = "",
    strength: Strength | None = None,
) -> VerifiedBy:
    """Return the account in a summary of the commands that judged an order.

    `exempt` says why the verification only compiled the code; "" if it did not. `strength` is that
    of the acceptance commands, where it was measured.
    """
    verification = tuple(map(_command, verify))
    return documents.VerifiedBy(
        verification=verification,
        acceptance=tuple(map(_command, acceptance)),
        rests_on_acceptance=all(_runs_none(each) for each in verification),
        exempt=exempt,
        strength=strength,
    )


def _command(result: CmdResult) -> JudgingCommand:
    return documents.JudgingCommand(
        command=shlex.join(result.command), exit_code=result.exit_code, tests=result.tests
    )


def _runs_none(command: JudgingCommand) -> bool:
    if command.tests is not None:
        return not command.tests.ran
    return runs_tests(command.command) is False


def takes_away(order: WorkOrder) -> bool:
    """Return whether the order says that something goes, and tests may go with it."""
    return bool(order.changes) or any(map(is_test, order.removed_files))


def is_test(path: str) -> bool:
    """Return whether the file is a test by its path."""
    language = language_of(path)
    if language is None or language.plans is None:
        return not _TEST_FOLDERS.isdisjoint(path.split("/")[:-1])
    return language.plans.is_test_file(path)


def warnings_on(verified: VerifiedBy, fewer: FewerTests | None, order: WorkOrder) -> Iterator[str]:
    """Yield warnings on checks that passed but prove less than they seem to.

    An order that lists `changes` takes something away on purpose, and so does one that removes
    tests. Tests may go with it, but there is a warning if none is left or none shows in the output
    any more.
    """
    if verified.exempt:
        yield f"verification is reduced to compiling: {verified.exempt}"
    elif verified.rests_on_acceptance:
        yield "the verification ran no test: the order rests on its acceptance commands alone"
    elif fewer is not None and (not fewer.now or not takes_away(order)):
        yield fewer.describe()


W234: Final = RuleText(
    "W234",
    "passes on code that does nothing",
    why=(
        "The factory tries each command on a skeleton of the interfaces, whose functions return "
        "0, [] and the like. A command that passes there would pass on any code."
    ),
    bad=r"""{"allowed_files": ["words.py"],
 "interfaces": [{"path": "words.py", "stub": "def pick(seed: int) -> str: ..."}],
 "acceptance_commands": ["python -c \"from words import pick; assert pick(1) == pick(1)\""]}""",
    good=r"""{"allowed_files": ["words.py"],
 "interfaces": [{"path": "words.py", "stub": "def pick(seed: int) -> str: ..."}],
 "acceptance_commands": ["python -c \"from words import pick; assert pick(1) == 'crane'\""]}""",
    remedy=(
        "Assert what only the right code gives: a value worked out from the specification. With "
        "--strict-acceptance an order that has such a command is not begun."
    ),
)

W252: Final = RuleText(
    "W252",
    "passes before anything is written",
    why=(
        "The factory tries each command on the commit that the order starts from. A command that "
        "passes there already says nothing about what the order adds."
    ),
    bad=r"""{"repo": {"words.py": "WORDS = ['crane']\n"},
 "allowed_files": ["words.py"],
 "acceptance_commands": ["python -c \"from words import WORDS; assert 'crane' in WORDS\""]}""",
    good=r"""{"repo": {"words.py": "WORDS = ['crane']\n"},
 "allowed_files": ["words.py"],
 "regression": ["python -c \"from words import WORDS; assert 'crane' in WORDS\""],
 "acceptance_commands": ["python -c \"from words import WORDS; assert 'crane' in WORDS\"",
   "python -c \"from words import WORDS; assert 'label' in WORDS\""]}""",
    remedy=(
        "Assert what the order adds. A command that is meant to pass before it too, because "
        "something has to stay as it is, is listed in `regression` as well."
    ),
)

FLAGS: Final = (W234, W252)


_NAMED: Final = 5  # the most new failures that a message lists by name


@dataclass(frozen=True, slots=True)
class RedCheck:
    """Hold how a check failed: what ended the command, and its failures where they are counted.

    `names` are those that the output lists where it may lack some. `nothing` has the words by which
    the command says that it found nothing to run.
    """

    cause: Cause
    failures: Failures | None = None
    exit_code: int = 0
    names: frozenset[str] = frozenset()
    nothing: str = ""

    @classmethod
    def of(cls, ended: Ended, files: Collection[str]) -> RedCheck:
        """Return the account of a command that failed on a tree that has `files`."""
        output, code = ended.output, ended.exit_code
        failures = count_failures(output)
        exited = ended.cause is Cause.EXITED and not ended.doubt
        nothing = nothing_to_run(output, code, files) if exited and failures is None else ""
        names = name_failures(output) if failures is None else frozenset[str]()
        return cls(ended.cause, failures, code, names, nothing)

    @property
    def named(self) -> frozenset[str]:
        """Return the names of what failed; none where the output counts more than it names."""
        if self.failures is None:
            return self.names
        return self.failures.names if self.failures.all_named else frozenset()

    def describe(self) -> str:
        """Return what failed, in a few words."""
        if self.nothing:
            return f"nothing to verify yet ({self.nothing})"
        if self.failures is not None:
            return f"{self.failures.count} failed"
        return "failed" if self.cause is Cause.EXITED else str(self.cause).replace("_", " ")


@dataclass(frozen=True, slots=True)
class KnownRed:
    """Hold the checks that failed on a commit, by the text of their commands; none as a rule.

    `is_seen` is false where nothing verified the commit, as the base of a replay.
    """

    checks: Mapping[str, RedCheck] = field(default_factory=lambda: MappingProxyType({}))
    is_seen: bool = True

    def allows(self, command: str, now: RedCheck) -> bool:
        """Return whether the command may fail as it did now."""
        before = self.checks.get(command)
        return before is not None and not more_failures(before, now)


NOTHING_RED: Final = KnownRed()
NOT_SEEN: Final = KnownRed(is_seen=False)


def more_failures(before: RedCheck, now: RedCheck) -> str:
    """Return how `now` is worse than `before`, as a sentence; "" if it is not worse."""
    if now.cause is not before.cause or bool(now.nothing) is not bool(before.nothing):
        return f"On the base it failed in another way ({before.describe()})."
    if before.failures is None:
        return _more_uncounted(before, now)
    if now.failures is None:
        return (
            f"On the base it reported {_counted(before.failures)}; now it reports none by count, "
            "so nothing shows that no more tests fail."
        )
    if before.failures.all_named and now.failures.all_named:
        new = now.failures.names - before.failures.names
        return f"These did not fail on the base: {_listed(new)}." if new else ""
    if now.failures.count > before.failures.count:
        return f"On the base there were {_counted(before.failures)}, now {now.failures.count}."
    return ""


def _more_uncounted(before: RedCheck, now: RedCheck) -> str:
    """Return how `now` is worse than a run whose failures nothing counts; "" if it is not."""
    if now.failures is not None:
        return (
            f"On the base nothing counts what failed, and now {_counted(now.failures)} is "
            "reported, so nothing shows that no more fails than before."
        )
    if now.exit_code != before.exit_code:
        return f"On the base it ended with exit code {before.exit_code}."
    if new := now.names - before.names:
        return f"On the base these were not seen to fail: {_listed(new)}."
    return ""


def _listed(names: Collection[str]) -> str:
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(sorted(names)[:_NAMED]) + more


def describe_red(before: RedCheck, now: RedCheck) -> str:
    """Return why a command passes that failed before the order too, and how that was compared."""
    if now.nothing:
        return f"nothing to verify yet: {now.nothing}"
    how = ""
    if now.failures is None or before.failures is None:
        how = "; what failed is not counted, so it was compared by exit code and names alone"
    elif not (now.failures.all_named and before.failures.all_named):
        how = "; not all are named, so they were compared by number alone"
    return f"red before the order too: {before.describe()}, {now.describe()} now{how}"


def _counted(failures: Failures) -> str:
    return "1 failure" if failures.count == 1 else f"{failures.count} failures"


_LOOK_EVERY_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class KnownCommit:
    """Hold what the verification of a commit showed.

    `red` holds the checks that failed. `tests` holds the tests of each command that reported any,
    by the text of the command. `touched` are the files that the commands changed or made, which
    was undone.
    """

    red: KnownRed = NOTHING_RED
    # The fleet's wire resolves this name, so that it has to be there at run time.
    tests: Mapping[str, documents.CountedTests] = field(
        default_factory=lambda: MappingProxyType({})
    )
    touched: frozenset[str] = frozenset()


NOTHING_KNOWN: Final = KnownCommit()


class KnownCommits:
    """Record what is known of the commits that the orders of a run follow.

    Several threads may use it. A commit that was never recorded counts as the base of the run,
    of which nothing is known unless `assume` says otherwise.
    """

    def __init__(self) -> None:
        self._base = NOTHING_KNOWN
        self._known: dict[str, KnownCommit] = {}
        self._expected: set[str] = set()
        self._changed = threading.Condition()

    def assume(self, known: KnownCommit) -> None:
        """Record what is known of the base of the run."""
        self._base = known

    def of(self, commit: str, check_cancelled: Callable[[], None] = lambda: None) -> KnownCommit:
        """Return what is known of `commit`; where it is being verified, wait until that is known.

        `check_cancelled` is called meanwhile, and ends the waiting by raising.
        """
        with self._changed:
            while commit in self._expected:
                check_cancelled()
                self._changed.wait(_LOOK_EVERY_SECONDS)
            return self._known.get(commit, self._base)

    def expect(self, commit: str) -> None:
        """Record that `commit` is about to be verified, so that a thread that asks for it waits."""
        with self._changed:
            if commit not in self._known:
                self._expected.add(commit)

    def learn(self, commit: str, known: KnownCommit) -> None:
        """Record what is known of `commit`, so that an order that follows it may not break more.

        In this way a later order cannot break what an earlier one fixed.
        """
        with self._changed:
            self._known[commit] = known
            self._settle(commit)

    def give_up(self, commit: str) -> None:
        """Record that nothing will be learned of `commit`: it failed, or nobody wants it."""
        with self._changed:
            self._settle(commit)

    def _settle(self, commit: str) -> None:
        self._expected.discard(commit)
        self._changed.notify_all()
