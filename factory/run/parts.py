"""Defines what all of a run works with, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from factory.orders.options import RunOptions
from factory.record.journal import Journal
from factory.repo.preflight import Repo
from shared.events.event import Emit
from shared.llm.stack import Model
from shared.run_record import RunFolder


@dataclass(frozen=True, slots=True)
class RunParts:
    """Hold what a run works with from its beginning to its end, whichever orders it makes."""

    options: RunOptions
    repo: Repo
    model: Model
    folder: RunFolder
    journal: Journal
    emit: Emit
