"""Defines the capability to compare code with declared interfaces, without running the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from shared.languages.capabilities.tools import Tools
from shared.work_order.schemas import Interface, WorkOrder

DOES_NOT_PARSE: Final = "does not parse"
"""The first words of the message about a file whose syntax the language's reader refuses."""


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """Represent a declared name that the code does not have as declared.

    `name` is qualified (`Game.play`), and empty where the whole file is meant. `message` tells the
    author of the code how it differs.
    """

    path: str
    name: str
    message: str


class Conformance(Protocol):
    """Read contracts, and compare code with them."""

    def reads(self, path: str) -> bool:
        """Return whether `check_conformance` needs the file: code, or what says how it is built."""

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one stub for each file of the language that holds after the last of `orders`.

        Later declarations are merged over earlier ones. A name in an order's `changes` that the
        order does not declare is gone. Stubs that do not parse declare nothing.
        """

    def warm_up(self, tools: Tools) -> None:
        """Ask an empty question, so that the first real question is quick.

        Raises `CheckerFailed` where there is no answer.
        """

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts `interfaces`, sorted by file and name.

        `sources` has the texts of the files that `reads` wants, by path; looking one up that is no
        text fails with `KeyError`. Raises `CheckerFailed` where the sources could not be judged.
        """

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return code by path that keeps `interfaces` and does nothing.

        `sources` has the texts of existing files by path.
        """
