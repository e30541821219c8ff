"""Finds what has landed of a plan on a branch, and what changed since.

A commit names its order in its trailers, and they survive a rebase, a merge and most squashes.
Where they are gone, the commits that once landed, as the branch's reflog and the notes have them,
are compared with the branch by what they change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from factory.orders.order_commit import (
    NOTES_REF,
    ORDER_TRAILER,
    OrderIdentity,
    branch_of_earlier_versions,
    covered_requirements,
    default_branch,
    identities,
    landed_orders,
    parse_proof,
    subject_form,
)
from factory.orders.read_orders import LoadedOrder
from factory.orders.stages import AcceptedCommit, DecisionKey
from factory.record.journal import read_decisions
from shared.git import commits, refs, repos, trees
from shared.git.client import FileChange, Git
from shared.git.commits import LoggedCommit
from shared.work_order.plan_folder import PlanFacts
from shared.work_order.work_order import CoveredRequirement, CoveringOrder, WorkOrder, with_proofs

_SEARCHED = 10_000


def _was_moved_back(
    children: Mapping[str, Sequence[str]], reflog: Sequence[str], commit: str
) -> bool:
    """Return whether the branch lost `commit` by moving back to a commit before it.

    `reflog` are the commits that the branch was at, newest first, and `children` what `_children`
    found for them. Somebody who moves a branch back takes the later commits away on purpose. A
    rebase or an amended commit keeps the work.
    """
    having = _with_descendants(children, commit)
    newest = next((n for n, each in enumerate(reflog) if each in having), 0)
    if not newest:
        return False
    return commit in _with_descendants(children, reflog[newest - 1])


def _children(git: Git, tips: Sequence[str]) -> Mapping[str, Sequence[str]]:
    children: dict[str, list[str]] = {}
    for child, parents in commits.parents_before(git, tips, limit=_SEARCHED).items():
        for parent in parents:
            children.setdefault(parent, []).append(child)
    return children


def _with_descendants(children: Mapping[str, Sequence[str]], commit: str) -> set[str]:
    found = {commit}
    waiting = [commit]
    while waiting:
        new = [each for each in children.get(waiting.pop(), ()) if each not in found]
        found.update(new)
        waiting += new
    return found


_COMPARED = 500  # commits whose changes are compared: git writes each as a patch
_REFLOG = 1_000


@dataclass(frozen=True, slots=True)
class LostOrder:
    """Name an order that had landed on the branch, and its commit, which the branch lost."""

    order: str
    commit: str


@dataclass(frozen=True, slots=True)
class LandedOrders:
    """Hold which orders of a plan a branch has.

    `first_parents` are the branch's commits along first parents, newest first. `landed` has the
    commit of each order that has landed, by the order's id. `by_content` are the ids of those whose
    commit does not name them. `of_plans` has the commits of all orders of the plan and of those
    that it follows, each with the hash of its plan. `lost` are the orders whose commits the branch
    lost without being moved back; `compared` says with how many commits they were compared.
    """

    first_parents: tuple[str, ...] = ()
    landed: Mapping[str, str] = field(default_factory=dict)
    of_plans: Mapping[str, str] = field(default_factory=dict)
    by_content: tuple[str, ...] = ()
    lost: tuple[LostOrder, ...] = ()
    compared: int = 0

    def begun_on(self, plan: PlanFacts | None) -> str:
        """Return the branch's commit that the orders of `plan` began on; "" if it is not known.

        Only commits that name this very plan count as its orders: a plan can claim to follow
        another one, and what a commit changes does not say why it was made.
        """
        digest = plan.manifest_sha256 if plan else ""
        own = {commit for commit, each in self.of_plans.items() if each == digest}
        last = max((n for n, each in enumerate(self.first_parents) if each in own), default=-1)
        return next(iter(self.first_parents[last + 1 : last + 2]), "")

    def with_accepted(self, commits: Mapping[str, str]) -> LandedOrders:
        """Return a copy with the commits that people had accepted for orders, by the order's id."""
        lost = tuple(each for each in self.lost if each.order not in commits)
        return replace(self, landed={**commits, **self.landed}, lost=lost)


