"""An order to be made on a commit, and what came of it: all that passes to a worker and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.commit_facts import OrderIdentity, identify
from factory.orders import LoadedOrder
from factory.schemas import AttemptRecord, Flag
from factory.verdict import Verdict
from shared.hashing import order_key, sha256_text


@dataclass(frozen=True, slots=True)
class OrderTask:
    """An order to be made on the commit `base`. Records go to `folder`."""

    loaded: LoadedOrder
    exempt: bool
    base: str
    folder: Path

    @property
    def name(self) -> str:
        return self.loaded.order.id

    @property
    def identity(self) -> OrderIdentity:
        """By what its commit will be known."""
        plan = self.loaded.plan
        return identify(self.loaded.order, plan.manifest_sha256 if plan else "")

    @property
    def key(self) -> str:
        """Equal for equal work on an equal base: doing it twice gives the same."""
        return sha256_text(f"{order_key(self.loaded.order)} {self.base}")


@dataclass(frozen=True, slots=True)
class OrderResult:
    """How the attempts ended; what passed is a commit on the task's base, on no branch yet."""

    verdict: Verdict
    records: tuple[AttemptRecord, ...]
    flags: tuple[Flag, ...] = ()
