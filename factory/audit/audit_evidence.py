"""Collects the evidence for a commit (statements, plan, records) and the claims that it makes.

A commit has a case for each statement on it: runs that made the same commit each left one, and a
person's commit has one for each order that it was accepted for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from factory.orders.documents import reply_sha256
from factory.orders.order_commit import OrderIdentity, identify, landed_orders
from factory.orders.read_orders import LoadedOrder, read_workdir
from factory.record.runs_on_record import NO_DOCUMENT, read_run_document
from factory.statement.statement import (
    PROOF_REF,
    Acceptance,
    Attached,
    Envelope,
    Judged,
    Statement,
    parse_bundle,
    read_envelopes,
)
from shared.errors import InvalidInput
from shared.events.run_record import is_run_id
from shared.files.strict_documents import MAX_DOCUMENT_BYTES
from shared.files.text_sources import read_regular_file
from shared.git import refs
from shared.git.client import Git, GitFailed
from shared.git.commits import CommitObject
from shared.llm.replayed_replies import reply_texts
from shared.work_order.plan_folder import MANIFEST_NAME
from shared.work_order.work_order import WorkOrder


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold a plan on disk; `named` says that the person named it, and not a run's record."""

    path: Path
    orders: tuple[LoadedOrder, ...]
    named: bool

    @property
    def hashes(self) -> frozenset[str]:
        """Return the hashes of the plan and of those that it follows; none for loose orders."""
        facts = self.orders[0].plan
        return frozenset((facts.manifest_sha256, *facts.lineage)) if facts else frozenset()


@dataclass
class AuditEvidence:
    """Hold the evidence at hand. None of it is believed before it is compared with the commit.

    `places` are the folders that have the folders of runs, and `transcripts` are files that are
    named beside them.
    """

    git: Git
    places: tuple[Path, ...]
    transcripts: tuple[Path, ...] = ()
    named_plan: Plan | None = None
    lacks_objects: bool = field(default=False, init=False)
    """Whether statements are missing that the ref names, as in a partial clone."""
    _replies: dict[Path, Mapping[str, str]] = field(default_factory=dict)
    _plans: dict[str, Plan | None] = field(default_factory=dict)

    @cached_property
    def has_statements(self) -> bool:
        """Return whether the repo has the ref of the statements."""
        return bool(refs.commit_of(self.git, PROOF_REF))

    @cached_property
    def envelopes(self) -> Mapping[str, bytes]:
        """Return the notes with statements, by the commit that each is attached to."""
        if not self.has_statements:
            return {}
        try:
            return read_envelopes(self.git)
        except GitFailed:
            self.lacks_objects = True
            return {}

    @cached_property
    def attached(self) -> Mapping[str, tuple[Attached, ...]]:
        """Return the contents of the notes, by the commit that each is attached to."""
        return {commit: parse_bundle(text) for commit, text in self.envelopes.items()}

    @cached_property
    def statements(self) -> tuple[Statement | Acceptance, ...]:
        """Return the statements that can be read."""
        found = (each.statement for parts in self.attached.values() for each in parts)
        return tuple(each for each in found if each is not None)

    def about(self, identity: OrderIdentity) -> tuple[Statement, ...]:
        """Return the statements about commits that llmch made of an order."""
        made = (each for each in self.statements if isinstance(each, Statement))
        return tuple(each for each in made if identity_of(each) == identity)

    def with_tree(self, tree: str) -> tuple[Statement | Acceptance, ...]:
        """Return the statements about commits with a tree."""
        return tuple(each for each in self.statements if each.tree == tree)

    def plan_of_run(self, run_id: str) -> Plan | None:
        """Return the plan that a run was asked for, if its record and the plan are here."""
        if self.named_plan is not None:
            return self.named_plan
        if run_id not in self._plans:
            self._plans[run_id] = self._recorded_plan(run_id)
        return self._plans[run_id]

    def replies_of_run(self, run_id: str) -> Mapping[str, str]:
        """Return the recorded replies of a run by their hashes, and those of the named files."""
        found: dict[str, str] = {}
        for path in (*self.transcripts, *self._records_of(run_id)):
            if path not in self._replies:
                self._replies[path] = {reply_sha256(each): each for each in _replies_in(path)}
            found |= self._replies[path]
        return found

    def _records_of(self, run_id: str) -> Iterator[Path]:
        folder = self._folder_of(run_id)
        if folder is not None:
            yield folder / "transcript.jsonl"
            yield from sorted(folder.rglob("raw_llm_response*.txt"))

    def _folder_of(self, run_id: str) -> Path | None:
        if not is_run_id(run_id):
            return None
        return next((each for at in self.places if (each := at / run_id).is_dir()), None)

    def _recorded_plan(self, run_id: str) -> Plan | None:
        folder = self._folder_of(run_id)
        head = read_run_document(folder) if folder else NO_DOCUMENT
        path = head.workdir or (head.work_order.parent if head.work_order else None)
        try:
            return (
                read_plan(path, named=False) if path and (path / MANIFEST_NAME).is_file() else None
            )
        except (InvalidInput, ValueError, OSError):
            return None