def plan_branch(git: Git, orders: Sequence[LoadedOrder]) -> str:
    """Return the branch for orders that no branch is named for.

    A plan that was begun on the branch of an earlier version goes on there.
    """
    branch, before = default_branch(orders), branch_of_earlier_versions(orders)
    if not before:
        return branch
    begun, own = refs.commits_of(git, f"refs/heads/{before}", f"refs/heads/{branch}")
    return before if begun and not own else branch


_SUBJECTS_READ = 60  # of which those count that people wrote


def style_of(git: Git, base: str) -> str:
    """Return the form of subjects like those before the commit `base`, llmch's own left out."""
    lines = commits.subjects_before(git, base, without=f"{ORDER_TRAILER}: ", limit=_SUBJECTS_READ)
    return subject_form(lines)


def landed_on(
    git: Git, orders: Sequence[LoadedOrder], branch: str | None = None
) -> Mapping[str, str]:
    """Return the commits of those `orders` that have landed on the branch, by the orders' ids.

    Without `branch`, it is the branch that `run-all` would choose for the plan. A branch that does
    not exist yet would go on from that of `origin`, or start from HEAD, which may have the orders
    by a merge.
    """
    name = branch or plan_branch(git, orders)
    tip = refs.tip_to_follow(git, name)
    return find_landed(git, name, tip, orders).landed if tip else {}


def landed_otherwise(
    git: Git, orders: Sequence[LoadedOrder], branch: str | None = None
) -> Mapping[str, str]:
    """Return the commits of orders that the plan, or one before it, landed with other contents.

    They are by the orders' ids; an id may be one that `orders` no longer have. The branch is that
    of `landed_on`.
    """
    name = branch or plan_branch(git, orders)
    tip = refs.tip_to_follow(git, name)
    history = commits.log(git, tip, limit=_SEARCHED) if tip else ()
    named = landed_orders((each.id, each.message) for each in history)
    same = commits_named(orders, named)
    of_plans = _of_plans(orders, named)
    return {
        each.work_order: commit
        for each, commit in named.items()
        if commit in of_plans and each.work_order not in same
    }


def find_landed(git: Git, branch: str, tip: str, orders: Sequence[LoadedOrder]) -> LandedOrders:
    """Return which of `orders` the branch has, whose last commit is `tip`."""
    history = commits.log(git, tip, limit=_SEARCHED)
    found = _named_in(history, tip, orders)
    landed, of_plans, first_parents = found.landed, found.of_plans, found.first_parents
    missing = [each for each in orders if each.order.id not in landed]
    if not missing:
        return found
    reflog = commits.log_of_ref(git, f"refs/heads/{branch}", limit=_REFLOG)
    on_branch = {each.id for each in history}
    recorded = _on_record(git, reflog, on_branch)
    gone = commits_named(missing, landed_orders((each.id, each.message) for each in recorded))
    if not gone:
        return found
    alike, compared = _same_changes(git, tip, gone, recorded)
    once_here = {each.id: None for each in reflog}
    children = _children(git, [*once_here])
    lost = tuple(
        LostOrder(order, commit)
        for order, commit in gone.items()
        if order not in alike
        and commit in once_here
        and not _was_moved_back(children, [each.id for each in reflog], commit)
    )
    return LandedOrders(first_parents, {**landed, **alike}, of_plans, tuple(alike), lost, compared)


def named_orders(git: Git, tip: str, orders: Sequence[LoadedOrder]) -> LandedOrders:
    """Return which of `orders` the commits before `tip` name in their trailers."""
    return _named_in(commits.log(git, tip, limit=_SEARCHED), tip, orders)


def _named_in(
    history: Sequence[LoggedCommit], tip: str, orders: Sequence[LoadedOrder]
) -> LandedOrders:
    named = landed_orders((each.id, each.message) for each in history)
    first_parents = commits.first_parents(history, tip)
    return LandedOrders(first_parents, commits_named(orders, named), _of_plans(orders, named))


def commits_named(
    orders: Iterable[LoadedOrder], named: Mapping[OrderIdentity, str]
) -> dict[str, str]:
    """Return the commits of those orders that are `named`, by the orders' ids."""
    found: dict[str, str] = {}
    for each in orders:
        known = (named[one] for one in identities(each.order, each.plan) if one in named)
        if commit := next(known, ""):
            found[each.order.id] = commit
    return found


