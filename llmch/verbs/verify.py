"""Implements `llmch verify`: says what of the claims of commits can be proven, without a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factory import preflight
from factory.audit import audit_evidence
from factory.record import runs_on_record
from factory.run_flags import add_judging_arguments, judging_options
from llmch.console import Console
from llmch.console.document import (
    Block,
    Conclusion,
    Document,
    Item,
    Outcome,
    Remark,
    Rows,
    Section,
    Shape,
    Sign,
    Tone,
)
from llmch.console.line import count, short
from llmch.entry import run_orders, wiring
from llmch.entry.command_line import add_record_arguments
from shared.errors import ExitCode, InvalidInput
from shared.git import commits, refs

if TYPE_CHECKING:
    from factory.audit.audit import Audit, AuditedCommit
    from factory.audit.audit_evidence import Ruling
    from factory.drift.drift import MergedRequirement, MergeProof
    from factory.orders.task import RunOptions
    from shared.git.client import Git
    from shared.settings.settings import Settings

_WIDTH = len("contradicted")
# Spelled out, because the room that knows them is imported only when the verb is called.
CLAIMS = (
    "statement", "signature", "order", "commit", "parent", "files", "reply", "plan", "checks",
    "chain",
)  # fmt: skip


_CLAIM = Shape("claim", "verdict=standing", "text", "remedy?", "accepted_for=order?")
_COMMIT = Shape(
    "commit",
    "subject",
    "work_order=order?",
    "accepted_for=accepted",
    "claims=rulings",
    claims=_CLAIM,
)


@dataclass(frozen=True, slots=True)
class VerifyDocument(Document):
    """Represent the answer of `verify`: each commit with what became of its claims.

    `missed` are the claims that had to be proven and were not, as `COMMIT CLAIM`.
    """

    shape = Shape(
        "verdict=audit.standing",
        "commits=audit.commits",
        "chain=audit.chain",
        "required_and_not_proven=missed",
        commits=_COMMIT,
        chain=_CLAIM,
    )

    audit: Audit
    missed: tuple[str, ...]

    def blocks(self) -> Iterator[Block]:
        for each in self.audit.commits:
            items = (line for ruling in each.rulings for line in _items(ruling))
            yield Section(each.subject, tuple(items), name=short(each.commit), tone=Tone.STRONG)
        if len(self.audit.commits) > 1:
            yield Section("all commits", tuple(_items(self.audit.chain)), tone=Tone.STRONG)
        yield Conclusion("verify", _summary(self.audit), self._ok)
        if self.missed:
            yield Remark((f"required and not proven: {', '.join(self.missed)}",))

    @property
    def _ok(self) -> bool:
        return self.audit.standing is not audit_evidence.ClaimState.CONTRADICTED and not self.missed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "commits", nargs="?", metavar="COMMIT|FROM..TO",
        help="a commit, or all commits of a branch since another one (default: those on the branch "
        "of the latest run that made any, or HEAD)",
    )  # fmt: skip
    parser.add_argument(
        "--plan", type=Path, metavar="DIR",
        help="the plan of the orders; by default that of the run's record, where it is here",
    )  # fmt: skip
    parser.add_argument(
        "--transcript", type=Path, action="append", default=[], metavar="FILE",
        help="a transcript with the replies, beside those in --artifacts-dir; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--rerun", action="store_true",
        help="run verification and acceptance again, in the sandbox, on the tree of each commit",
    )  # fmt: skip
    parser.add_argument(
        "--require", action="append", default=[], choices=CLAIMS, metavar="CLAIM",
        help="fail where this claim is not proven, too; may be repeated: " + ", ".join(CLAIMS),
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="require all claims")
    parser.add_argument(
        "--merge", metavar="BASE..HEAD",
        help="say instead what merging HEAD into BASE leaves of the requirements of both sides, "
        "by running their tests: exit code 1 where what a side has proven is not proven any more",
    )  # fmt: skip
    add_judging_arguments(parser)
    add_record_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Look into the commits. The exit code is 1 if a claim is contradicted, else 0.

    It is 1 as well where a required claim is not proven.
    """
    from factory.audit.audit import audit, commits_named, rerunning

    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    git = place.git
    plan = audit_evidence.read_plan(args.plan, named=True) if args.plan else None
    places = runs_on_record.places_of_runs(settings.artifacts_dir, place.common_dir)
    evidence = audit_evidence.AuditEvidence(git, places, tuple(args.transcript), plan)
    if args.merge:
        return _look_at_merge(args, console, settings, place, evidence)
    runs = tuple(
        runs_on_record.runs_on_record(settings.artifacts_dir, place.common_dir, place.tree)
    )
    ids = commits_named(git, args.commits or _of_latest_run(runs, git))
    if not args.rerun:
        return _outcome(audit(evidence, ids), args)

    def rerun(options: RunOptions) -> Audit:
        with rerunning(ids[-1], place, options, console) as judge:
            return audit(evidence, ids, judge)

    return _outcome(run_orders.with_consent(rerun, judging_options(args, settings), console), args)


def _of_latest_run(runs: Sequence[runs_on_record.RunOnRecord], git: Git) -> str:
    """Return the range of commits on the branch of the latest run that has any; else HEAD."""
    for branch in filter(None, dict.fromkeys(each.head.branch for each in runs)):
        tip = refs.tip_of_branch(git, branch)
        bases = (
            runs_on_record.object_id(each.head.base) for each in runs if each.head.branch == branch
        )
        reached = [each for each in bases if each and tip and commits.is_ancestor(git, each, tip)]
        if reached and reached[-1] != tip:
            return f"{reached[-1]}..{branch}"
    return "HEAD"


