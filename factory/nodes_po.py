"""PO, the judging node: verification, postconditions, acceptance."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from factory.checks import Judging, run_checks
from factory.state import FactoryContext, FactoryState
from shared.hashing import sha256_bytes


def judge(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Run every check on the written files and return the results, with a brief on failure."""
    context, proposal = runtime.context, state["proposal"]
    assert proposal is not None, "the router leads here only with a proposal"
    judgement = run_checks(
        Judging(
            order=context.order,
            attempt=state["attempt"],
            tree=context.workspace.tree,
            written={each.path: sha256_bytes(each.content.encode()) for each in proposal.writes},
            sandbox=context.sandbox,
            exempt=context.exempt,
            timeout_seconds=context.timeout_seconds,
            retry_flaky=context.retry_flaky,
            emit=context.emit,
            folder=context.attempt_folder(state["attempt"]),
            record_root=context.folder,
            path_names=context.path_names,
        )
    )
    return {
        "verify": judgement.verify,
        "acceptance": judgement.acceptance,
        "brief": judgement.brief,
    }