def _of_plans(
    orders: Sequence[LoadedOrder], named: Mapping[OrderIdentity, str]
) -> Mapping[str, str]:
    plan = orders[0].plan if orders else None
    hashes = {plan.manifest_sha256, *plan.lineage} if plan else set()
    return {commit: each.plan for each, commit in named.items() if each.plan in hashes}


def _on_record(
    git: Git, reflog: Sequence[LoggedCommit], on_branch: set[str]
) -> tuple[LoggedCommit, ...]:
    """Return the commits on record that the branch does not have."""
    known = {each.id: each for each in reflog}
    noted = [each for each in commits.noted(git, NOTES_REF) if each not in on_branch | known.keys()]
    return (
        *(each for each in known.values() if each.id not in on_branch),
        *commits.log_of(git, noted),
    )


def _same_changes(
    git: Git, tip: str, gone: Mapping[str, str], recorded: Sequence[LoggedCommit]
) -> tuple[Mapping[str, str], int]:
    """Return the branch's commits that change what the commits `gone` changed, by order.

    One commit may change what all of them did together. Also returned is the number of commits
    that were compared: those since the branch and the commits parted.
    """
    base = commits.merge_base(git, tip, *gone.values())
    since = commits.ids_since(git, base, tip, limit=_COMPARED)
    if not since:
        return {}, 0
    of_branch = {patch: commit for commit, patch in trees.ids_of(git, since).items()}
    of_gone = trees.ids_of(git, tuple(gone.values()))
    alike = {
        order: of_branch[of_gone[commit]]
        for order, commit in gone.items()
        if of_gone.get(commit) in of_branch
    }
    if not alike and len(gone) > 1:
        together = _changed_together(git, [each for each in recorded if each.id in gone.values()])
        if together in of_branch:
            return dict.fromkeys(gone, of_branch[together]), len(since)
    return alike, len(since)


def _changed_together(git: Git, gone: Sequence[LoggedCommit]) -> str:
    """Return the patch id of all changes of the commits, where each is on the one before it.

    It is "" if they do not follow each other.
    """
    last = {each.id for each in gone} - {parent for each in gone for parent in each.parents}
    first = [each for each in gone if not {*each.parents} & {other.id for other in gone}]
    if len(last) != 1 or len(first) != 1 or not first[0].parents:
        return ""
    return trees.id_between(git, first[0].parents[0], *last)


_WALKED = 1_000  # commits of the branch along first parents, newest first
_CHANGES = 200  # commits that change one of the files


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """Name a file that is not as it was for the plan, and the commits that changed it.

    The commits are newest first. The list is empty if no commit of the branch has the file as it
    was: the plan may have been made for another branch, or for changes that were not committed.
    """

    path: str
    commits: tuple[str, ...]


def changed_files(
    git: Git, first_parents: Sequence[str], base: Mapping[str, str], own: Collection[str]
) -> tuple[ChangedFile, ...]:
    """Return those files of `base` that others than the plan's orders changed, by path.

    `first_parents` are the branch's commits, newest first. `base` has the SHA-256 of each file as
    it was. `own` are the commits of orders: a file is as it should be where the last change of it
    is one of these.
    """
    if not base or not first_parents:
        return ()
    tip = first_parents[0]
    now = trees.hashes_of(git, tip, tuple(base))
    differing = sorted(path for path, digest in base.items() if now.get(path) != digest)
    if not differing:
        return ()
    until = first_parents[_WALKED] if len(first_parents) > _WALKED else ""
    changes = trees.changes_of_files(git, tip, until, differing, limit=_CHANGES)
    blobs = {each.before for each in changes}
    blobs |= {each.after for each in changes if each.commit in own}
    contents = trees.hashes_of_blobs(git, blobs)
    found = []
    for path in differing:
        of_path = [each for each in changes if each.path == path]
        foreign, known = _foreign(of_path, base[path], now.get(path), contents, own)
        if foreign or not known:
            found.append(ChangedFile(path, foreign if known else ()))
    return tuple(found)


