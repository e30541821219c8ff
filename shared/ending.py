"""Says how a run ended. Pure."""

from __future__ import annotations

from enum import StrEnum

from shared.errors import Interrupted, LlmchError


class Ending(StrEnum):
    """Say how a run ended, as `run.json` keeps it; a run that was killed has no ending."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    INTERNAL_ERROR = "internal error"


def ending_of(error: BaseException) -> Ending:
    """Return the ending of a run that this exception ended."""
    match error:
        case KeyboardInterrupt() | Interrupted():
            return Ending.INTERRUPTED
        case LlmchError():
            return Ending.ERROR
        case _:
            return Ending.INTERNAL_ERROR
