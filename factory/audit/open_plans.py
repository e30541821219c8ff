"""Finds the plans of a repo whose branch is not merged yet.

The commits say which plans there are, since each names its plan. The records of runs say where the
whole plan is; where there are none, as in a clone, the statements on the commits have the orders
that landed, and the notes have the requirements. A statement's order is believed where its hash is
the one that the commit names; nothing else of it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from factory.orders.order_commit import (
    NOTES_REF,
    ORDER_TRAILER,
    OrderIdentity,
    demands_in,
    landed_orders,
)
from factory.preflight import RepoPlace
from factory.record.runs_on_record import places_of_runs, read_run_document
from factory.statement.statement import Statement, parse_bundle, read_envelopes
from shared.errors import InvalidInput
from shared.git import commits, refs
from shared.git.client import Git
from shared.git.commits import DatedCommit
from shared.work_order.parse_order import DocumentInvalid, order_key, parse_document
from shared.work_order.plan_folder import MANIFEST_NAME, PlanFacts, read_manifest
from shared.work_order.work_order import WorkOrder

_MOST_COMMITS: Final = 20_000  # that the target branch lacks, newest first
_MOST_RECORDS: Final = 400  # of runs, newest first


@dataclass(frozen=True, slots=True)
class UnmergedPlan:
    """Hold a plan whose commits are on `branch` and not yet on the branch that it is merged to.

    `plan` is its hash, and `lineage` those of the plans before it. `orders` are all of its orders
    where `folder` has them, else those that landed and whose statements were found; `landed` are
    the ids of those that landed. `requirements` are texts by id. `behind` counts the commits that
    the branch lacks, and `last` is the time of its last commit, in seconds.
    """

    branch: str
    tip: str
    plan: str
    title: str
    landed: tuple[str, ...]
    last: int
    orders: tuple[WorkOrder, ...] = ()
    requirements: Mapping[str, str] | None = None
    lineage: tuple[str, ...] = ()
    folder: Path | None = None
    behind: int = 0

    @property
    def total(self) -> int | None:
        """Return how many orders the plan has; `None` where only those that landed are known."""
        return len(self.orders) if self.folder is not None else None

    @property
    def is_complete(self) -> bool:
        """Return whether all orders have landed, as far as that is known."""
        return self.folder is not None and not self.left

    @property
    def left(self) -> tuple[str, ...]:
        """Return the ids of the orders that have not landed, as far as they are known."""
        return tuple(each.id for each in self.orders if each.id not in self.landed)

    def is_of_line_of(self, plan: PlanFacts) -> bool:
        """Return whether this is `plan`, or one of the two follows the other."""
        own = {self.plan, *self.lineage}
        return bool(own.intersection((plan.manifest_sha256, *plan.lineage)))


def target_of(git: Git) -> str:
    """Return the branch that plans are merged to: the one checked out, if it is no plan's own."""
    here = git.try_run("symbolic-ref", "--quiet", "--short", "HEAD").stdout.decode().strip()
    if here and not here.startswith("factory/"):
        return here
    usual = ("refs/remotes/origin/HEAD", "main", "master")
    return next((each for each in usual if refs.commit_of(git, each)), "HEAD")


def find_open_plans(
    place: RepoPlace, artifacts: Path, target: str = ""
) -> tuple[UnmergedPlan, ...]:
    """Return the plans whose commits `target` lacks, those with the newest commit first.

    A plan is found on each branch that has commits of it, but not on one that only goes on from
    there. Raises `InvalidInput` if `target` does not name a commit.
    """
    git = place.git
    base = refs.commit_of(git, target or target_of(git))
    if not base:
        return ()
    tips = _tips(git, base)
    since = {each.id: each for each in commits.dated(git, tips, base, limit=_MOST_COMMITS)}
    own = {
        each.id: tuple(landed_orders([(each.id, each.message)]))
        for each in since.values()
        if ORDER_TRAILER in each.message
    }
    if not own:
        return ()
    rows = list(_on_branches(tips, since, own))
    behind = commits.lacking(git, base, [tip for _, tip, _, _ in rows], limit=_MOST_COMMITS)
    plans = {plan for _, _, plan, _ in rows if plan}
    known = _known_plans(plans, artifacts, place, [branch for branch, *_ in rows])
    stated = _Stated.read(git, own, {plan for plan in plans if plan not in known})
    found = [
        _open_plan(row, since[row[1]].seconds, known.get(row[2]), stated, behind.get(row[1], 0))
        for row in rows
    ]
    return tuple(sorted(found, key=lambda each: (-each.last, each.branch, each.plan)))


def _tips(git: Git, base: str) -> Mapping[str, str]:
    """Return the branches by name; one of a remote is left out where the same is here."""
    listed = git.run(
        "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", "refs/heads",
        "refs/remotes",
    ).splitlines()  # fmt: skip
    found: dict[str, str] = {}
    for line in listed:
        name, tip, symbolic = line.split("\0")
        short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        if tip != base and not symbolic and tip not in found.values():
            found.setdefault(short, tip)
    return found


_Row = tuple[str, str, str, Mapping[OrderIdentity, str]]


