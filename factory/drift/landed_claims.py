"""Finds what each requirement rests on: the orders that a commit's history has, and their tests.

A commit names an order in its trailers by the hash of the order's content. So whichever statement
or plan has an order of that hash tells what the commit was made for, and nothing else of it has to
be believed: a rebased or squashed commit keeps its order, and a forged note changes none. Where a
later order of the same plans wrote a test again, the test is as the later order has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from factory.audit.audit_evidence import AuditEvidence, Plan, how_to_fetch, identity_of
from factory.orders.order_commit import (
    NOTES_REF,
    ORDER_TRAILER,
    OrderIdentity,
    demands_in,
    identify,
    landed_orders,
)
from factory.statement.statement import Acceptance, Statement
from shared.errors import InvalidInput
from shared.git import commits, refs, repos
from shared.git.client import Git
from shared.work_order.work_order import MAX_ORDERS, AcceptanceFile, WorkOrder

_MORE_DEMANDS: Final = re.compile(r"^requirements: \d+ more$", re.MULTILINE)
_SHOWN: Final = 5
_LISTED: Final = 20
_UNSHALLOW: Final = "this is a shallow clone, without the older commits: `git fetch --unshallow`"


@dataclass(frozen=True, slots=True)
class OrderOnBranch:
    """Hold an order that the history of a commit has.

    `commit` is the one that carries it, "" where only a plan says that it is there, and `base` the
    one before. `lineage` has the hashes of the plans before its own. `counted` is how many tests
    its commands ran when it landed, as statements about that very commit say. A note alone says
    that the order is there where `is_certain` is false: then it replaces no test of another one.
    """

    order: WorkOrder
    identity: OrderIdentity
    commit: str = ""
    base: str = ""
    position: int = 0
    lineage: frozenset[str] = frozenset()
    counted: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    is_certain: bool = True

    @property
    def name(self) -> str:
        return self.order.id

    def is_of_plans_of(self, other: OrderOnBranch) -> bool:
        """Return whether both belong to one plan, or to plans of which one follows the other."""
        own, others = self.identity.plan, other.identity.plan
        return bool(own and others) and (
            own == others or own in other.lineage or others in self.lineage
        )


@dataclass(frozen=True, slots=True)
class PlacedTest:
    """Hold a test file that plans placed; `pieces` is what they still want there, in sequence.

    `commit` has the file as it was placed last; "" where that is not known.
    """

    path: str
    pieces: tuple[AcceptanceFile, ...]
    commit: str


@dataclass(frozen=True, slots=True)
class ExpectedOrder:
    """Hold what an order's requirements rest on after the orders that followed it.

    `before` are the orders of its plans up to the last, which comes last: their declarations are
    in force. `later` are those that landed after it. `retired_by` names the order that took all
    of its tests and files away.
    """

    landed: OrderOnBranch
    tests: tuple[PlacedTest, ...] = ()
    before: tuple[WorkOrder, ...] = ()
    later: tuple[OrderOnBranch, ...] = ()
    retired_by: str = ""

    @property
    def order(self) -> WorkOrder:
        return self.landed.order


@dataclass(frozen=True, slots=True)
class DemandedRequirement:
    """Hold a requirement with the orders that carry it out.

    An order that covers none stands for itself, by its id and its title.
    """

    id: str
    text: str
    orders: tuple[ExpectedOrder, ...]


@dataclass(frozen=True, slots=True)
class LandedClaims:
    """Hold the requirements that the history of `rev` carries out, and what could not be read.

    `is_whole` says that nothing else can have landed: no older commit and no order is missing here.
    """

    rev: str
    requirements: tuple[DemandedRequirement, ...]
    gaps: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def orders(self) -> tuple[ExpectedOrder, ...]:
        """Return the orders of all requirements, each of them once."""
        found = {each.landed.identity: each for one in self.requirements for each in one.orders}
        return tuple(sorted(found.values(), key=lambda each: each.landed.position))


def commit_asked_for(git: Git, name: str) -> str:
    """Return the commit that `name` names. Raises `InvalidInput`."""
    if found := refs.commit_of(git, name):
        return found
    shallow = f" ({_UNSHALLOW})" if repos.is_shallow(git) else ""
    raise InvalidInput(
        f"{name!r} does not name a commit of this repo{shallow}",
        refs.hint_for_unknown(git, name, "give a branch, a tag or a hash"),
    )


def read_claims(evidence: AuditEvidence, rev: str) -> LandedClaims:
    """Return what the commit's history claims, by git's own listings: no process per commit."""
    history = _History.read(evidence, rev)
    found = history.orders()
    claims = tuple(_requirements(found, history))
    gaps = tuple(history.gaps(found))
    return LandedClaims(rev, claims, gaps, is_whole=not gaps or history.holds_nothing(found))


def claims_about(claims: LandedClaims, names: Sequence[str]) -> LandedClaims:
    """Return the claims about these requirements alone. Raises `InvalidInput` for others."""
    known = {each.id for each in claims.requirements}
    for each in names:
        if each not in known:
            raise InvalidInput(
                f"no order on {claims.rev[:12]} carries out the requirement {each!r}",
                f"there are {', '.join(sorted(known)[:_LISTED]) or 'none'}",
            )
    kept = tuple(each for each in claims.requirements if each.id in names)
    return replace(claims, requirements=kept)


@dataclass(frozen=True, slots=True)
class _History:
    """Hold the commits before a commit: their places, oldest first, their parents and trees."""

    evidence: AuditEvidence
    places: Mapping[str, int]
    bases: Mapping[str, str]
    trees: Mapping[str, str]
    named: Mapping[OrderIdentity, str]
    notes: Mapping[str, str]

    @classmethod
    def read(cls, evidence: AuditEvidence, rev: str) -> _History:
        git = evidence.git
        listed = git.run("log", "--topo-order", "--reverse", "--format=%H %T %P", rev).splitlines()
        facts = [line.split() for line in listed]
        messages = commits.with_line(git, rev, f"{ORDER_TRAILER}: ")
        places = {each[0]: place for place, each in enumerate(facts)}
        oldest_first = sorted(messages, key=lambda each: places.get(each.id, 0))
        named = landed_orders((each.id, each.message) for each in oldest_first)
        concerned = {*named.values(), *(each for each in evidence.attached if each in places)}
        return cls(
            evidence,
            places,
            {each[0]: each[2] if len(each) > 2 else "" for each in facts},
            {each[0]: each[1] for each in facts},
            named,
            commits.notes(git, NOTES_REF, concerned),
        )

    def orders(self) -> list[OrderOnBranch]:
        """Return the orders that the history has, in the sequence in which they landed."""
        contents, lineages = self._contents()
        found = {
            identity: self._on(commit, identity, contents[identity], lineages)
            for identity, commit in self.named.items()
            if identity in contents
        }
        for commit, each in self._accepted():
            identity = identity_of(each)
            if identity not in found:
                order = each.predicate.order.document
                landed = self._on(commit, identity, order, lineages)
                is_certain = identity in self._planned()
                found[identity] = replace(landed, is_certain=is_certain)
        for number, (identity, order) in enumerate(self._planned().items(), -MAX_ORDERS):
            same = any((each.work_order, each.key) == (identity.work_order, identity.key)
                       for each in found)  # fmt: skip
            if not same and self._was_here(order):
                landed = self._on("", identity, order, lineages)
                found[identity] = replace(landed, position=number)
        return sorted(found.values(), key=lambda each: each.position)

    def _contents(self) -> tuple[dict[OrderIdentity, WorkOrder], dict[str, frozenset[str]]]:
        """Return the orders by their identities, and the plans before each plan, by its hash."""
        contents, lineages = dict(self._planned()), dict[str, frozenset[str]]()
        for each in self.evidence.statements:
            plan, order = each.predicate.plan, each.predicate.order.document
            identity = identity_of(each)
            if identify(order, identity.plan) == identity:
                contents.setdefault(identity, order)
            if plan is not None:
                before = lineages.get(plan.manifest_sha256, frozenset())
                lineages[plan.manifest_sha256] = before | {*plan.lineage}
        if (named := self.evidence.named_plan) and (facts := named.orders[0].plan):
            lineages[facts.manifest_sha256] = frozenset(facts.lineage)
        return contents, lineages

    def _planned(self) -> Mapping[OrderIdentity, WorkOrder]:
        """Return the orders of the plan that the person names, as any of its plans may name them.

        A commit of the plan before names an order that was kept by that plan's hash.
        """
        plan: Plan | None = self.evidence.named_plan
        if plan is None:
            return {}
        hashes = sorted(plan.hashes) or [""]
        own = plan.orders[0].plan.manifest_sha256 if plan.orders[0].plan else ""
        ordered = [own, *(each for each in hashes if each != own)]
        return {identify(one.order, each): one.order for each in ordered for one in plan.orders}

    def _accepted(self) -> Iterator[tuple[str, Acceptance]]:
        for commit, parts in self.evidence.attached.items():
            for each in parts:
                if isinstance(each.statement, Acceptance) and self._fits(each.statement, commit):
                    yield commit, each.statement

    def _fits(self, statement: Statement | Acceptance, commit: str) -> bool:
        """Return whether a statement is about exactly this commit of the history."""
        result = statement.predicate.result
        tree = self.trees.get(commit, "")
        return (
            bool(tree)
            and {statement.commit, result.commit} == {commit}
            and {statement.tree, result.tree} == {tree}
        )

    def _on(
        self,
        commit: str,
        identity: OrderIdentity,
        order: WorkOrder,
        lineages: Mapping[str, frozenset[str]],
    ) -> OrderOnBranch:
        counted: dict[tuple[str, ...], int] = {}
        for each in self.evidence.attached.get(commit, ()):
            if each.statement is None or not self._fits(each.statement, commit):
                continue
            if identity_of(each.statement) != identity:
                continue
            for one in each.statement.predicate.commands:
                if one.stage == "acceptance" and one.tests is not None and not one.tests.at_least:
                    counted[one.command] = max(one.tests.ran, counted.get(one.command, 0))
        return OrderOnBranch(
            order,
            identity,
            commit,
            self.bases.get(commit, ""),
            self.places.get(commit, -1),
            lineages.get(identity.plan, frozenset()),
            counted,
        )

    def _was_here(self, order: WorkOrder) -> bool:
        """Return whether the history ever had a file that the order writes, by its path."""
        paths = [each.path for each in order.acceptance_files]
        paths += [each.path for each in order.postconditions]
        newest = next(reversed([*self.places]), "")
        if not paths or not newest:
            return False
        found = self.evidence.git.run("log", "--max-count=1", "--format=%H", newest, "--", *paths)
        return bool(found)

    def demands_on(self, commit: str) -> tuple[Mapping[str, str], bool]:
        """Return the requirements in the note on a commit, and whether these are all it covers."""
        note = self.notes.get(commit, "")
        return demands_in(note), bool(note) and _MORE_DEMANDS.search(note) is None

    def holds_nothing(self, found: Sequence[OrderOnBranch]) -> bool:
        """Return whether the whole history is here, and no commit of it names an order."""
        named = found or self.named or repos.is_shallow(self.evidence.git)
        return not named and not any(self._replaced(found))

    def gaps(self, found: Sequence[OrderOnBranch]) -> Iterator[str]:
        """Yield what of the history cannot be read, and what to do."""
        git, there = self.evidence.git, {each.identity for each in found}
        if repos.is_shallow(git):
            yield _UNSHALLOW
        unread = [
            f"{each.work_order} ({commit[:12]})"
            for each, commit in self.named.items()
            if each not in there
        ]
        if unread:
            more = f", and {len(unread) - _SHOWN} more" if len(unread) > _SHOWN else ""
            yield (
                f"no statement here has the order of {', '.join(unread[:_SHOWN])}{more}: "
                f"{self._remedy()}"
            )
        elif not found:
            yield f"no order has landed here that anything here tells of: {self._remedy()}"
        yield from self._replaced(found)

    def _replaced(self, found: Sequence[OrderOnBranch]) -> Iterator[str]:
        """Yield the commits that have the files of an order's commit and do not name the order."""
        there, carriers = {each.identity for each in found}, {each.commit for each in found}
        trees = {tree: commit for commit, tree in self.trees.items()}
        for each in self.evidence.statements:
            commit = trees.get(each.predicate.result.tree, "")
            if commit and identity_of(each) not in there and commit not in carriers:
                yield (
                    f"{commit[:12]} has the files of {each.predicate.order.id}'s commit and does "
                    "not name the order, as after a squash: name the plan by --plan DIR"
                )

    def _remedy(self) -> str:
        if self.evidence.lacks_objects:
            return "this is a partial clone: `git fetch --refetch --no-filter`"
        if not self.evidence.has_statements:
            fetch = how_to_fetch(self.evidence.git)
            return f"`{fetch} {NOTES_REF}:{NOTES_REF}` brings them, or --plan DIR names the plan"
        return "--plan DIR names the plan"


