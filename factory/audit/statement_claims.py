"""Looks into the statement on a commit: whether it is about this commit, and who signed it."""

from __future__ import annotations

from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, contradicted, not_provable, proven
from factory.audit.evidence import how_to_fetch
from factory.statement.document import Acceptance, Statement
from factory.statement.notes import PROOF_REF
from shared.git import commits
from shared.git.signing import Trust, check_signature
from shared.git.signing_config import read_signing_config


def rule_on_statement(case: Case) -> Ruling:
    """Return whether the commit carries a statement about itself."""
    claim, statement = Claim.STATEMENT, case.statement
    if case.malformed:
        return contradicted(claim, f"its note in {PROOF_REF} is not a statement: {case.malformed}")
    if statement is None:
        return _without_statement(case)
    if fault := fault_of_subject(case, statement):
        return contradicted(claim, fault)
    return proven(claim, f"made in run {statement.predicate.tool.run}")


def fault_of_subject(case: Case, statement: Statement | Acceptance) -> str:
    """Return what else a statement is about than the commit that has it; "" if it is about it."""
    commit, result = case.commit, statement.predicate.result
    if statement.commit != commit.id:
        return f"its statement is about the commit {statement.commit[:12] or 'of nobody'}"
    if {statement.tree, result.tree} != {commit.tree} or result.commit != commit.id:
        return f"its statement is about the tree {result.tree[:12]}, and it has another"
    return ""


def _without_statement(case: Case) -> Ruling:
    claim, evidence = Claim.STATEMENT, case.evidence
    others = [each for one in case.named for each in evidence.about(one)]
    if others:
        return contradicted(claim, _differences(case, others[0]))
    if other := _replaced(case):
        return contradicted(
            claim,
            f"it has the files of {other.predicate.order.id}'s commit {other.commit[:12]}, and is "
            "not that commit: it was amended, rebased or squashed",
        )
    if not case.named and evidence.has_statements and not evidence.lacks_objects:
        return not_provable(claim, "it names no order, so llmch says nothing of it")
    if evidence.lacks_objects:
        return not_provable(
            claim,
            f"this is a partial clone, which lacks objects of {PROOF_REF}",
            "fetch without the filter: `git fetch --refetch --no-filter`",
        )
    if not evidence.has_statements:
        unnamed = "" if case.named else "it names no order, and may have been accepted for one; "
        return not_provable(
            claim,
            f"{unnamed}this repo has no {PROOF_REF}: statements come with it, and a clone leaves "
            "it out",
            f"`{how_to_fetch(case.git)}`, after whoever made the commits has pushed that ref",
        )
    return not_provable(
        claim,
        "no statement is about it: it was made by a version of llmch without statements, or its "
        "statement was not brought here",
        f"`{how_to_fetch(case.git)}`",
    )


def _replaced(case: Case) -> Statement | Acceptance | None:
    """Return the statement about a commit in whose place this one stands, with the same files.

    Where one of the two follows the other, each stands in a place of its own.
    """
    git, own = case.git, case.commit.id
    for each in case.evidence.with_tree(case.commit.tree):
        follows = commits.is_ancestor(git, each.commit, own)
        if not follows and not commits.is_ancestor(git, own, each.commit):
            return each
    return None


def _differences(case: Case, other: Statement) -> str:
    """Say how a commit differs from that of the statement about its order."""
    stated, commit = other.predicate, case.commit
    what = []
    if (stated.base.commit,) != commit.parents:
        what.append(f"its parent is not {stated.base.commit[:12]}")
    if stated.result.tree != commit.tree:
        what.append("its files differ")
    what = what or ["its message, author or date differs"]
    return (
        f"the statement about {stated.order.id} is about {other.commit[:12]}, not about this "
        f"commit: it was amended, rebased or forged ({', '.join(what)})"
    )


def rule_on_signature(case: Case) -> Ruling | None:
    """Return whether the statement is signed by somebody trusted; `None` without a statement."""
    claim, envelope, stated = Claim.SIGNATURE, case.envelope, case.stated
    if envelope is None or stated is None:
        return None
    if not envelope.signatures:
        if stated.signed:
            return contradicted(claim, f"its signature ({stated.signed}) was taken away")
        said = "how the commit was made" if case.statement else "what the commit stands for"
        return not_provable(
            claim,
            f"the statement is not signed: it says {said}, and nobody vouches for that",
            "statements are signed where git's config has commit.gpgSign",
        )
    try:
        config = read_signing_config(case.git)
    except ValueError as useless:
        return not_provable(claim, str(useless))
    checked = [
        check_signature(case.git, config, envelope.signed_bytes, each)
        for each in envelope.signatures
    ]
    # One that is wrong is not made good by another one.
    for trust, rule in ((Trust.BAD, contradicted), (Trust.GOOD, proven)):
        for each in checked:
            if each.trust is trust:
                return rule(claim, each.text)
    return not_provable(claim, checked[0].text, "have git know the key, as `git log` needs it too")
