"""An order to be made on a commit, and what came of it: all that passes to a worker and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.orders.documents import AttemptRecord, Flag
from factory.orders.identity import OrderIdentity, describe_commit, identify
from factory.orders.read import LoadedOrder
from factory.orders.verdict import Verdict
from shared.git.client import CommitFacts
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class OrderTask:
    """An order to be made on the commit `base`, with all that its result depends on.

    Records go to `folder`; `date` is that of its commit, as git spells dates.
    """

    loaded: LoadedOrder
    exempt: bool
    base: str
    date: str
    folder: Path

    @property
    def order(self) -> WorkOrder:
        return self.loaded.order

    @property
    def name(self) -> str:
        return self.order.id

    @property
    def identity(self) -> OrderIdentity:
        """Return what its commit will be known by."""
        plan = self.loaded.plan
        return identify(self.order, plan.manifest_sha256 if plan else "")

    @property
    def commit_facts(self) -> CommitFacts:
        """Return message, author and date of its commit."""
        return describe_commit(self.order, self.identity, self.date)


@dataclass(frozen=True, slots=True)
class OrderResult:
    """How the attempts ended; what passed is a commit on the task's base, on no branch yet."""

    verdict: Verdict
    records: tuple[AttemptRecord, ...]
    flags: tuple[Flag, ...] = ()