def _foreign(
    changes: Iterable[FileChange],
    digest: str,
    now: str | None,
    contents: Mapping[str, str],
    own: Collection[str],
) -> tuple[tuple[str, ...], bool]:
    """Return the commits of others since the file was as it was, and whether it ever was.

    `digest` is the SHA-256 of the file as it was, and `now` that of the branch. `contents` has
    those of blobs. Dates decide the sequence of commits that a merge brought together, so the
    newest commit need not be the one whose content is there.
    """
    found: list[str] = []
    known = False
    for each in changes:
        if each.commit in own:
            known = True
            if contents.get(each.after) == now:
                return (), True
        else:
            found.append(each.commit)
            known = known or contents.get(each.before) == digest
        if known and found:
            break
    return (tuple(found), True) if known else ((), False)


_MAX_COMMITS = 10_000  # per branch, newest first: far more than any plan has orders


@dataclass(frozen=True, slots=True)
class LandedCommits:
    """Hold the commits of all branches by the order that each landed; `plan` is whose orders."""

    by_order: Mapping[OrderIdentity, tuple[str, ...]]
    plan: PlanFacts | None

    def of(self, order: WorkOrder) -> tuple[str, ...]:
        """Return the commits of an order of the plan, or of the plans that it follows."""
        names = identities(order, self.plan)
        found = (commit for name in names for commit in self.by_order.get(name, ()))
        return tuple(dict.fromkeys(found))


def landed_commits(git: Git, plan: PlanFacts | None) -> LandedCommits:
    """Return the commits of all branches that landed an order or were accepted for one.

    `plan` is the plan whose orders are looked for; `None` is for orders without a manifest.
    """
    found: dict[OrderIdentity, tuple[str, ...]] = {}
    messages = _messages(git)
    for commit, message in messages.items():
        for identity in landed_orders([(commit, message)]):
            found[identity] = (*found.get(identity, ()), commit)
    for key, accepted in _accepted(git, messages):
        identity = OrderIdentity(key.order, key.key, key.plan)
        if accepted.commit not in found.get(identity, ()):
            found[identity] = (*found.get(identity, ()), accepted.commit)
    return LandedCommits(found, plan)


def coverage_of_repo(git: Git) -> tuple[CoveredRequirement, ...]:
    """Return the requirements that the commits of any branch cover by their messages, by id."""
    orders: dict[str, list[CoveringOrder]] = {}
    for (name, order, title), ids in sorted(_claimed(git).items()):
        orders.setdefault(name, []).append(CoveringOrder(order, title, (), ids))
    return tuple(CoveredRequirement(name, orders=tuple(each)) for name, each in orders.items())


def with_proofs_of(
    git: Git, rows: tuple[CoveredRequirement, ...]
) -> tuple[CoveredRequirement, ...]:
    """Return the requirements with what verified each commit, as far as the notes on it say."""
    landed = {commit for row in rows for order in row.orders for commit in order.commits}
    notes = commits.notes(git, NOTES_REF, landed)
    return with_proofs(rows, {commit: parse_proof(note) for commit, note in notes.items()})


def _claimed(git: Git) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the commits of all branches by requirement, order and title."""
    found: dict[tuple[str, str, str], tuple[str, ...]] = {}
    messages = _messages(git)
    for key, accepted in _accepted(git, messages):
        for name in accepted.covers:
            claim = name, key.order, accepted.title
            found[claim] = (*found.get(claim, ()), accepted.commit)
    for commit, message in messages.items():
        for order, name in dict.fromkeys(covered_requirements(message)):
            title = message.partition("\n")[0].removeprefix(f"{order}: ")
            claim = name, order, title
            found[claim] = (*found.get(claim, ()), commit)
    return found


def _accepted(
    git: Git, on_branches: Collection[str]
) -> Iterator[tuple[DecisionKey, AcceptedCommit]]:
    """Yield the commits that a person accepted for orders."""
    layout = repos.layout(git)
    for key, decision in read_decisions(layout[2]).items() if layout else ():
        if decision.accepted is not None and decision.accepted.commit in on_branches:
            yield key, decision.accepted


def _messages(git: Git) -> dict[str, str]:
    tips = git.run("for-each-ref", "--format=%(objectname)", "refs/heads").split()
    return {
        each.id: each.message
        for tip in dict.fromkeys(tips)
        for each in commits.log(git, tip, limit=_MAX_COMMITS)
    }
