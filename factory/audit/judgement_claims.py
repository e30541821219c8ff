"""Checks the claims about how a commit was judged.

The commit itself does not name the order, and no reply was recorded. So these claims rest on the
statement alone, and a signature shows who made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from factory.audit.audit_evidence import (
    Case,
    Claim,
    ClaimState,
    Ruling,
    contradicted,
    how_to_fetch,
    not_provable,
    proven,
)
from factory.audit.commit_claims import SHALLOW, UNSHALLOW, fault_of_order_part
from factory.landing.stand_in import as_text, change_of, lacking, paths_of
from factory.orders.documents import FailureBrief, VerifiedBy
from factory.orders.order_commit import NOBODY
from factory.orders.stages import Stage
from factory.preflight import name_paths
from factory.statement.statement import PROOF_REF, Acceptance, CommandPart, Judged, Statement
from shared.errors import Interrupted, LlmchError, SandboxUnavailable
from shared.git import commits, trees
from shared.git.repos import Identity
from shared.git.signing import Trust, check_signature, read_signing_config
from shared.processes.shell_words import UnsplittableError, split_words
from shared.work_order.work_order import WorkOrder

Judge = Callable[[Case], VerifiedBy | FailureBrief]
"""Runs verification and acceptance on the tree of a commit."""


def rule_on_checks(case: Case, judge: Judge | None) -> Ruling:
    """Return whether the commands pass on the commit's tree; without `judge`, none is run."""
    claim, stated, order = Claim.CHECKS, case.stated, case.order
    if order is None:
        return not_provable(claim, "which commands judge it is in the order")
    if stated is not None and (fault := _fault_of_stated(order, stated)):
        return contradicted(claim, fault)
    if judge is None:
        word = "the word of the statement" if stated else "nothing is stated of its commands"
        if stated and stated.exempt:
            word += f", that it was proven by compiling alone ({stated.exempt})"
        return not_provable(claim, word, "`--rerun` runs them again on this very tree")
    try:
        judged = judge(case)
    except (SandboxUnavailable, Interrupted):
        raise
    except LlmchError as refused:
        return not_provable(claim, f"the commands were not run: {refused.message}", refused.hint)
    if isinstance(judged, VerifiedBy):
        return proven(claim, f"run again: {judged.describe()}")
    said = f"{judged.stage}: `{judged.command}`" if judged.command else str(judged.stage)
    if judged.stage is Stage.ENVIRONMENT:
        return not_provable(claim, f"this machine lacks what they need ({said})", judged.remedy)
    last = judged.primary_error_excerpt.strip().rpartition("\n")[2]
    return contradicted(claim, f"run again, they do not pass ({said}): {last}")


def _fault_of_stated(order: WorkOrder, predicate: Judged) -> str:
    """Return why the stated commands do not let a commit of the order pass; "" if they do.

    A test run that is stated to have ended with a code other than 0 needs a reason.
    """
    stated = [each.command for each in predicate.commands if each.stage == "acceptance"]
    try:
        wanted = [split_words(each).texts for each in order.acceptance_commands]
    except UnsplittableError:
        return "its order has a command that cannot be run"
    if stated != wanted:
        return "its statement has other acceptance commands than its order"
    for each in predicate.commands:
        if each.exit_code and not each.note:
            return f"its statement says that `{_shown(each)}` failed"
        if each.sandbox not in range(len(predicate.sandboxes)):
            return f"its statement does not say in which sandbox `{_shown(each)}` ran"
    return ""


def _shown(command: CommandPart) -> str:
    return " ".join(command.command)


def rule_on_statement(case: Case) -> Ruling:
    """Return whether the commit carries a statement about itself."""
    claim, statement = Claim.STATEMENT, case.statement
    if case.wrong:
        return contradicted(claim, case.wrong)
    if statement is None:
        return _without_statement(case)
    return proven(claim, f"made in run {statement.predicate.tool.run}")


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
    """Return the statement about the commit that this one replaces, with the same files.

    Where one of the two follows the other, neither replaces the other.
    """
    git, own = case.git, case.commit.id
    for each in case.evidence.with_tree(case.commit.tree):
        follows = commits.is_ancestor(git, each.commit, own)
        if not follows and not commits.is_ancestor(git, own, each.commit):
            return each
    return None


