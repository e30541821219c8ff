"""Parses a ladder of models, on which later attempts may climb to a larger model. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.errors import InvalidInput

_STEP = re.compile(r"(?P<model>.+)@(?P<attempt>[1-9]\d?)")


@dataclass(frozen=True, slots=True)
class Rung:
    """Hold a model and the first attempt that asks it; `None` if the user named no attempt."""

    model: str
    from_attempt: int | None = None


def parse_ladder(text: str) -> tuple[Rung, ...]:
    """Return the rungs of `small,large` or `small,large@4` (`large` from attempt 4 on).

    Raises `InvalidInput` for an empty name, or for attempts that do not rise.
    """
    rungs = tuple(_parse_rung(part.strip()) for part in text.split(","))
    if not all(rung.model for rung in rungs):
        raise InvalidInput(
            f"the model ladder {text!r} contains an empty name",
            hint="give model names separated by commas; the first attempt asks the first model",
        )
    starts = [rung.from_attempt for rung in rungs if rung.from_attempt is not None]
    if starts != sorted(set(starts)) or rungs[0].from_attempt not in (None, 1):
        raise InvalidInput(
            f"the attempts of the model ladder {text!r} do not rise from 1",
            hint="write the ladder like small,large@4: large is asked from attempt 4 on",
        )
    return rungs


def rung_for_attempt(ladder: Sequence[Rung], attempt: int, max_attempts: int) -> int:
    """Return the index of the rung for the `attempt`-th of `max_attempts`, counted from 1.

    Rungs without an attempt of their own share the attempts evenly, in the order of the ladder.
    """
    reached = [
        index
        for index, rung in enumerate(ladder)
        if _start(rung, index, len(ladder), max_attempts) <= attempt
    ]
    return reached[-1] if reached else 0


def _start(rung: Rung, index: int, rungs: int, max_attempts: int) -> int:
    if rung.from_attempt is not None:
        return rung.from_attempt
    # The first attempt a with (a - 1) * rungs // max_attempts >= index, by ceiling division.
    return 1 - (-index * max_attempts // rungs)


def _parse_rung(text: str) -> Rung:
    if step := _STEP.fullmatch(text):
        return Rung(step["model"], int(step["attempt"]))
    return Rung(text)