def _outcome(found: Audit, args: argparse.Namespace) -> Outcome:
    required = CLAIMS if args.strict else tuple(dict.fromkeys(args.require))
    missed = tuple(_missed(found, required))
    failed = found.standing is audit_evidence.ClaimState.CONTRADICTED or missed
    return Outcome(VerifyDocument(found, missed), ExitCode.FAILED if failed else ExitCode.OK)


def _missed(found: Audit, required: Sequence[str]) -> Iterator[str]:
    for claim in required:
        if claim == audit_evidence.Claim.CHAIN:
            if found.chain.standing is not audit_evidence.ClaimState.PROVEN:
                yield claim
            continue
        for commit in found.commits:
            if not _is_proven(commit, claim):
                yield f"{short(commit.commit)} {claim}"


def _is_proven(commit: AuditedCommit, claim: str) -> bool:
    of_claim = [each for each in commit.rulings if each.claim == claim]
    if not of_claim:
        # An order without a plan names none.
        return claim == audit_evidence.Claim.PLAN and bool(commit.order or commit.accepted)
    return all(each.standing is audit_evidence.ClaimState.PROVEN for each in of_claim)


def _items(ruling: Ruling) -> Iterator[Item]:
    """Yield the line of a claim; below one that is not proven, what it says and what to do."""
    word = str(ruling.standing).replace("_", " ")
    sign = Sign.WARNING if ruling.standing is audit_evidence.ClaimState.CONTRADICTED else Sign.NONE
    claim = f"{ruling.claim} ({ruling.order})" if ruling.order else ruling.claim
    yield Item(f"{word:<{_WIDTH}} {claim}: {ruling.text}", sign)
    if ruling.standing is not audit_evidence.ClaimState.PROVEN:
        remedy = f"; {ruling.remedy}" if ruling.remedy else ""
        yield Item(f"{'':<{_WIDTH}} for: {audit_evidence.DESCRIPTIONS[ruling.claim]}{remedy}")


def _summary(audit: Audit) -> str:
    found = [each.standing for each in audit.rulings]
    against = found.count(audit_evidence.ClaimState.CONTRADICTED)
    return (
        f"{count(len(audit.commits), 'commit')}, {against or 'nothing'} contradicted: "
        f"{found.count(audit_evidence.ClaimState.PROVEN)} proven, "
        f"{found.count(audit_evidence.ClaimState.NOT_PROVABLE)} not provable here"
    )


# What a merge leaves of the requirements

_HEADINGS = ("", "requirement", "base", "head", "merge", "what it is")
_OTHER_FLAGS = ("commits", "rerun", "require", "strict", "transcript")


@dataclass(frozen=True, slots=True)
class MergeDocument(Document):
    """Represent the answer of `verify --merge`: each requirement on both sides and merged."""

    shape = Shape(
        "ok=proof.ok",
        "base=proof.sides.base",
        "head=proof.sides.head",
        "merge=proof.sides.result",
        "conflicts=proof.sides.conflicts",
        "requirements=proof.requirements",
        "gaps=proof.gaps",
        requirements=Shape("id", "text", "base", "head", "merge", "ok", "detail"),
    )

    proof: MergeProof

    def blocks(self) -> Iterator[Block]:
        if self.proof.requirements:
            yield Rows(tuple(map(_merge_row, self.proof.requirements)), _HEADINGS)
        yield Conclusion("verify", _merge_summary(self.proof), self.proof.ok)
        if self.proof.sides.conflicts:
            yield Remark(tuple(f"conflict: {each}" for each in self.proof.sides.conflicts))
        if self.proof.gaps:
            yield Remark(self.proof.gaps)


def _look_at_merge(
    args: argparse.Namespace,
    console: Console,
    settings: Settings,
    place: preflight.RepoPlace,
    evidence: audit_evidence.AuditEvidence,
) -> Outcome:
    """Look at both sides and at the merge. The exit code is 1 if the merge loses anything."""
    from factory.drift.drift import prove_merge
    from llmch.verbs.drift import assertions_in

    for each in _OTHER_FLAGS:
        if getattr(args, each):
            raise InvalidInput(
                f"--merge does not go with {'COMMIT' if each == 'commits' else f'--{each}'}",
                "the requirements of the merge are one question, the claims of commits another",
            )
    proof = run_orders.with_consent(
        lambda options: prove_merge(args.merge, evidence, assertions_in, place, options, console),
        judging_options(args, settings),
        console,
    )
    return Outcome(MergeDocument(proof), ExitCode.OK if proof.ok else ExitCode.FAILED)


def _merge_row(row: MergedRequirement) -> tuple[str, ...]:
    states = (str(each) if each else "-" for each in (row.base, row.head, row.merge))
    said = ": ".join(filter(None, (row.text, "" if row.ok else row.detail)))
    return ("" if row.ok else "!", row.id, *states, said)


def _merge_summary(proof: MergeProof) -> str:
    sides = f"{short(proof.sides.head)} into {short(proof.sides.base)}"
    if proof.sides.conflicts:
        return f"{sides} conflicts in {count(len(proof.sides.conflicts), 'file')}"
    lost = sum(not each.ok for each in proof.requirements)
    of = count(len(proof.requirements), "requirement")
    return f"{sides}: {of}, {lost or 'nothing'} lost by the merge"