def read_plan(path: Path, *, named: bool) -> Plan:
    """Return the plan in a folder. Raises `InvalidInput` as `read_workdir` does."""
    return Plan(path, read_workdir(path), named)


def how_to_fetch(git: Git) -> str:
    """Return the command that brings the statements into this repo."""
    try:
        remotes = git.run("remote").split()
    except GitFailed:
        remotes = []
    remote = "origin" if "origin" in remotes or not remotes else remotes[0]
    return f"git fetch {remote} {PROOF_REF}:{PROOF_REF}"


def identity_of(statement: Statement | Acceptance) -> OrderIdentity:
    """Return the identity that a statement gives its order."""
    predicate = statement.predicate
    plan = predicate.plan.manifest_sha256 if predicate.plan else ""
    return OrderIdentity(predicate.order.id, predicate.order.key, plan)


def _replies_in(path: Path) -> Iterable[str]:
    """Return the replies in a transcript, or the one in a file; none where it cannot be read."""
    try:
        if path.suffix == ".jsonl":
            return tuple(reply_texts(path))
        data = read_regular_file(path, "reply", MAX_DOCUMENT_BYTES).data
    except InvalidInput:
        return ()
    return (data.decode("utf-8", "replace"),)


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a commit, what its message says, and what is at hand about it.

    `named` are the orders that the message names. `statement` says how llmch made the commit, or
    `acceptance` that it is a person's, accepted for an order; `wrong` says why its note is neither.
    A statement about another commit is nothing here: with its envelope goes its signature. `order`
    is the order whose content has the key that the message names, or that the acceptance does.
    `has_parent` says whether this repo has the parent's files.
    """

    evidence: AuditEvidence
    commit: CommitObject
    named: tuple[OrderIdentity, ...]
    envelope: Envelope | None
    statement: Statement | None
    acceptance: Acceptance | None
    wrong: str
    order: WorkOrder | None
    plan: Plan | None
    has_parent: bool

    @property
    def git(self) -> Git:
        return self.evidence.git

    @property
    def about(self) -> Statement | Acceptance | None:
        """Return the statement of either kind."""
        return self.statement or self.acceptance

    @property
    def stated(self) -> Judged | None:
        """Return the claims about the commit, whichever kind its statement is."""
        return self.about.predicate if self.about else None

    @property
    def identity(self) -> OrderIdentity | None:
        """Return the one order that the message names, or that the commit was accepted for."""
        if self.acceptance is not None:
            return identity_of(self.acceptance)
        return self.named[0] if len(self.named) == 1 else None

    @property
    def parent(self) -> str:
        return self.commit.parents[0] if self.commit.parents else ""

    @property
    def concerns_llmch(self) -> bool:
        """Return whether the commit says that it is an order's, or a note on it does."""
        return bool(self.named or self.envelope or self.wrong or self.acceptance)


def open_cases(
    evidence: AuditEvidence, commit: CommitObject, *, has_parent: bool
) -> tuple[Case, ...]:
    """Return what is at hand about a commit, at least one case.

    A commit with nothing but people's acceptances has no case of a commit that llmch made, unless
    its message names an order.
    """
    named = tuple(landed_orders([(commit.id, commit.message)]))
    attached = evidence.attached.get(commit.id, ())
    of_people = [each for each in attached if isinstance(each.statement, Acceptance)]
    made = [each for each in attached if each not in of_people]
    if not made and (named or not of_people):
        made = [Attached()]
    return tuple(
        _case(evidence, commit, named, each, has_parent=has_parent) for each in (*made, *of_people)
    )


