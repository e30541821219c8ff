"""Names the stages of an attempt, the stages of a failure, and the words of a verdict.

Nothing else is imported: `status` reads the journal by these names, and starts without pydantic.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

VerdictWord = Literal["PASS", "FAIL", "ERROR"]
"""How an order or a run was judged. A verdict says whether the requested work is done. The state
of an order (`OrderState`) also covers orders that were never judged."""


class AttemptStage(StrEnum):
    """Name the step that an attempt is at. A `Stage` says something else: how an attempt failed."""

    PROPOSE = "propose"
    APPLY = "apply"
    CONTRACT = "contract"
    VERIFY = "verify"
    ACCEPT = "accept"
    COMMIT = "commit"


class Stage(StrEnum):
    """Name the way in which an attempt failed, which decides what the next prompt says about it."""

    PREFLIGHT = "preflight"
    EXCEPTION = "exception"
    REPEATED = "repeated"
    LLM_OUTPUT_INVALID = "llm_output_invalid"
    WRITE_SCOPE_VIOLATION = "write_scope_violation"
    STALE_CONTEXT = "stale_context"
    WRITE_FAILED = "write_failed"
    VERIFY_FAILED = "verify_failed"
    CONTRACT_VIOLATED = "contract_violated"
    ACCEPTANCE_FAILED = "acceptance_failed"
    ENVIRONMENT = "environment"

    @property
    def retryable(self) -> bool:
        """Return whether another proposal could succeed.

        None can fix the plan, the disk, or what is not installed.
        """
        return self not in (Stage.PREFLIGHT, Stage.WRITE_FAILED, Stage.ENVIRONMENT)