def _requirements(
    found: Sequence[OrderOnBranch], history: _History
) -> Iterator[DemandedRequirement]:
    expected = {each.landed.identity: each for each in expect_orders(found)}
    for name in dict.fromkeys(name for each in found for name in each.order.covers):
        covering = [each for each in found if name in each.order.covers]
        covering = [each for each in covering if not _is_dropped(name, each, covering, history)]
        if covering:
            rests = tuple(expected[each.identity] for each in covering)
            yield DemandedRequirement(name, _text_of(name, covering, history), rests)
    for each in found:
        if not each.order.covers:
            own = (expected[each.identity],)
            yield DemandedRequirement(each.name, each.order.title, own)


def _text_of(name: str, covering: Iterable[OrderOnBranch], history: _History) -> str:
    """Return the latest text of a requirement that a plan or a note has; "" for none."""
    plan = history.evidence.named_plan
    facts = plan.orders[0].plan if plan else None
    for each in facts.requirements if facts else ():
        if each.id == name:
            return each.text
    texts = [history.demands_on(each.commit)[0].get(name, "") for each in covering]
    return next(filter(None, reversed(texts)), "")


def _is_dropped(
    name: str, landed: OrderOnBranch, covering: Sequence[OrderOnBranch], history: _History
) -> bool:
    """Return whether the latest plan of the order no longer has the requirement.

    The plan that the person names says so itself. Else the note on the last order that covers it
    does: it has the texts of all requirements that the plan lists.
    """
    plan = history.evidence.named_plan
    facts = plan.orders[0].plan if plan else None
    if facts and facts.requirements and landed.identity.plan in (plan.hashes if plan else ()):
        return name not in {each.id for each in facts.requirements}
    same = [each for each in covering if each.is_of_plans_of(landed) or each is landed]
    listed = [history.demands_on(each.commit) for each in same]
    demanded, has_all = listed[-1]
    return has_all and name not in demanded and any(name in each for each, _ in listed)


