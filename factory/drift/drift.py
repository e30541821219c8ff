"""Decides the state of each requirement at a commit, and of the commit that a merge would be.

Two branches can each keep all that is asked of them, and their merge not: nothing of it need
conflict. So the states are those of three trees, and only the merge's decides.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.audit.audit_evidence import AuditEvidence
from factory.drift.judge_order import OrderJudge
from factory.drift.kept_answers import KeptAnswers, KeptTree, key_of
from factory.drift.landed_claims import (
    DemandedRequirement,
    ExpectedOrder,
    LandedClaims,
    commit_asked_for,
    read_claims,
)
from factory.drift.requirement_states import (
    GATED,
    Drift,
    MeasuredStrength,
    OrderAtRev,
    RequirementAtRev,
    RequirementState,
    VerificationAtRev,
)
from factory.drift.run_commands import CommandRuns
from factory.judging.proof import KnownCommits
from factory.judging.strength import Measured, measure
from factory.orders.documents import Strength
from factory.orders.order_commit import NOBODY, OrderIdentity
from factory.orders.read_orders import NOT_EXEMPT
from factory.orders.task import RunOptions
from factory.preflight import Repo, RepoPlace
from factory.run.baseline import Baseline
from factory.run.reproduce import open_pool_beside_runs
from factory.sandbox.toolchains import changed_ns
from factory.workbench.pool import WorkbenchPool, sweep_side_workspaces
from shared import VERSION
from shared.errors import InvalidInput, PreflightRefused
from shared.events.events import Emit, Noted
from shared.git import commits, repos, trees
from shared.git.client import Git
from shared.work_order.work_order import Asserted

Assertions = Mapping[OrderIdentity, Mapping[str, Asserted]]
"""What of each order asserts each requirement that it covers."""

_MOST_AT_ONCE: Final = 4


def find_drift(
    claims: LandedClaims, assertions: Assertions, place: RepoPlace, options: RunOptions, emit: Emit
) -> Drift:
    """Return the state of each requirement at the commit of the claims.

    Where the whole tree is as it was when it was last looked at, no command is run. No lock is
    taken and no run is disturbed. Raises `SandboxUnavailable`.
    """
    kept = KeptAnswers.of(place.common_dir)
    key, quick = _tree_key(claims, place), _quick_key(options, place)
    if (answer := _kept_answer(kept, key, quick)) is not None:
        return _about(answer, claims)
    with open_runs(claims.rev, place, options, kept, emit) as runs:
        tree = runs.tree(claims.rev)
        outside = (*tree.outside, *_outside(place))
        before = kept.tree(key)
        if before is not None and before.environment == tree.around:
            drift = _about(before.drift, claims)
        else:
            drift = _found(claims, assertions, runs)
        kept.keep_tree(
            key, KeptTree(quick=quick, outside=outside, environment=tree.around, drift=drift)
        )
        kept.save()
    return drift


def kept_drift(claims: LandedClaims, place: RepoPlace, options: RunOptions) -> Drift | None:
    """Return the states that are on record for this very tree; `None` if there are none."""
    kept = KeptAnswers.of(place.common_dir)
    key, quick = _tree_key(claims, place), _quick_key(options, place)
    answer = _kept_answer(kept, key, quick)
    return None if answer is None else _about(answer, claims)


def _about(drift: Drift, claims: LandedClaims) -> Drift:
    """Return an answer as one about the commit that was asked for: its tree is the same."""
    found = (drift.requirements, drift.verification, claims.gaps, claims.is_whole)
    return Drift(claims.rev, *found)


def _kept_answer(kept: KeptAnswers, key: str, quick: str) -> Drift | None:
    answer = kept.tree(key)
    if answer is None or answer.quick != quick:
        return None
    if any(changed_ns(Path(path)) != then for path, then in answer.outside):
        return None
    return answer.drift


def _tree_key(claims: LandedClaims, place: RepoPlace) -> str:
    """Return the key of a tree with all that is claimed of it."""
    claimed = [
        [
            [*_identity(each.landed.identity), each.landed.commit, each.landed.base],
            [[test.path, test.commit, len(test.pieces)] for test in each.tests],
            [order.id for order in each.before],
            [later.name for later in each.later],
        ]
        for each in claims.orders
    ]
    texts = [[each.id, each.text] for each in claims.requirements]
    return key_of(trees.tree_of(place.git, claims.rev), claimed, texts)


def _identity(identity: OrderIdentity) -> tuple[str, str, str]:
    return identity.work_order, identity.key, identity.plan


def _quick_key(options: RunOptions, place: RepoPlace) -> str:
    """Return the key of what was chosen for commands, which needs no workspace to be known."""
    settings = options.settings
    variables = {each: os.environ.get(each) for each in ("PATH", *settings.sandbox.env)}
    chosen = (
        settings.sandbox,
        settings.verify,
        settings.link,
        settings.timeout_seconds,
        options.python,
        options.retry_flaky,
        options.install_dependencies,
        options.allow_red,
    )
    return key_of(
        VERSION, platform.release(), variables, [repr(e) for e in chosen], str(place.tree)
    )


def _outside(place: RepoPlace) -> Iterator[tuple[str, int]]:
    """Yield what decides on the sandbox and on the folders that commands are shown."""
    bwrap = shutil.which("bwrap")
    for each in (place.tree, *([Path(bwrap)] if bwrap else ())):
        yield str(each), changed_ns(each)


@contextlib.contextmanager
def open_runs(
    rev: str, place: RepoPlace, options: RunOptions, kept: KeptAnswers, emit: Emit
) -> Iterator[CommandRuns]:
    """Open what runs commands on commits; the first workspace is opened on `rev` at once."""
    sweep_side_workspaces(place.git, place.common_dir)
    with (
        tempfile.TemporaryDirectory(prefix="llmch-drift-") as folder,
        open_pool_beside_runs(rev, place, options, emit) as (repo, pool),
    ):
        yield CommandRuns(options, repo, pool, kept, Path(folder), emit)


def _found(claims: LandedClaims, assertions: Assertions, runs: CommandRuns) -> Drift:
    asserting = [each for each in claims.orders if _asserts(each, assertions)]

    def judged(each: ExpectedOrder) -> OrderAtRev | None:
        return None if each.retired_by else OrderJudge(runs, each, claims.rev).judge()

    at_once = min(_MOST_AT_ONCE, os.cpu_count() or 1, max(1, len(asserting)))
    with ThreadPoolExecutor(at_once, "drift") as threads:
        found = dict(
            zip((e.landed.identity for e in asserting), threads.map(judged, asserting), strict=True)
        )
    rows = [_Row(each, assertions, found).at_rev() for each in claims.requirements]
    ranked = sorted(rows, key=lambda each: -tuple(RequirementState).index(each.state))
    verified = verification_at(claims.rev, runs)
    return Drift(claims.rev, tuple(ranked), verified, claims.gaps, claims.is_whole)


def _asserts(expected: ExpectedOrder, assertions: Assertions) -> bool:
    asserted = assertions[expected.landed.identity].values()
    return any(each.can_fail for each in asserted)


@dataclass(frozen=True, slots=True)
class _Row:
    """Put together what was found of a requirement's orders; `None` is one that was given up."""

    demanded: DemandedRequirement
    assertions: Assertions
    found: Mapping[OrderIdentity, OrderAtRev | None]

    def at_rev(self) -> RequirementAtRev:
        told = {each.landed.identity: self._told(each) for each in self.demanded.orders}
        asserting = [e for e in self.demanded.orders if told[e.landed.identity].can_fail]
        states = [self.found[each.landed.identity] for each in asserting]
        there = tuple(each for each in states if each is not None)
        strongest = next(each for each in Asserted if each in told.values())
        why = ""
        if not asserting:
            why = strongest.describe()
        elif not there:
            why = f"{_taken_by(asserting)} gave up what asserted it"
        orders = there or tuple(
            OrderAtRev(each.landed.name, each.landed.commit, RequirementState.UNPROVEN)
            for each in self.demanded.orders
        )
        return RequirementAtRev(self.demanded.id, self.demanded.text, orders, strongest, why)

    def _told(self, expected: ExpectedOrder) -> Asserted:
        asserted = self.assertions[expected.landed.identity]
        return asserted.get(self.demanded.id, Asserted.NOTHING)


