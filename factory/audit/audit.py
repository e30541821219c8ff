"""Walks the commits that a person asks about, and rules on each claim."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.audit.audit_evidence import (
    AuditEvidence,
    Case,
    Claim,
    ClaimState,
    Ruling,
    not_provable,
    open_cases,
    worst_of,
)
from factory.audit.commit_claims import (
    rule_on_chain,
    rule_on_commit,
    rule_on_files,
    rule_on_order,
    rule_on_parent,
    rule_on_plan,
    rule_on_reply,
)
from factory.audit.judgement_claims import (
    Judge,
    rule_on_accepted_commit,
    rule_on_accepted_files,
    rule_on_accepted_order,
    rule_on_accepted_reply,
    rule_on_accepted_statement,
    rule_on_checks,
    rule_on_signature,
    rule_on_statement,
)
from factory.judging.proof import verified_by
from factory.orders.documents import FailureBrief, VerifiedBy
from factory.orders.order_commit import NOBODY, CommitTerms, identify
from factory.orders.read_orders import LoadedOrder
from factory.orders.task import OrderTask, RunOptions
from factory.preflight import RepoPlace
from factory.record.landed import named_orders
from factory.run.reproduce import CommitJudge, open_judge
from factory.run.run_request import find_exemptions
from factory.workbench.pool import sweep_side_workspaces
from shared.errors import InvalidInput, PreflightRefused
from shared.events.events import Emit
from shared.git import refs, repos, trees
from shared.git.client import Git, GitFailed
from shared.git.commits import CommitObject, read_commits

_MOST_COMMITS: Final = 10_000
_Rules = Sequence[tuple[Claim, Callable[[Case], Ruling | None]]]
_RULES: Final = (
    (Claim.STATEMENT, rule_on_statement),
    (Claim.SIGNATURE, rule_on_signature),
    (Claim.ORDER, rule_on_order),
    (Claim.COMMIT, rule_on_commit),
    (Claim.PARENT, rule_on_parent),
    (Claim.FILES, rule_on_files),
    (Claim.REPLY, rule_on_reply),
    (Claim.PLAN, rule_on_plan),
)
_RULES_OF_ACCEPTED: Final = (
    (Claim.STATEMENT, rule_on_accepted_statement),
    (Claim.SIGNATURE, rule_on_signature),
    (Claim.ORDER, rule_on_accepted_order),
    (Claim.COMMIT, rule_on_accepted_commit),
    (Claim.PARENT, rule_on_parent),
    (Claim.FILES, rule_on_accepted_files),
    (Claim.REPLY, rule_on_accepted_reply),
    (Claim.PLAN, rule_on_plan),
)


@dataclass(frozen=True, slots=True)
class AuditedCommit:
    """Hold a commit with what became of its claims.

    `order` is the order that it names, "" for none, and `accepted` are those for which a person
    accepted it. Without any of them, llmch claims nothing of it.
    """

    commit: str
    subject: str
    order: str
    accepted: tuple[str, ...]
    rulings: tuple[Ruling, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """Hold what became of the claims of all commits, oldest first; `chain` is about all of them."""

    commits: tuple[AuditedCommit, ...]
    chain: Ruling

    @property
    def rulings(self) -> tuple[Ruling, ...]:
        return (*(each for one in self.commits for each in one.rulings), self.chain)

    @property
    def standing(self) -> ClaimState:
        """Return the worst that became of any claim."""
        return worst_of(self.rulings)


def commits_named(git: Git, words: str) -> tuple[str, ...]:
    """Return the commits that a person names by `COMMIT` or `FROM..TO`, oldest first.

    Raises `InvalidInput` if there are none.
    """
    first, dots, last = words.partition("..")
    if not dots:
        return (_commit(git, words),)
    if last.startswith("."):
        raise InvalidInput(
            f"{words!r} names two sides of a fork", "name a range by two dots: FROM..TO"
        )
    begin, end = _commit(git, first or "HEAD"), _commit(git, last or "HEAD")
    # Along first parents: what a merge brought in was on another branch.
    found = git.run(
        "rev-list", "--first-parent", "--reverse", f"--max-count={_MOST_COMMITS + 1}",
        end, f"^{begin}",
    ).split()  # fmt: skip
    if not found:
        raise InvalidInput(
            f"{words!r} has no commit", "name the older commit first: FROM..TO leaves FROM out"
        )
    if len(found) > _MOST_COMMITS:
        raise InvalidInput(f"{words!r} has over {_MOST_COMMITS:,} commits", "name a shorter range")
    return tuple(found)


def audit(evidence: AuditEvidence, ids: Sequence[str], judge: Judge | None = None) -> Audit:
    """Return what becomes of the claims of the commits `ids`, oldest first.

    `judge` runs the commands of each again; without it, none is run.
    """
    found = read_commits(evidence.git, ids)
    objects = [found.get(each) or CommitObject(each, b"") for each in ids]
    present = read_commits(evidence.git, tuple({each for one in objects for each in one.parents}))
    cases = [
        open_cases(evidence, each, has_parent=bool(each.parents) and each.parents[0] in present)
        for each in objects
    ]
    audited = tuple(_audited(each, judge) for each in cases)
    shallow = repos.is_shallow(evidence.git)
    return Audit(audited, rule_on_chain(cases, shallow=shallow))


def _commit(git: Git, name: str) -> str:
    found = refs.commit_of(git, name)
    if found:
        return found
    shallow = " (this is a shallow clone: `git fetch --unshallow`)" if repos.is_shallow(git) else ""
    raise InvalidInput(
        f"{name!r} does not name a commit of this repo{shallow}",
        refs.hint_for_unknown(git, name, "give a branch, a hash, or a range FROM..TO"),
    )


def _audited(cases: Sequence[Case], judge: Judge | None) -> AuditedCommit:
    made = [each for each in cases if each.acceptance is None]
    accepted = [each for each in cases if each.acceptance is not None]
    first = cases[0]
    named = [each.identity.work_order for each in made if each.identity]
    found = tuple(_together([_rulings(each, _RULES) for each in made]))
    found = (*found, *_checked(found, made, judge)) if first.concerns_llmch else found
    for each in accepted:
        rulings = tuple(_rulings(each, _RULES_OF_ACCEPTED))
        name = each.identity.work_order if each.identity else ""
        checked = _checked(rulings, [each], judge)
        found = (*found, *(replace(one, order=name) for one in (*rulings, *checked)))
    return AuditedCommit(
        commit=first.commit.id,
        subject=first.commit.message.partition("\n")[0],
        order=named[0] if named else "",
        accepted=tuple(dict.fromkeys(each.order for each in found if each.order)),
        rulings=found,
    )


def _rulings(case: Case, rules: _Rules) -> list[Ruling]:
    if not case.concerns_llmch:
        return [rule_on_statement(case)]
    found = []
    for claim, rule in rules:
        try:
            ruling = rule(case)
        except GitFailed as failed:
            # A part of the repo is missing, as in a partial clone.
            ruling = not_provable(claim, failed.message, "have git fetch what is missing")
        if ruling is not None:
            found.append(ruling)
    return found


def _together(rulings: Sequence[Sequence[Ruling]]) -> Iterator[Ruling]:
    """Yield one ruling for each claim of several statements about the same commit.

    If no statement is wrong, the one that is proven counts. Another statement cannot make up for a
    wrong one.
    """
    for claim in Claim:
        of_claim = [each for one in rulings for each in one if each.claim is claim]
        for standing in (ClaimState.CONTRADICTED, ClaimState.PROVEN, ClaimState.NOT_PROVABLE):
            if found := next((each for each in of_claim if each.standing is standing), None):
                yield found
                break


def _checked(
    found: Sequence[Ruling], cases: Sequence[Case], judge: Judge | None
) -> tuple[Ruling, ...]:
    """Return what becomes of the commands of one order, which are run once, if at all."""
    if not cases:
        return ()
    if judge is not None and worst_of(found) is ClaimState.CONTRADICTED:
        text = "not run: what is contradicted above would not get better by it"
        return (not_provable(Claim.CHECKS, text),)
    stated = [rule_on_checks(each, None) for each in cases]
    if judge is None or worst_of(stated) is ClaimState.CONTRADICTED:
        return tuple(_together([stated]))
    return (rule_on_checks(cases[0], judge),)


_NOBODYS_TERMS = CommitTerms(NOBODY, "@0 +0000")  # no commit is made


@contextlib.contextmanager
def rerunning(first: str, place: RepoPlace, options: RunOptions, emit: Emit) -> Iterator[Judge]:
    """Open what it takes to judge commits again; `first` is the first of them.

    No lock is taken, so no run is disturbed. Logs are removed with the rest when the block ends.
    Raises `SandboxUnavailable`.
    """
    sweep_side_workspaces(place.git, place.common_dir)
    with (
        tempfile.TemporaryDirectory(prefix="llmch-verify-") as folder,
        open_judge(first, place, options, emit) as judge,
    ):
        yield _Rerun(judge, options, Path(folder)).judge


@dataclass(frozen=True, slots=True)
class _Rerun:
    judge_of: CommitJudge
    options: RunOptions
    folder: Path

    def judge(self, case: Case) -> VerifiedBy | FailureBrief:
        """Return how the commands end on the commit's tree.

        Raises `PreflightRefused` if they cannot be run as they were.
        """
        if not case.has_parent:
            raise PreflightRefused("its parent is not in this repo", "`git fetch --unshallow`")
        loaded = _loaded(case)
        landed = named_orders(case.git, case.parent, case.plan.orders if case.plan else (loaded,))
        (exemption,) = find_exemptions(
            (loaded,),
            landed,
            case.git,
            self.options.settings.verify,
            allow=self.options.allow_verify_exempt,
        )
        commit, folder = case.commit.id, self.folder / case.commit.id / loaded.order.id
        task = OrderTask(loaded, exemption, case.parent, _NOBODYS_TERMS, folder)
        changed = trees.files_between(case.git, case.parent, commit)
        judged = self.judge_of.judge(commit, task, changed, folder / "base")
        return judged.brief or verified_by(judged.verify, judged.acceptance, judged.exempt)


def _loaded(case: Case) -> LoadedOrder:
    """Return the order as its plan has it, with what earlier orders declare; else by itself.

    What the plan's verification waits for is not part of an order, so only the plan says it.
    """
    assert case.order is not None and case.identity is not None, "there is an order to judge by"
    for each in case.plan.orders if case.plan else ():
        if identify(each.order, case.identity.plan) == case.identity:
            return each
    return LoadedOrder(case.order, None)
