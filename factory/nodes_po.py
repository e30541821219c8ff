"""PO, the judging node: contract, verification, postconditions, acceptance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from factory.checks import Judging, run_checks
from factory.conformance import (
    ContractResult,
    brief_of,
    check_declarations,
    check_rewrites,
    is_bound,
    without_syntax,
)
from factory.schemas import AttemptStage, WriteProposal
from factory.state import FactoryContext, FactoryState
from factory.summary import unjudged_warning
from shared.atomic_io import write_json
from shared.events import Warned
from shared.hashing import sha256_bytes


def judge(state: FactoryState, runtime: Runtime[FactoryContext]) -> dict[str, Any]:
    """Run every check on the written files and return the results, with a brief on failure.

    What needs no code to run comes first: it is told at once, and by the name at fault.
    """
    context, proposal = runtime.context, state["proposal"]
    assert proposal is not None, "the router leads here only with a proposal"
    contract = _judge_contract(state, context, proposal)
    unjudged = {"unjudged": contract.unjudged}
    if contract.violations:
        return {**unjudged, "brief": brief_of(context.order, contract.violations)}
    judgement = run_checks(
        Judging(
            task=context.task,
            options=context.options,
            bench=context.bench,
            attempt=state["attempt"],
            written={each.path: sha256_bytes(each.content.encode()) for each in proposal.writes},
            folder=context.attempt_folder(state["attempt"]),
            emit=context.emit,
            progress=context.progress,
        )
    )
    return {
        **unjudged,
        "verify": judgement.verify,
        "acceptance": judgement.acceptance,
        "brief": judgement.brief,
    }


def _judge_contract(
    state: FactoryState, context: FactoryContext, proposal: WriteProposal
) -> ContractResult:
    order, attempt, workspace = context.order, state["attempt"], context.workspace
    if not is_bound(context.binding, proposal, state["shown"]):
        return ContractResult()
    context.progress.begin_stage(attempt, AttemptStage.CONTRACT)
    lost = check_rewrites(order, proposal, state["shown"])
    result = check_declarations(
        context.binding,
        proposal.paths,
        workspace.tree,
        lambda: workspace.git.files_of(state["tree"]),
        context.checker,
    )
    if not context.bench.reads_alike:
        result = without_syntax(result)
    result = replace(result, violations=(*lost, *result.violations))
    if result.unjudged:
        context.emit(Warned(f"{order.id}: {unjudged_warning(result.unjudged)}"))
    folder = context.attempt_folder(attempt)
    write_json(folder / "contract_result.json", result.document(), sync=False)
    return result