def _case(
    evidence: AuditEvidence,
    commit: CommitObject,
    named: tuple[OrderIdentity, ...],
    attached: Attached,
    *,
    has_parent: bool,
) -> Case:
    wrong = _fault_of(attached, commit)
    found = None if wrong else attached.statement
    statement = found if isinstance(found, Statement) else None
    acceptance = found if isinstance(found, Acceptance) else None
    plan = evidence.plan_of_run(found.predicate.tool.run if found else "")
    wanted = (identity_of(acceptance),) if acceptance else named
    return Case(
        evidence=evidence,
        commit=commit,
        named=named,
        envelope=attached.envelope if found else None,
        statement=statement,
        acceptance=acceptance,
        wrong=wrong,
        order=_order_of(wanted, found, plan),
        plan=plan,
        has_parent=has_parent,
    )


def _fault_of(attached: Attached, commit: CommitObject) -> str:
    """Return why a line of the note says nothing of its commit; "" if it is about its commit."""
    about = attached.statement
    if about is None:
        said = attached.malformed
        return f"its note in {PROOF_REF} is not a statement: {said}" if said else ""
    if about.commit != commit.id:
        return f"its statement is about the commit {about.commit[:12] or 'of nobody'}"
    result = about.predicate.result
    if {about.tree, result.tree} != {commit.tree} or result.commit != commit.id:
        return f"its statement is about the tree {result.tree[:12]}, and it has another"
    return ""


def _order_of(
    wanted: tuple[OrderIdentity, ...], statement: Statement | Acceptance | None, plan: Plan | None
) -> WorkOrder | None:
    """Return the order that is named: its key can be computed from its content alone."""
    if len(wanted) != 1:
        return None
    (identity,) = wanted
    orders = [statement.predicate.order.document] if statement else []
    orders += [each.order for each in plan.orders] if plan else []
    return next((each for each in orders if identify(each, identity.plan) == identity), None)


class Claim(StrEnum):
    """Name one thing that a commit claims; `CHAIN` is about all commits of a range."""

    STATEMENT = "statement"
    SIGNATURE = "signature"
    ORDER = "order"
    COMMIT = "commit"
    PARENT = "parent"
    FILES = "files"
    REPLY = "reply"
    PLAN = "plan"
    CHECKS = "checks"
    CHAIN = "chain"


DESCRIPTIONS = {
    Claim.STATEMENT: "it carries a statement about exactly this commit",
    Claim.SIGNATURE: "the statement is signed by somebody who is trusted here",
    Claim.ORDER: "it carries out the order that its message names",
    Claim.COMMIT: "its message and author are what llmch makes of that order",
    Claim.PARENT: "its parent is the commit on which it was judged",
    Claim.FILES: "it changes what the order allows, and nothing else",
    Claim.REPLY: "its files are exactly those of the recorded reply",
    Claim.PLAN: "the order belongs to the plan",
    Claim.CHECKS: "verification and acceptance pass on its tree",
    Claim.CHAIN: "the commits follow each other without a gap",
}
"""Each claim as a sentence about the commit or, for the last one, about the range."""


class ClaimState(StrEnum):
    """Name what became of a claim. The worst comes last."""

    PROVEN = "proven"
    NOT_PROVABLE = "not_provable"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Hold what became of a claim: `text` says by what or why not, and `remedy` what to do.

    `order` is the order for which a person accepted the commit, "" if llmch made it.
    """

    claim: Claim
    standing: ClaimState
    text: str
    remedy: str = ""
    order: str = ""


def proven(claim: Claim, text: str) -> Ruling:
    return Ruling(claim, ClaimState.PROVEN, text)


def contradicted(claim: Claim, text: str) -> Ruling:
    return Ruling(claim, ClaimState.CONTRADICTED, text)


def not_provable(claim: Claim, text: str, remedy: str = "") -> Ruling:
    """Return that nothing here decides a claim, and what would."""
    return Ruling(claim, ClaimState.NOT_PROVABLE, text, remedy)


def worst_of(rulings: Iterable[Ruling]) -> ClaimState:
    """Return the worst that became of any claim; proven if there are no claims."""
    found = {each.standing for each in rulings}
    return next((each for each in reversed(tuple(ClaimState)) if each in found), ClaimState.PROVEN)