def _on_branches(
    tips: Mapping[str, str],
    since: Mapping[str, DatedCommit],
    own: Mapping[str, Sequence[OrderIdentity]],
) -> Iterator[_Row]:
    """Yield branch, tip, plan and landed orders, for each plan of which a branch has commits."""
    reached = {tip: _reached(tip, since) for tip in tips.values() if tip in since}
    rows: list[_Row] = []
    for branch, tip in tips.items():
        of_plans: dict[str, dict[OrderIdentity, str]] = {}
        for commit in reached.get(tip, ()):
            for identity in own.get(commit, ()):
                of_plans.setdefault(identity.plan, {})[identity] = commit
        rows += [(branch, tip, plan, found) for plan, found in of_plans.items()]
    for row in rows:
        _, tip, plan, found = row
        earlier = (
            other
            for other in rows
            if other[1] != tip and other[2] == plan and other[1] in reached[tip]
        )
        if not any(other[3] == found for other in earlier):
            yield row


def _reached(tip: str, since: Mapping[str, DatedCommit]) -> set[str]:
    found: set[str] = set()
    waiting = [tip]
    while waiting:
        commit = waiting.pop()
        if commit in since and commit not in found:
            found.add(commit)
            waiting += since[commit].parents
    return found


@dataclass(frozen=True, slots=True)
class _KnownPlan:
    folder: Path
    facts: PlanFacts
    orders: tuple[WorkOrder, ...]


def _known_plans(
    plans: set[str], artifacts: Path, place: RepoPlace, branches: Sequence[str]
) -> Mapping[str, _KnownPlan]:
    """Return the plans that records lead to, by each hash of their line that is among `plans`.

    The newest record counts, so that a plan that follows another one stands for both. A folder
    that was edited since has another plan, and is left out.
    """
    found: dict[str, _KnownPlan] = {}
    places = (artifacts / "planner", *places_of_runs(artifacts, place.common_dir))
    folders = sorted(
        (each for one in places if one.is_dir() for each in one.iterdir()),
        key=lambda each: each.name,
        reverse=True,
    )
    looked: set[Path] = set()
    for record in islice(folders, _MOST_RECORDS):
        head = read_run_document(record)
        if head.manifest_sha256 not in plans and head.branch not in branches:
            continue
        for folder in (head.workdir, record / "output", head.outdir):
            if folder is None or folder in looked or not (folder / MANIFEST_NAME).is_file():
                continue
            looked.add(folder)
            if read := _read_plan(folder):
                for digest in (read.facts.manifest_sha256, *read.facts.lineage):
                    found.setdefault(digest, read)
    return found


def _read_plan(folder: Path) -> _KnownPlan | None:
    with contextlib.suppress(InvalidInput, DocumentInvalid):
        manifest = read_manifest(folder)
        if manifest is not None and (facts := manifest.facts) is not None:
            orders = (parse_document(WorkOrder, each) for each in manifest.entries)
            return _KnownPlan(folder, facts, tuple(orders))
    return None


@dataclass(frozen=True, slots=True)
class _Stated:
    """Hold what statements and notes say of plans that no record leads to."""

    orders: Mapping[OrderIdentity, WorkOrder]
    requirements: Mapping[str, Mapping[str, str]]
    lineages: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, git: Git, own: Mapping[str, Sequence[OrderIdentity]], plans: set[str]) -> _Stated:
        wanted = {
            commit: each.plan
            for commit, found in own.items()
            for each in found
            if each.plan in plans
        }
        orders: dict[OrderIdentity, WorkOrder] = {}
        lineages: dict[str, tuple[str, ...]] = {}
        for commit, note in read_envelopes(git, wanted.keys()).items() if wanted else ():
            for each in parse_bundle(note):
                if not isinstance(each.statement, Statement):
                    continue
                order, plan = each.statement.predicate.order.document, each.statement.predicate.plan
                identity = OrderIdentity(order.id, order_key(order), wanted[commit])
                if identity in own[commit]:
                    orders[identity] = order
                    lineages[wanted[commit]] = plan.lineage if plan else ()
        requirements: dict[str, dict[str, str]] = {}
        for commit, text in commits.notes(git, NOTES_REF, wanted.keys()).items() if wanted else ():
            said = requirements.setdefault(wanted[commit], {})
            said.update(demands_in(text))
        return cls(orders, requirements, lineages)


def _open_plan(
    row: _Row, last: int, known: _KnownPlan | None, stated: _Stated, behind: int
) -> UnmergedPlan:
    branch, tip, plan, found = row
    landed = tuple(sorted({each.work_order for each in found}))
    if known is not None:
        facts = known.facts
        keys = {each.key for each in found}
        return UnmergedPlan(
            branch, tip, facts.manifest_sha256, facts.title,
            tuple(each.id for each in known.orders if order_key(each) in keys),
            last, known.orders, {each.id: each.text for each in facts.requirements},
            facts.lineage, known.folder, behind,
        )  # fmt: skip
    orders = tuple(stated.orders[each] for each in found if each in stated.orders)
    title = next((each.title for each in orders if each.id == "WO-01"), branch.rpartition("/")[2])
    return UnmergedPlan(
        branch, tip, plan, title, landed, last, orders,
        stated.requirements.get(plan, {}), stated.lineages.get(plan, ()), None, behind,
    )  # fmt: skip
