"""Names the whole, a plan or a batch, that the events of a run belong to."""

from __future__ import annotations

from dataclasses import dataclass

PLAN = "plan"
BATCH = "run-all"
MODEL = "model"


@dataclass(slots=True)
class Whole:
    """Name the plan or the batch that is under way; the name is empty where an order runs alone."""

    name: str = ""

    @property
    def in_batch(self) -> bool:
        """Return whether orders run as parts of a batch."""
        return self.name == BATCH
