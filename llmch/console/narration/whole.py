"""What is under way as a whole, while events of its parts arrive."""

from __future__ import annotations

from dataclasses import dataclass

PLAN = "plan"
BATCH = "run-all"
MODEL = "model"


@dataclass(slots=True)
class Whole:
    """The plan or the batch that is under way; without a name where an order runs alone."""

    name: str = ""

    @property
    def in_batch(self) -> bool:
        """Whether orders that end are parts of a batch."""
        return self.name == BATCH
