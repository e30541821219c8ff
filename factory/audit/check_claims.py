"""Looks into the commands that judged a commit: what is stated of them, and how they end now."""

from __future__ import annotations

from collections.abc import Callable

from factory.audit.case import Case
from factory.audit.claims import Claim, Ruling, contradicted, not_provable, proven
from factory.orders.documents import FailureBrief
from factory.orders.stages import Stage
from factory.orders.verified_by import VerifiedBy
from factory.statement.document import CommandPart, Judged
from shared.errors import Interrupted, LlmchError, SandboxUnavailable
from shared.shell_words import UnsplittableError, split_words
from shared.work_order.schemas import WorkOrder

Judge = Callable[[Case], VerifiedBy | FailureBrief]
"""Runs verification and acceptance on the tree of a commit."""


def rule_on_checks(case: Case, judge: Judge | None) -> Ruling:
    """Return whether the commands pass on the commit's tree; without `judge`, none is run."""
    claim, stated, order = Claim.CHECKS, case.stated, case.order
    if order is None:
        return not_provable(claim, "which commands judge it stands in the order")
    if stated is not None and (fault := _fault_of_stated(order, stated)):
        return contradicted(claim, fault)
    if judge is None:
        word = "the word of the statement" if stated else "nothing is stated of its commands"
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
    """Return why the stated commands are not those that let a commit of the order pass; "" if so.

    A test run of which it is stated that it ended with another code than 0 needs a reason.
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
