"""Looks into what a commit says it is: its order, its message and author, its plan."""

from __future__ import annotations

from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, contradicted, not_provable, proven
from factory.orders.identity import OrderIdentity, identify
from factory.statement.document import Judged, Statement
from factory.statement.remade import remake_commit


def rule_on_order(case: Case) -> Ruling:
    """Return whether the order that the message names is the one that is stated or planned."""
    claim, statement = Claim.ORDER, case.statement
    if len(case.named) > 1:
        names = ", ".join(each.work_order for each in case.named)
        return contradicted(claim, f"it names several orders ({names}), as a squashed commit does")
    identity = case.identity
    if identity is None:
        if statement is None:
            return not_provable(claim, "it names no order")
        stated = statement.predicate.order.id
        return contradicted(claim, f"its message names no order, and its statement {stated}")
    if statement is not None and (fault := _fault_of_stated_order(identity, statement)):
        return contradicted(claim, fault)
    if case.order is not None:
        return proven(
            claim, f"{identity.work_order}, whose content has the key {identity.key[:12]}"
        )
    if case.plan is not None and identity.plan in case.plan.hashes:
        return contradicted(
            claim, f"the plan in {case.plan.path} has no order {identity.work_order} of this key"
        )
    return not_provable(
        claim,
        f"the content of {identity.work_order} is not at hand",
        "name the plan: `--plan DIR`",
    )


def _fault_of_stated_order(identity: OrderIdentity, statement: Statement) -> str:
    """Return how the order of a statement is not the one that the message names; "" if it is."""
    stated = statement.predicate
    if fault := fault_of_order_part(stated):
        return fault
    computed = identify(stated.order.document, stated.plan.manifest_sha256 if stated.plan else "")
    if computed.work_order != identity.work_order:
        return f"its message names {identity.work_order}, and its statement {computed.work_order}"
    if computed.key != identity.key:
        return f"its message names another {identity.work_order} than its statement"
    if computed.plan != identity.plan:
        return "its message names another plan than its statement"
    return ""


def fault_of_order_part(stated: Judged) -> str:
    """Return what a statement says of its order that the order itself does not; "" if nothing."""
    computed = identify(stated.order.document, "")
    if computed.key != stated.order.key or computed.work_order != stated.order.id:
        return "the order in its statement does not have the key or the id that is stated for it"
    if stated.requirements != tuple(dict.fromkeys(stated.order.document.covers)):
        return "its statement names other requirements than its order"
    return ""


def rule_on_commit(case: Case) -> Ruling:
    """Return whether the commit is, byte for byte, what llmch makes of its order and its tree."""
    claim, commit, identity = Claim.COMMIT, case.commit, case.identity
    if not commit.is_intact:
        return contradicted(claim, "its bytes are not those that its id names: the repo is damaged")
    if fault := _fault_of_form(case):
        return contradicted(claim, fault)
    if identity is None:
        return not_provable(claim, "it names no order")
    if case.statement is None or case.order is None:
        return not_provable(claim, "what its message was made from stands in the statement")
    terms = case.statement.predicate.terms
    made = remake_commit(case.order, identity, terms, commit.tree, case.parent)
    if made != commit.raw:
        return contradicted(claim, "its message, author or date is not what llmch makes")
    return proven(claim, "made again from its order, tree and parent, it is the same commit")


def _fault_of_form(case: Case) -> str:
    """Return what no commit that llmch makes looks like; "" if this one may be made by it."""
    commit = case.commit
    if not case.concerns_llmch:
        return ""
    if len(commit.parents) != 1:
        return f"it has {len(commit.parents)} parents, and a commit of an order has one"
    if commit.headers != ("tree", "parent", "author", "committer"):
        other = [each for each in commit.headers if each not in _HEADERS]
        return f"it has what llmch never writes into a commit: {', '.join(filter(None, other))}"
    if commit.author != commit.committer:
        return "author and committer differ: somebody amended, rebased or picked it"
    if not commit.author.endswith(" +0000"):
        return "its date is not in UTC"
    return ""


_HEADERS = ("tree", "parent", "author", "committer")


def rule_on_plan(case: Case) -> Ruling | None:
    """Return whether the order is one of its plan; `None` for an order that names no plan."""
    claim, identity, plan = Claim.PLAN, case.identity, case.plan
    named = plan is not None and plan.named
    if identity is None or not (identity.plan or named):
        return None
    if plan is None:
        return not_provable(
            claim, f"the plan {identity.plan[:12]} is not at hand", "name it: `--plan DIR`"
        )
    if identity.plan not in plan.hashes:
        if not named:
            return not_provable(
                claim,
                f"{plan.path} holds another plan now than {identity.plan[:12]}",
                "name the plan: `--plan DIR`",
            )
        stated = f"the plan {identity.plan[:12]}" if identity.plan else "no plan"
        return contradicted(claim, f"it names {stated}, which is not the one in {plan.path}")
    for each in plan.orders:
        if identify(each.order, identity.plan) == identity:
            return proven(claim, f"{each.order.id} of the plan in {plan.path}")
    return contradicted(
        claim, f"the plan in {plan.path} has no order {identity.work_order} of this key"
    )
