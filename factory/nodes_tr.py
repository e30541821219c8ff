"""TR, the applying node: every check first, then every write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from factory.excerpt import cut
from factory.prompt import hashes_of, reminder
from factory.schemas import AttemptStage, FailureBrief, Stage, WriteProposal
from factory.scope import Violation, check_proposal
from factory.staging import stage_proposal
from factory.state import FactoryContext, FactoryState
from factory.tree import NotReadable, Tree
from shared.atomic_io import write_json
from shared.events import WritesApplied
from shared.schemas import WorkOrder


def apply(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Put the proposal's files into the workspace, or return the brief of why not."""
    context, proposal = runtime.context, state["proposal"]
    assert proposal is not None, "the router leads here only with a proposal"
    order, attempt = context.order, state["attempt"]
    context.progress.begin_stage(attempt, AttemptStage.APPLY)
    files, git = context.workspace.tree, context.workspace.git
    violations = check_proposal(order, proposal, hashes_of(state["shown"]), files)
    touched = not violations
    tree = ""
    if not violations:
        violations = write_files(files, proposal)
    if not violations:
        tree, violations = stage_proposal(git, proposal)
    brief = _brief(order, violations) if violations else None
    _record(context, attempt, proposal, brief)
    if brief is None:
        context.emit(WritesApplied(order.id, attempt, proposal.paths, proposal.summary))
    return {"touched": touched, "tree": tree, "write_ok": brief is None, "brief": brief}


def write_files(tree: Tree, proposal: WriteProposal) -> tuple[Violation, ...]:
    """Write all files of a checked proposal; return the refusal of the disk, if there is one."""
    for write in proposal.writes:
        try:
            tree.write(write.path, write.content.encode())
        except (OSError, NotReadable) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return (Violation(Stage.WRITE_FAILED, f"{write.path!r} was not written: {reason}"),)
    return ()


def _brief(order: WorkOrder, violations: Sequence[Violation]) -> FailureBrief:
    stage = violations[0].stage
    return FailureBrief(
        stage=stage,
        primary_error_excerpt=cut("\n".join(violation.message for violation in violations)),
        constraints_reminder=reminder(stage, order),
    )


def _record(
    context: FactoryContext, attempt: int, proposal: WriteProposal, brief: FailureBrief | None
) -> None:
    write_json(
        context.attempt_folder(attempt) / "write_result.json",
        {
            "write_ok": brief is None,
            "touched_files": list(proposal.paths),
            "errors": [] if brief is None else brief.primary_error_excerpt.splitlines(),
        },
        sync=False,
    )