def _taken_by(orders: list[ExpectedOrder]) -> str:
    retired = (each.retired_by for each in orders)
    return next(filter(None, retired), "a later order")


def verification_at(commit: str, runs: CommandRuns) -> VerificationAtRev:
    """Return how the repository's own verification ends on a commit."""
    repo: Repo = runs.repo
    pool: WorkbenchPool = runs.pool
    folder = runs.folder / "base"
    base = Baseline(runs.options, repo, pool, folder, KnownCommits(), runs.emit)
    if not base.look(commit).is_known:
        return VerificationAtRev("none", "nothing verifies this repository")
    try:
        base.verify(commit, NOT_EXEMPT)
    except PreflightRefused as refused:
        return VerificationAtRev("failed", refused.message)
    return VerificationAtRev("passed")


def with_strength(
    drift: Drift, claims: LandedClaims, place: RepoPlace, options: RunOptions, emit: Emit
) -> Drift:
    """Return the states with the strength of each requirement that is proven or weakened.

    The order's commands run on the commit's tree with small faults in those of its lines that the
    order's own commit wrote. Raises `SandboxUnavailable`, and `CommandFailed` if disk or git
    refuse.
    """
    measurable = (RequirementState.PROVEN, RequirementState.WEAKENED)
    wanted = {each.id for each in drift.requirements if each.state in measurable}
    orders = {
        order.landed.identity: order
        for each in claims.requirements
        if each.id in wanted
        for order in each.orders
        if order.landed.commit
    }
    if not orders:
        return drift
    sweep_side_workspaces(place.git, place.common_dir)
    found: dict[OrderIdentity, Strength] = {}
    with open_pool_beside_runs(claims.rev, place, options, emit) as (repo, pool):
        for identity, expected in orders.items():
            asked = Measured(
                repo.git,
                expected.order,
                claims.rev,
                _lines_left(repo.git, claims.rev, expected),
                pool.lend,
                options.settings.strength,
                options.settings.timeout_seconds,
                min(_MOST_AT_ONCE, os.cpu_count() or 1),
            )
            found[identity] = measure(asked)
            emit(Noted(f"{expected.order.id}: {found[identity].score}"))
    by_requirement = {
        each.id: [found[one.landed.identity] for one in each.orders if one.landed.identity in found]
        for each in claims.requirements
    }
    rows = (
        replace(each, strength=_together(by_requirement[each.id])) if each.id in wanted else each
        for each in drift.requirements
    )
    return replace(drift, requirements=tuple(rows))


