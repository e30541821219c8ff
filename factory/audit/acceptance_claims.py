"""Looks into what is claimed of a person's commit that stands for an order.

Nothing in such a commit names the order, and no reply was recorded: these claims are the word of
the statement, and a signature says whose word that is.
"""

from __future__ import annotations

from typing import Final

from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, Standing, contradicted, not_provable, proven
from factory.audit.content_claims import SHALLOW, UNSHALLOW
from factory.audit.identity_claims import fault_of_order_part
from factory.audit.statement_claims import fault_of_subject, rule_on_signature
from factory.landing.order_change import as_text, change_of, lacking, paths_of
from factory.orders.commit_message import NOBODY
from factory.repo.path_names import name_paths
from factory.statement.document import Acceptance
from shared.git import patches
from shared.git.identity import Identity

_MISSING: Final = "a case of an acceptance has one"


def rule_on_accepted_statement(case: Case) -> Ruling:
    """Return whether the statement is about the very commit that has it."""
    claim, acceptance = Claim.STATEMENT, _acceptance_of(case)
    if fault := fault_of_subject(case, acceptance):
        return contradicted(claim, fault)
    stated = acceptance.predicate
    person = Identity(stated.accepted_by.name, stated.accepted_by.email)
    by = "" if person == NOBODY else f", by {person}"
    return proven(claim, f"accepted for {stated.order.id} in run {stated.tool.run}{by}")


def rule_on_accepted_order(case: Case) -> Ruling:
    """Return whether the commit stands for the order that is stated: by a trusted person's word."""
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
    if signature is not None and signature.standing is Standing.PROVEN:
        return proven(claim, f"{stated.order.id}, by the word of whoever signed the statement")
    return not_provable(
        claim,
        f"a person made it, so its message names no order; that it stands for {stated.order.id} is "
        "the word of its statement",
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
        return not_provable(claim, "what it may change stands in the order, which is not at hand")
    if not case.has_parent or not case.parent:
        return not_provable(claim, SHALLOW, UNSHALLOW)
    git, commit = case.git, case.commit.id
    for fault in lacking(git, order, commit):
        return contradicted(claim, fault)
    changed = patches.files_between(git, case.parent, commit)
    beyond = {as_text(each) for each in changed - paths_of(order)}
    if unsaid := sorted(beyond - {*stated.beyond}):
        return contradicted(
            claim,
            "it changes what neither the order nor a person allowed: " + name_paths(unsaid),
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
    """Return that there is no reply to compare with."""
    return not_provable(Claim.REPLY, "a person made it: no model was asked, and there is no reply")


def _acceptance_of(case: Case) -> Acceptance:
    assert case.acceptance is not None, _MISSING
    return case.acceptance