def expect_orders(found: Sequence[OrderOnBranch]) -> Iterator[ExpectedOrder]:
    """Yield what each order still asks for after those that followed it in its plans. Pure."""
    for landed in found:
        own = [each for each in found if each is landed or each.is_of_plans_of(landed)]
        later = tuple(each for each in own if each.position > landed.position)
        folding = [each for each in own if each is landed or each.is_certain]
        yield ExpectedOrder(
            landed,
            tuple(_placed(landed, folding)),
            tuple(each.order for each in own),
            later,
            _retired_by(landed, later),
        )


def _placed(landed: OrderOnBranch, folding: Sequence[OrderOnBranch]) -> Iterator[PlacedTest]:
    """Yield the tests of an order as the last of these orders has them."""
    for path in dict.fromkeys(each.path for each in landed.order.acceptance_files):
        pieces: list[tuple[OrderOnBranch, AcceptanceFile]] = []
        for each in folding:
            if path in each.order.removed_files:
                pieces = []
            for file in each.order.acceptance_files:
                if file.path == path:
                    pieces = [*pieces, (each, file)] if file.append is not None else [(each, file)]
        own = [file for each, file in pieces if each is landed]
        if pieces:
            wanted = own or [file for _, file in pieces]
            yield PlacedTest(path, tuple(wanted), pieces[-1][0].commit)


def _retired_by(landed: OrderOnBranch, later: Sequence[OrderOnBranch]) -> str:
    """Return the later order that removed all that the order brought; "" for none."""
    order = landed.order
    brought = {*(each.path for each in order.acceptance_files), *order.allowed_files}
    for each in later:
        brought -= {*each.order.removed_files}
        if not brought and each.is_certain:
            return each.name
    return ""