def _lines_left(git: Git, rev: str, expected: ExpectedOrder) -> Mapping[str, frozenset[int]]:
    """Return the lines of a commit that the order's own commit wrote, by path."""
    landed = expected.landed
    paths = trees.files_between(git, landed.base, landed.commit) if landed.base else frozenset()
    return {path: trees.lines_from(git, rev, landed.commit, path) for path in sorted(paths)}


def _together(parts: list[Strength]) -> MeasuredStrength | None:
    """Return the strength of a requirement's orders together; `None` if nothing was measured."""
    if not any(each.of for each in parts):
        return None
    return MeasuredStrength(
        sum(each.killed for each in parts),
        sum(each.of for each in parts),
        tuple(dict.fromkeys(survivor for each in parts for survivor in each.survivors)),
    )


_BADNESS: Final = {each: number for number, each in enumerate(RequirementState)}


@dataclass(frozen=True, slots=True)
class MergeSides:
    """Hold what is merged, and the commit that is the result; "" where there are conflicts."""

    base: str
    head: str
    result: str
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedRequirement:
    """Hold the states of a requirement on both sides and on the result.

    A state is `None` where the history has no order for it.
    """

    id: str
    text: str
    base: RequirementState | None
    head: RequirementState | None
    merge: RequirementState | None
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Return whether what a side has proven is proven still, and nothing else got worse.

        What is in no plan of the result any more is no longer asked for.
        """
        sides = [each for each in (self.base, self.head) if each is not None]
        if self.merge is None:
            return True
        if RequirementState.PROVEN in sides:
            return self.merge is RequirementState.PROVEN
        worst = max((_BADNESS[each] for each in sides), default=-1)
        return self.merge not in GATED or _BADNESS[self.merge] <= worst


@dataclass(frozen=True, slots=True)
class MergeProof:
    """Hold what became of all requirements, those that fail first; `gaps` is what was not read.

    `is_whole` says that the base has no order beyond those that were read: of what was not seen,
    nothing can be said to hold. What a branch claims beyond them proves nothing.
    """

    sides: MergeSides
    requirements: tuple[MergedRequirement, ...] = ()
    gaps: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def ok(self) -> bool:
        return (
            self.is_whole
            and not self.sides.conflicts
            and all(each.ok for each in self.requirements)
        )


def find_sides(git: Git, named: str) -> MergeSides:
    """Return what `BASE..HEAD` merges: HEAD itself where it is the merge of BASE with a branch.

    Else the merge is made without a working tree, and no ref has it. Raises `InvalidInput`.
    """
    base_name, dots, head_name = named.partition("..")
    if not (base_name and dots and head_name) or head_name.startswith("."):
        raise InvalidInput(
            f"{named!r} does not name two commits",
            "give the target branch and the branch as BASE..HEAD, such as origin/main..HEAD",
        )
    base, head = commit_asked_for(git, base_name), commit_asked_for(git, head_name)
    (tip,) = commits.log(git, head, limit=1)
    if tip.parents[:1] == (base,) and len(tip.parents) == 2:
        return MergeSides(base, tip.parents[1], head)
    if commits.is_ancestor(git, base, head):
        return MergeSides(base, head, head)
    if commits.is_ancestor(git, head, base):
        return MergeSides(base, head, base)
    if not commits.merge_base(git, base, head):
        shallow = "; `git fetch --unshallow` brings it" if repos.is_shallow(git) else ""
        raise InvalidInput(f"the history here has nothing that {named} have in common{shallow}")
    merged = commits.merge_trees(git, base, head)
    if merged.conflicts:
        return MergeSides(base, head, "", merged.conflicts)
    facts = commits.CommitFacts(
        f"Merge {head[:12]} into {base[:12]}\n", NOBODY.name, NOBODY.email, "@0 +0000"
    )
    return MergeSides(base, head, commits.write(git, merged.tree, base, facts, head))


def prove_merge(
    named: str,
    evidence: AuditEvidence,
    assertions_in: Callable[[LandedClaims], Assertions],
    place: RepoPlace,
    options: RunOptions,
    emit: Emit,
) -> MergeProof:
    """Return what the merge `BASE..HEAD` leaves of the requirements.

    How a command ended on one of the trees is kept for the others, so what neither side's
    changes reach is run once. Raises as `find_sides` and `find_drift` do.
    """
    sides = find_sides(place.git, named)
    if not sides.result:
        return MergeProof(sides)

    def drift_at(rev: str) -> Drift:
        claims = read_claims(evidence, rev)
        return find_drift(claims, assertions_in(claims), place, options, emit)

    found = [drift_at(each) for each in (sides.base, sides.head, sides.result)]
    rows = sorted(_rows(found), key=lambda each: each.ok)
    gaps = dict.fromkeys(gap for each in found for gap in each.gaps)
    return MergeProof(sides, tuple(rows), tuple(gaps), found[0].is_whole)


def _rows(found: Sequence[Drift]) -> Iterator[MergedRequirement]:
    base, head, merge = ({each.id: each for each in one.requirements} for one in found)
    for name in dict.fromkeys((*merge, *base, *head)):
        last = merge.get(name)
        text = next(each[name].text for each in (merge, base, head) if name in each)
        detail = last.detail if last else "no plan asks for it any more"
        yield MergedRequirement(
            name,
            text,
            _state(base.get(name)),
            _state(head.get(name)),
            _state(last),
            detail,
        )


def _state(row: RequirementAtRev | None) -> RequirementState | None:
    return row.state if row else None
