"""Decides the state of one order at a commit, by running what it rests on.

Are its tests in the tree as the plan placed them, do they pass as the plan placed them, did as many
run as when it landed, and do they still fail where the code does nothing?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from factory.drift.changed_tests import find_changes, tests_named
from factory.drift.kept_answers import Entries
from factory.drift.landed_claims import ExpectedOrder, PlacedTest
from factory.drift.requirement_states import (
    ChangedTest,
    CommandAtRev,
    OrderAtRev,
    RequirementState,
)
from factory.drift.run_commands import CommandRuns, Overlay
from shared.git import trees
from shared.git.client import Git
from shared.languages.appended_tests import CannotAppend, whole_tests
from shared.languages.registry import LANGUAGES, language_of
from shared.processes.shell_words import UnsplittableError, split_words
from shared.work_order.work_order import Interface, WorkOrder

_SHOWN: Final = 3
_HAS_TEST_NAME: Final = re.compile(r"::|^Test\w")


@dataclass
class OrderJudge:
    """Decide the state of an order at a commit; `runs` runs commands, or knows how they end."""

    runs: CommandRuns
    expected: ExpectedOrder
    commit: str

    @property
    def git(self) -> Git:
        return self.runs.repo.git

    @property
    def order(self) -> WorkOrder:
        return self.expected.order

    @cached_property
    def entries(self) -> Entries:
        return self.runs.entries(self.commit)

    @cached_property
    def commands(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.order.acceptance_commands))

    def judge(self) -> OrderAtRev | None:
        """Return the state; `None` where later orders of the plan gave up all that it asserts."""
        changed = self.changes()
        placed = self._as_placed(self.commit, self.expected.tests) if changed else {}
        found = {each: self._run(self.commit, each, placed) for each in self.commands}
        failed = [each for each in found.values() if not each.ok and not self.is_of_others(each)]
        given_up = [each for each in failed if self.is_given_up(each.command)]
        failed = [each for each in failed if each not in given_up]
        if given_up and len(given_up) == len(found):
            return None
        flaky = tuple(each.command for each in found.values() if each.flaky)
        if failed and not changed and all(each.ran_nothing for each in failed):
            said = f"`{failed[0].command}`: {failed[0].said}"
            state = RequirementState.GONE if self._gone() else RequirementState.WEAKENED
            return self._state(state, self._gone() or said, changed, flaky)
        if failed:
            return self._failed(failed, changed, flaky)
        if changed:
            shown = _listed(each.describe() for each in changed)
            how = "" if self.expected.tests and not placed else "; as planned, it passes"
            return self._state(RequirementState.WEAKENED, f"{shown}{how}", changed, flaky)
        passed = [each for each in found.values() if each not in given_up]
        if fewer := self._fewer(passed):
            return self._state(RequirementState.WEAKENED, fewer, (), flaky)
        state, detail = self._on_hollow_code([each.command for each in passed])
        return self._state(state, detail, (), flaky)

    def _failed(
        self,
        failed: Sequence[CommandAtRev],
        changed: Sequence[ChangedTest],
        flaky: tuple[str, ...],
    ) -> OrderAtRev:
        lacking = next((each.fault for each in failed if each.fault), "")
        if lacking and self._lacks_it_too(failed):
            detail = f"it cannot be run here: {lacking}"
            return self._state(RequirementState.UNPROVEN, detail, changed, flaky)
        cases = tuple(dict.fromkeys(case for each in failed for case in each.failed))
        gone = self._gone()
        told = gone or f"{_listed(cases) or f'`{failed[0].command}`'}: {failed[0].said}"
        softer = f"; {_listed(each.describe() for each in changed)}" if changed else ""
        state = RequirementState.GONE if gone else RequirementState.BROKEN
        return self._state(state, told + softer, changed, flaky, cases)

    def _state(
        self,
        state: RequirementState,
        detail: str,
        changed: Sequence[ChangedTest] = (),
        flaky: tuple[str, ...] = (),
        cases: tuple[str, ...] = (),
    ) -> OrderAtRev:
        landed, tests = self.expected.landed, tuple(each.path for each in self.expected.tests)
        if flaky:
            detail = "; ".join(filter(None, (detail, f"flaky: {_listed(flaky)}")))
        return OrderAtRev(
            landed.name,
            landed.commit,
            state,
            detail,
            tests or self.commands,
            cases,
            tuple(changed),
            flaky,
        )

    def changes(self) -> tuple[ChangedTest, ...]:
        """Return what of the tests is not as the plan placed them; nothing is run for it."""
        return tuple(self._changes())

    def as_planned(self) -> Overlay:
        """Return the tests as the plan placed them, where the commit has others."""
        return self._as_placed(self.commit, self.expected.tests) if self.changes() else {}

    def _run(self, commit: str, command: str, overlay: Overlay) -> CommandAtRev:
        return self.runs.run(commit, self.order, command, overlay)

    def _passes(self, commit: str, command: str, overlay: Overlay) -> bool:
        """Return whether a command that should fail passes, as far as the order's tests go."""
        found = self.runs.run(commit, self.order, command, overlay, again=False)
        return found.ok or self.is_of_others(found)

    # The tests

    def _changes(self) -> Iterator[ChangedTest]:
        for test in self.expected.tests:
            entry = self.entries.get(test.path)
            if entry and test.commit:
                placed = self.runs.entries(test.commit).get(test.path)
                if placed == entry:
                    continue
            data = trees.content_of(self.git, self.commit, test.path) if entry else None
            for piece in test.pieces:
                yield from find_changes(test.path, piece, data)

    def _as_placed(self, commit: str, tests: Sequence[PlacedTest]) -> Overlay:
        """Return the files of tests as the plan placed them last."""
        found: dict[str, bytes] = {}
        for test in tests:
            data = trees.content_of(self.git, test.commit, test.path) if test.commit else None
            if data is None:
                data = self._put_together(commit, test)
            if data is not None:
                found[test.path] = data
        return found

    def _put_together(self, commit: str, test: PlacedTest) -> bytes | None:
        texts: dict[str, str] = {}
        there = trees.content_of(self.git, commit, test.path)
        if there is not None and test.pieces[0].append is not None:
            texts[test.path] = there.decode("utf-8", "replace")
        try:
            for piece in test.pieces:
                (whole,) = whole_tests([piece], texts.get)
                texts[test.path] = whole.content
        except CannotAppend:
            return None
        return texts[test.path].encode()

    def is_of_others(self, found: CommandAtRev) -> bool:
        """Return whether all that failed are tests that are not the order's, by their names."""
        own = {name for test in self.expected.tests for name in tests_named(test.pieces)}
        if not (own and found.all_named and all(map(_HAS_TEST_NAME.search, found.failed))):
            return False
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(own)))})\b")
        return not any(map(pattern.search, found.failed))

    def is_given_up(self, command: str) -> bool:
        """Return whether a later order of the plan made a command fail that passed until then."""
        own = _paths_of(self.order)
        for later in self.expected.later:
            if not (later.is_certain and later.commit and later.base):
                continue
            if own.isdisjoint(_paths_of(later.order)):
                continue
            if self._run(later.commit, command, {}).ok:
                continue
            if self._run(later.base, command, {}).ok:
                return True
        return False

    def _fewer(self, found: Sequence[CommandAtRev]) -> str:
        """Return how fewer of the planned tests ran than when they were placed; "" if not.

        What a statement says of them only has both be counted again.
        """
        last = next((each.commit for each in reversed(self.expected.tests) if each.commit), "")
        landed_at = last or self.expected.landed.commit
        if not landed_at or any(each.ran is None for each in found):
            return ""
        names = {(test.path, name) for test in self.expected.tests
                 for name in tests_named(test.pieces)}  # fmt: skip
        too_few = sum(each.ran or 0 for each in found) < len(names)
        for each in found:
            ran = each.ran or 0
            if not (too_few or each.skipped or ran < self._stated(each.command)):
                continue
            placed = self._as_placed(self.commit, self.expected.tests)
            now, then = (
                self._run(self.commit, each.command, placed),
                self._run(landed_at, each.command, {}),
            )
            if then.ok and (now.ran or 0) < (then.ran or 0):
                skipped = f" and skips {now.skipped}" if now.skipped else ""
                return f"`{each.command}` runs {now.ran or 0} of {then.ran} planned tests{skipped}"
        return ""

    def _stated(self, command: str) -> int:
        """Return how many tests a command ran, by the last statement that says it."""
        words, landed = _words(command), self.expected.landed
        told = [landed, *(each for each in self.expected.later if each.is_certain)]
        return next((each.counted[words] for each in reversed(told) if words in each.counted), 0)

    # The code

    def _gone(self) -> str:
        """Return that the files which the order brought are gone; "" if one of them is there."""
        order, landed = self.order, self.expected.landed
        placed = {each.path for each in order.acceptance_files}
        removed = {path for each in self.expected.later for path in each.order.removed_files}
        brought = {each.path for each in order.interfaces}
        if landed.commit and not brought:
            then = self.runs.entries(landed.commit)
            before = self.runs.entries(landed.base) if landed.base else {}
            made = {each for each in order.allowed_files if each in then and each not in before}
            brought = made
        brought = brought or {*order.allowed_files}
        wanted = sorted(brought - placed - removed)
        if not wanted or any(each in self.entries for each in wanted):
            return ""
        return f"{_listed(wanted)} {'is' if len(wanted) == 1 else 'are'} gone{self._moved(wanted)}"

    def _moved(self, gone: Sequence[str]) -> str:
        """Return where the content of a file that is gone is now, as far as it is the same."""
        if not (commit := self.expected.landed.commit):
            return ""
        then = self.runs.entries(commit)
        ids = {then[each].object_id for each in gone if each in then}
        now = sorted(path for path, each in self.entries.items() if each.object_id in ids)
        return f", its content is in {now[0]}" if now else ""

    def _lacks_it_too(self, failed: Sequence[CommandAtRev]) -> bool:
        """Return whether this machine lacks what the commands need also where the order landed."""
        commit = self.expected.landed.commit
        return not commit or any(
            self._run(commit, each.command, {}).fault for each in failed if each.fault
        )

    def _on_hollow_code(self, passed: Sequence[str]) -> tuple[RequirementState, str]:
        """Return whether the commands that pass prove the code: they fail where it does nothing."""
        telling = [each for each in passed if each not in self.order.regression]
        hollow = self._skeleton(self.commit, self.expected.before)
        passing = self._passing(self.commit, telling, hollow) if hollow else telling
        if telling and not passing:
            return RequirementState.PROVEN, ""
        if hollow and (lost := self._lost(passing)):
            return RequirementState.WEAKENED, f"`{lost}` also passes where the code does nothing"
        if len(passing) < len(telling):
            return RequirementState.PROVEN, ""
        return self._without_the_order(passing)

    def _lost(self, passing: Sequence[str]) -> str:
        """Return a command that passes on hollow code and did not where the order landed."""
        commit = self.expected.landed.commit
        if not commit:
            return ""
        then = self._skeleton(commit, self._orders_until_landed())
        kept = self._passing(commit, passing, then) if then else ()
        return next((each for each in passing if each not in kept), "")

    def _without_the_order(self, commands: Sequence[str]) -> tuple[RequirementState, str]:
        """Return whether the commands fail where the order's files are as before it."""
        nothing = "nothing shows that its commands fail without its code"
        commit = self.expected.landed.commit
        before = self._before(self.commit)
        if not (commands and commit and before):
            return RequirementState.UNPROVEN, nothing
        passing = self._passing(self.commit, commands, before)
        if len(passing) < len(commands):
            return RequirementState.PROVEN, ""
        then = self._passing(commit, passing, self._before(commit))
        if len(then) < len(passing):
            lost = next(each for each in passing if each not in then)
            return RequirementState.WEAKENED, f"`{lost}` also passes without the order's files"
        return RequirementState.UNPROVEN, nothing

    def _passing(self, commit: str, commands: Sequence[str], overlay: Overlay) -> tuple[str, ...]:
        return tuple(each for each in commands if self._passes(commit, each, overlay))

    def _orders_until_landed(self) -> Sequence[WorkOrder]:
        gone = {each.order.id for each in self.expected.later}
        return [each for each in self.expected.before if each.id not in gone]

    def _skeleton(self, commit: str, orders: Sequence[WorkOrder]) -> Overlay:
        """Return the files of the order's interfaces, in which what it declares does nothing.

        Where others of the `orders` change declarations, those in force after the last of them
        count. A test beside its code has no skeleton.
        """
        order, entries = self.order, self.runs.entries(commit)
        placed = {each.path for each in order.acceptance_files}
        paths = {each.path for each in order.interfaces if each.path in order.allowed_files}
        if paths & placed:
            return {}
        found: dict[str, bytes] = {}
        for language in LANGUAGES:
            if language.conformance is None:
                continue
            changing = any(each.changes for each in orders if each is not order)
            in_force = language.conformance.contracts_in_force(orders if changing else [order])
            own = [
                each.model_copy(update={"path": _present(each.path, entries)})
                for each in in_force
                if each.path in paths and language_of(each.path) is language
            ]
            made = language.conformance.build_skeleton(own, self._sources(commit, own))
            found.update({path: text.encode() for path, text in made.items()})
        return found

    def _sources(self, commit: str, own: Sequence[Interface]) -> Mapping[str, str]:
        texts = {}
        for each in own:
            data = trees.content_of(self.git, commit, each.path)
            if data is not None:
                texts[each.path] = data.decode("utf-8", "replace")
        return texts

    def _before(self, commit: str) -> Overlay:
        """Return the files that the order changed as they were before it, over a commit's."""
        landed, there = self.expected.landed, self.runs.entries(commit)
        if not landed.commit:
            return {}
        then = self.runs.entries(landed.commit)
        before = self.runs.entries(landed.base) if landed.base else {}
        placed = {each.path for each in self.order.acceptance_files}
        own = {*self.order.allowed_files, *self.order.removed_files} - placed
        found: dict[str, bytes | None] = {}
        for path in sorted(each for each in own if then.get(each) != before.get(each)):
            if path in before:
                found[path] = trees.content_of(self.git, landed.base, path)
            elif path in there:
                found[path] = None
        return found


def _paths_of(order: WorkOrder) -> frozenset[str]:
    placed = (each.path for each in order.acceptance_files)
    return frozenset((*order.allowed_files, *order.removed_files, *placed))


def _present(path: str, entries: Entries) -> str:
    """Return the path of a module: a folder of its name may have taken the place of the file."""
    if path in entries:
        return path
    folder, suffix = PurePosixPath(path).with_suffix(""), PurePosixPath(path).suffix
    inside = [
        each for each in entries if each.endswith(suffix) and PurePosixPath(each).parent == folder
    ]
    return inside[0] if len(inside) == 1 else path


def _words(command: str) -> tuple[str, ...]:
    try:
        return split_words(command).texts
    except UnsplittableError:
        return ()


def _listed(texts: Sequence[str] | Iterator[str]) -> str:
    """Return texts as a sentence lists them, the first few of them."""
    found = [*texts]
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more
