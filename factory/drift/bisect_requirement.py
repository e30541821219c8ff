"""Finds the commit at which a requirement broke, was weakened, or landed, by its tests alone.

Each look at a commit runs the order's own tests, as the plan wants them there, on that commit's
tree. A commit on which they cannot run for a reason that is not the requirement's own is skipped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from factory.audit.audit_evidence import AuditEvidence
from factory.drift.drift import Assertions, open_runs
from factory.drift.history_search import (
    MOST_RUNS,
    AtPlace,
    Border,
    BorderSearch,
    CommitOnMainline,
    Mainline,
)
from factory.drift.judge_order import OrderJudge
from factory.drift.kept_answers import KeptAnswers
from factory.drift.landed_claims import (
    DemandedRequirement,
    ExpectedOrder,
    LandedClaims,
    claims_about,
    read_claims,
)
from factory.drift.requirement_states import (
    CommandAtRev,
    OrderAtRev,
    RequirementState,
    worst_state,
)
from factory.drift.run_commands import CommandRuns
from factory.orders.task import RunOptions
from factory.preflight import RepoPlace
from shared.events.events import Emit
from shared.git import trees
from shared.git.client import Git
from shared.work_order.work_order import Asserted

_SHOWN: Final = 5
_NONE: Final = CommitOnMainline()
_CONFIGURES: Final = (".toml", ".cfg", ".ini", ".mod", ".json")


class Sought(StrEnum):
    """Name what is looked for: the commit at which a requirement came into this state."""

    BROKEN = "broken"
    WEAKENED = "weakened"
    LANDED = "landed"


@dataclass(frozen=True, slots=True)
class SkippedCommit:
    """Hold a commit that cannot be judged, and why."""

    commit: str
    why: str


@dataclass(frozen=True, slots=True)
class Bisected:
    """Hold the commit that was found; its fields are empty where `state` is not what is sought.

    `work_order` landed the requirement, by the commit `landed`. `candidates` are all commits that
    it may be, where those before it cannot be judged. `is_latest` is false where the requirement
    may have been mended and broken again after it. `tested` counts the commits that were looked
    at, and `runs` the commands that were run for it.
    """

    requirement: str
    what: Sought
    state: RequirementState | None
    rev: str
    found: CommitOnMainline = _NONE
    case: str = ""
    detail: str = ""
    work_order: str = ""
    landed: str = ""
    tested: int = 0
    runs: int = 0
    skipped: tuple[SkippedCommit, ...] = ()
    candidates: tuple[str, ...] = ()
    is_latest: bool = True


def bisect_requirement(
    name: str,
    what: Sought,
    claims: LandedClaims,
    assertions: Assertions,
    evidence: AuditEvidence,
    place: RepoPlace,
    options: RunOptions,
    emit: Emit,
) -> Bisected:
    """Return the commit at which a requirement came into the state that is sought.

    Raises `InvalidInput` for a requirement that no order here carries out, and
    `SandboxUnavailable`.
    """
    (demanded,) = claims_about(claims, (name,)).requirements
    mainline = Mainline.read(place.git, claims.rev)
    kept = KeptAnswers.of(place.common_dir)
    with open_runs(claims.rev, place, options, kept, emit) as runs:
        history = RequirementHistory(demanded, claims, assertions, evidence, mainline, runs)
        found = history.landed() if what is Sought.LANDED else history.fallen(what)
        kept.save()
    return found


@dataclass
class RequirementHistory:
    """Follow one requirement through a history."""

    demanded: DemandedRequirement
    claims: LandedClaims
    assertions: Assertions
    evidence: AuditEvidence
    mainline: Mainline
    runs: CommandRuns

    @property
    def git(self) -> Git:
        return self.mainline.git

    @property
    def rev(self) -> str:
        return self.claims.rev

    @cached_property
    def asserting(self) -> tuple[ExpectedOrder, ...]:
        """Return the orders with tests or commands that assert the requirement."""
        name, known = self.demanded.id, self.assertions
        there = (each for each in self.demanded.orders if not each.retired_by)
        return tuple(
            each
            for each in there
            if known[each.landed.identity].get(name, Asserted.NOTHING).can_fail
        )

    # Fallen: broken or weakened

    def fallen(self, what: Sought) -> Bisected:
        """Return the commit that broke or weakened the requirement, if it is so at the end."""
        judged = [
            (each, found)
            for each in self.asserting
            if (found := OrderJudge(self.runs, each, self.rev).judge())
        ]
        state = worst_state(found.state for _, found in judged)
        for expected, at_rev in judged:
            if _is(what, at_rev):
                search = OrderHistory(self, expected, at_rev)
                return search.broken(state) if what is Sought.BROKEN else search.weakened(state)
        details = "; ".join(filter(None, (found.detail for _, found in judged)))
        return Bisected(
            self.demanded.id, what, state, self.rev, detail=details, runs=self.runs.started
        )

    def landing_of(self, expected: ExpectedOrder) -> int:
        """Return the place at which an order is on the branch."""
        if commit := expected.landed.commit:
            return self.mainline.first_with(commit)
        return OrderHistory(self, expected).first_passing()

    def landed(self) -> Bisected:
        """Return the commit that brought the last of the requirement's orders."""
        orders = self.asserting or self.demanded.orders
        places = {self.landing_of(each): each for each in orders}
        place, expected = max(places.items(), key=lambda each: each[0])
        found = self.mainline.describe(place)
        by_itself = found.id != expected.landed.commit
        detail = "it came by a merge" if by_itself and expected.landed.commit else ""
        return Bisected(
            self.demanded.id,
            Sought.LANDED,
            None,
            self.rev,
            found,
            detail=detail,
            work_order=expected.landed.name,
            landed=expected.landed.commit or found.id,
            runs=self.runs.started,
        )

    @cached_property
    def _landings(self) -> list[int]:
        named = (each.landed.commit for each in self.claims.orders if each.landed.commit)
        return sorted(self.mainline.first_with(each) for each in named)

    @cached_property
    def _claims_by_count(self) -> dict[int, LandedClaims]:
        return {len(self._landings): self.claims}

    def expected_at(self, expected: ExpectedOrder, place: int) -> ExpectedOrder:
        """Return what an order asks for at a place: later orders of its plan may ask for more."""
        landed = bisect_right(self._landings, place)
        if not landed:
            return expected
        if landed not in self._claims_by_count:
            at = read_claims(self.evidence, self.mainline.ids[place])
            self._claims_by_count[landed] = at
        orders = self._claims_by_count[landed].orders
        same = (each for each in orders if each.landed.identity == expected.landed.identity)
        return next(same, expected)


