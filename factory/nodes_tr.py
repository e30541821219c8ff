"""TR, the applying node: every check first, then every write."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from factory.excerpt import cut
from factory.prompt import hashes_of, reminder
from factory.schemas import FailureBrief, Stage, WriteProposal
from factory.scope import check_proposal
from factory.state import FactoryContext, FactoryState
from factory.tree import NotReadable, Tree
from shared.atomic_io import write_json
from shared.events import StageStarted, WritesApplied


def apply(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Put the proposal's files into the workspace, or return the brief of why not."""
    context, proposal = runtime.context, state["proposal"]
    assert proposal is not None, "the router leads here only with a proposal"
    order, attempt = context.order, state["attempt"]
    context.emit(StageStarted(order.id, attempt, "apply"))
    tree = context.workspace.tree
    violations = check_proposal(order, proposal, hashes_of(state["shown"]), tree)
    brief = None
    if violations:
        message = "\n".join(violation.message for violation in violations)
        stage = violations[0].stage
        brief = FailureBrief(
            stage=stage,
            primary_error_excerpt=cut(message),
            constraints_reminder=reminder(stage, order),
        )
    else:
        brief = write_files(tree, proposal)
    _record(context, attempt, proposal, brief)
    if brief:
        return {"brief": brief}
    context.emit(WritesApplied(order.id, attempt, proposal.paths, proposal.summary))
    return {"write_ok": True}


def write_files(tree: Tree, proposal: WriteProposal) -> FailureBrief | None:
    """Write all files of a checked proposal; a refusal of the disk is a brief, never retried."""
    for write in proposal.writes:
        try:
            tree.write(write.path, write.content.encode())
        except (OSError, NotReadable) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return FailureBrief(
                stage=Stage.WRITE_FAILED,
                primary_error_excerpt=cut(f"{write.path!r} could not be written: {reason}"),
            )
    return None


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