def _differences(case: Case, other: Statement) -> str:
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
        said = "how the commit was made" if case.statement else "what the commit was accepted for"
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
    # Another statement cannot make up for a wrong one.
    for trust, rule in ((Trust.BAD, contradicted), (Trust.GOOD, proven)):
        for each in checked:
            if each.trust is trust:
                return rule(claim, each.text)
    return not_provable(claim, checked[0].text, "have git know the key, as `git log` needs it too")


_MISSING: Final = "a case of an acceptance has one"


def rule_on_accepted_statement(case: Case) -> Ruling:
    """Return that the statement is about the very commit that has it: no other is looked at."""
    claim, stated = Claim.STATEMENT, _acceptance_of(case).predicate
    person = Identity(stated.accepted_by.name, stated.accepted_by.email)
    by = "" if person == NOBODY else f", by {person}"
    return proven(claim, f"accepted for {stated.order.id} in run {stated.tool.run}{by}")


def rule_on_accepted_order(case: Case) -> Ruling:
    """Return whether a trusted person accepted the commit for the order that is stated."""
    claim, stated = Claim.ORDER, _acceptance_of(case).predicate
    if fault := fault_of_order_part(stated):
        return contradicted(claim, fault)
    if case.identity in case.named:
        return contradicted(
            claim,
            f"its message says that llmch made it for {stated.order.id}, and its statement that a "
            "person did: such a commit is not accepted",
        )
    signature = rule_on_signature(case)
    if signature is not None and signature.standing is ClaimState.PROVEN:
        return proven(claim, f"{stated.order.id}, by the word of whoever signed the statement")
    return not_provable(
        claim,
        f"a person made it, so its message names no order; that it was accepted for "
        f"{stated.order.id} is the word of its statement",
        "a signature of somebody who is trusted here proves whose word that is",
    )


def rule_on_accepted_commit(case: Case) -> Ruling:
    """Return that nobody can make a person's commit again; a damaged one is contradicted."""
    claim = Claim.COMMIT
    if not case.commit.is_intact:
        return contradicted(claim, "its bytes are not those that its id names: the repo is damaged")
    return not_provable(claim, "a person wrote its message, so llmch cannot make it again")


def rule_on_accepted_files(case: Case) -> Ruling:
    """Return whether the commit changes exactly what is stated, all beyond the order by name."""
    claim, stated, order = Claim.FILES, _acceptance_of(case).predicate, case.order
    if order is None:
        return not_provable(claim, "what it may change is in the order, which is not at hand")
    if not case.has_parent or not case.parent:
        return not_provable(claim, SHALLOW, UNSHALLOW)
    git, commit = case.git, case.commit.id
    for fault in lacking(git, order, commit):
        return contradicted(claim, fault)
    changed = trees.files_between(git, case.parent, commit)
    beyond = {as_text(each) for each in changed - paths_of(order)}
    if unsaid := sorted(beyond - {*stated.beyond}):
        return contradicted(
            claim, "it changes what neither the order nor a person allowed: " + name_paths(unsaid)
        )
    change = change_of(git, commit, changed)
    now = {each.path: each.sha256 for each in change.written}
    then = {each.path: each.sha256 for each in stated.change.written}
    removed = {*change.removed}.symmetric_difference(stated.change.removed)
    other = {each for each in (*now, *then) if now.get(each) != then.get(each)}
    if wrong := sorted(other | removed | ({*stated.beyond} - beyond)):
        return contradicted(claim, f"its files are not those that were judged: {name_paths(wrong)}")
    more = f", {len(beyond)} of them beyond what the order allows" if beyond else ""
    return proven(claim, f"{len(changed)} changed{more}")


def rule_on_accepted_reply(case: Case) -> Ruling:
    """Return the ruling where no reply can be compared."""
    return not_provable(Claim.REPLY, "a person made it: no model was asked, and there is no reply")


def _acceptance_of(case: Case) -> Acceptance:
    assert case.acceptance is not None, _MISSING
    return case.acceptance