def _is(what: Sought, order: OrderAtRev) -> bool:
    if what is Sought.BROKEN:
        return order.state in (RequirementState.BROKEN, RequirementState.GONE)
    return order.state is RequirementState.WEAKENED or bool(order.changed)


@dataclass
class OrderHistory:
    """Look at one order of a requirement at places of a history."""

    of: RequirementHistory
    expected: ExpectedOrder
    at_rev: OrderAtRev | None = None
    skipped: dict[int, str] = field(default_factory=dict)
    seen: dict[int, CommandAtRev] = field(default_factory=dict)
    good: int = 0
    """A place at which the order's files are as they were when they passed."""

    @property
    def runs(self) -> CommandRuns:
        return self.of.runs

    @property
    def mainline(self) -> Mainline:
        return self.of.mainline

    def judge_at(self, place: int) -> OrderJudge:
        """Return what judges the order at a place."""
        expected = self.of.expected_at(self.expected, place)
        return OrderJudge(self.runs, expected, self.mainline.ids[place])

    @cached_property
    def start(self) -> int:
        return self.of.landing_of(self.expected)

    # Broken

    def broken(self, state: RequirementState) -> Bisected:
        command, start = self._failing_command(), self.start
        self.good = start
        at_end = self.seen[self.mainline.last]

        def look(place: int, *, again: bool = False) -> AtPlace:
            return self._look(place, command, at_end, again=again)

        border, search = self._search(start, look, lambda place: look(place, again=True))
        bad = start + border.bad
        seen = self.seen.get(bad, at_end)
        case = next(iter(each for each in seen.failed if each in at_end.failed), "")
        case = case or next(iter(seen.failed), "") or command
        detail = seen.said or at_end.said
        return self._found(Sought.BROKEN, state, start, border, search, case, detail)

    def _failing_command(self) -> str:
        last = self.mainline.last
        judge = self.judge_at(last)
        placed = judge.as_planned()
        for command in judge.commands:
            found = self.runs.run(judge.commit, judge.order, command, placed)
            if not (found.ok or judge.is_of_others(found) or judge.is_given_up(command)):
                self.seen[last] = found
                return command
        return judge.commands[0]

    def _look(self, place: int, command: str, at_end: CommandAtRev, *, again: bool) -> AtPlace:
        """Return whether the failure at the end is there at a place, too."""
        place += self.start
        before = self.seen.get(place)
        if again and self.runs.started + 2 > MOST_RUNS and before and _is_same(before, at_end):
            return AtPlace.BAD  # twice is it at the end that it failed like this
        judge = self.judge_at(place)
        found = self.runs.run(judge.commit, judge.order, command, judge.as_planned(), again=again)
        if found.ok or judge.is_of_others(found):
            self.good = max(self.good, place) if found.ok else self.good
            return AtPlace.GOOD
        self.seen[place] = found
        if _is_same(found, at_end):
            return AtPlace.BAD
        if found.failed and found.all_named and at_end.failed:
            return AtPlace.GOOD  # what fails at the end passed
        if found.fault:
            self.skipped[place] = found.fault
            return AtPlace.UNKNOWN
        if found.failed or self._passes_with_own_files(judge, command):
            return AtPlace.BAD
        self.skipped[place] = found.said
        return AtPlace.UNKNOWN

    def _passes_with_own_files(self, judge: OrderJudge, command: str) -> bool:
        """Return whether the order's own files are what fails: those that passed pass here.

        Else it is something that the requirement has no part in.
        """
        paths = sorted({*judge.order.allowed_files})
        good = self.mainline.ids[self.good]
        found = {each: trees.content_of(self.of.git, good, each) for each in paths}
        there = self.runs.entries(judge.commit)
        own = {p: data for p, data in found.items() if data is not None or p in there}
        overlay = {**own, **judge.as_planned()}
        return self.runs.run(judge.commit, judge.order, command, overlay, again=False).ok

    # Weakened

    def weakened(self, state: RequirementState) -> Bisected:
        at_rev, start = self.at_rev, self.start
        if at_rev and at_rev.changed:
            touched = self.mainline.touching({each.path for each in self.expected.tests})

            def compare(place: int) -> AtPlace:
                return AtPlace.BAD if self.judge_at(start + place).changes() else AtPlace.GOOD

            border, search = self._search(start, compare, compare, touched, free=True)
            changed = self.judge_at(start + border.bad).changes()
            detail = "; ".join(each.describe() for each in (changed or at_rev.changed)[:_SHOWN])
            case = (changed or at_rev.changed)[0].describe()
            return self._found(Sought.WEAKENED, state, start, border, search, case, detail)
        details: dict[int, str] = {}

        def judge(place: int) -> AtPlace:
            found = self.judge_at(start + place).judge()
            if found is None or found.state in (
                RequirementState.PROVEN,
                RequirementState.UNPROVEN,
            ):
                return AtPlace.GOOD
            details[place] = found.detail
            if found.state is RequirementState.WEAKENED:
                return AtPlace.BAD
            self.skipped[start + place] = f"it is {found.state} there"
            return AtPlace.UNKNOWN

        border, search = self._search(start, judge, judge)
        detail = details.get(border.bad, at_rev.detail if at_rev else "")
        case = next(iter(self.expected.order.acceptance_commands), "")
        return self._found(Sought.WEAKENED, state, start, border, search, case, detail)

    # Landed by a commit that does not name it

    def first_passing(self) -> int:
        """Return the first place with the order's files whose tree passes its tests."""
        order = self.expected.order
        placed = {each.path for each in order.acceptance_files}
        touched = self.mainline.touching({*order.allowed_files, *placed})
        for place in touched[: 2 * MOST_RUNS]:
            there = self.runs.entries(self.mainline.ids[place])
            if not placed <= there.keys():
                continue
            judge = self.judge_at(place)
            if all(
                self.runs.run(judge.commit, judge.order, each, judge.as_planned(), again=False).ok
                for each in judge.commands
            ):
                return place
        return touched[0] if touched else 0

    # All of them

    def _search(
        self,
        start: int,
        look: Callable[[int], AtPlace],
        again: Callable[[int], AtPlace],
        touched: Sequence[int] | None = None,
        *,
        free: bool = False,
    ) -> tuple[Border, BorderSearch]:
        """Search the places from `start`; `free` says that a look needs no run."""
        if touched is None:
            touched = self.mainline.touching(self._likely_paths())
        likely = [each - start for each in touched]
        spent = -len(likely) if free else self.runs.started
        search = BorderSearch(look, again, self.mainline.last - start, likely, spent)
        return search.find(), search

    def _likely_paths(self) -> Collection[str]:
        """Return the files and folders that a commit which breaks the order likely touches."""
        found = {*self.expected.order.allowed_files}
        for order in self.expected.before:
            found.update(order.allowed_files)
        for test in self.expected.tests:
            folder = str(PurePosixPath(test.path).parent)
            found.add(test.path if folder == "." else folder)
        entries = self.runs.entries(self.of.rev)
        found.update(e for e in entries if "/" not in e and e.endswith(_CONFIGURES))
        return found

    def _found(
        self,
        what: Sought,
        state: RequirementState,
        start: int,
        border: Border,
        search: BorderSearch,
        case: str,
        detail: str,
    ) -> Bisected:
        ids, bad = self.mainline.ids, start + border.bad
        between = [ids[start + each] for each in border.between]
        landed = self.expected.landed
        if border.good is None:
            detail = "; ".join(filter(None, ("it was so when it landed", detail)))
        return Bisected(
            self.of.demanded.id,
            what,
            state,
            self.of.rev,
            self.mainline.describe(bad),
            case,
            detail,
            landed.name,
            landed.commit or ids[start],
            len(search.looked),
            self.runs.started,
            tuple(SkippedCommit(ids[each], why) for each, why in sorted(self.skipped.items())),
            (*between, ids[bad]) if between else (),
            border.is_latest,
        )


def _is_same(found: CommandAtRev, at_end: CommandAtRev) -> bool:
    """Return whether two failures have a case or, without names, their words in common."""
    if found.failed and at_end.failed:
        return not {*found.failed}.isdisjoint(at_end.failed)
    return not found.failed and not at_end.failed and found.said == at_end.said
