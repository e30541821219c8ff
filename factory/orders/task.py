"""Defines what is passed to a worker, and what comes back: an order to make, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.orders.commit_message import CommitTerms, describe_commit
from factory.orders.documents import AttemptRecord, CommandFlag
from factory.orders.identity import OrderIdentity, identify
from factory.orders.read import LoadedOrder
from factory.orders.verdict import Verdict
from factory.orders.verified_by import VerifiedBy
from shared.git.commits import CommitFacts
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class OrderTask:
    """Hold an order to be made on the commit `base`, with everything its result depends on.

    Records go to `folder`.
    """

    loaded: LoadedOrder
    exempt: bool
    base: str
    terms: CommitTerms
    folder: Path

    @property
    def order(self) -> WorkOrder:
        return self.loaded.order

    @property
    def name(self) -> str:
        return self.order.id

    @property
    def identity(self) -> OrderIdentity:
        """Return the identity by which the order's commit is recognised later."""
        plan = self.loaded.plan
        return identify(self.order, plan.manifest_sha256 if plan else "")

    def commit_facts(self, summary: str) -> CommitFacts:
        """Return message, author and date of the order's commit; a model wrote `summary`."""
        return describe_commit(self.order, self.identity, self.terms, summary)


@dataclass(frozen=True, slots=True)
class OrderResult:
    """Hold how the attempts ended. A commit that passed is on the task's base, on no branch yet."""

    verdict: Verdict
    records: tuple[AttemptRecord, ...]
    flags: tuple[CommandFlag, ...] = ()
    verified_by: VerifiedBy | None = None
    """The commands that passed on the commit, if there is one."""

    @property
    def proof(self) -> str:
        """Return in one line what speaks for the commit; "" where there is none."""
        return self.verified_by.describe() if self.verified_by else ""
