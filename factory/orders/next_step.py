"""Names the one command that helps after an order has failed. Pure.

`run-all` and `status` both ask here, so that they say the same.
"""

from __future__ import annotations

from typing import Literal, assert_never

from factory.orders.stages import Stage


def next_step(
    stage: Stage | Literal["error"], order: str, *, place: str = "", remedy: str = ""
) -> str:
    """Return what a person does next about an order that failed at `stage`, as a clause.

    `place` is the option with which verbs find the repo, after a space; "" in the repo itself.
    `remedy` is what the failure itself says of the environment. The result is "" where the error
    that ended the run says what to do.
    """
    match stage:
        case Stage.ENVIRONMENT:
            return remedy or "provide what the command lacks"
        case Stage.WRITE_FAILED:
            return "free space or correct the permissions"
        case Stage.PREFLIGHT:
            return (
                f"correct {order}, or plan again: `llmch check PLAN` judges the plan without a "
                "model"
            )
        case Stage.EXCEPTION | Stage.LLM_OUTPUT_INVALID:
            return f"`llmch retry {order}{place} --llm-model MODEL` asks another model"
        case (
            Stage.REPEATED
            | Stage.WRITE_SCOPE_VIOLATION
            | Stage.STALE_CONTEXT
            | Stage.CONTRACT_VIOLATED
            | Stage.VERIFY_FAILED
            | Stage.ACCEPTANCE_FAILED
        ):
            return f"`llmch retry {order}{place} --hint TEXT` asks again with what you tell it"
        case "error":
            return ""
        case _:
            assert_never(stage)
