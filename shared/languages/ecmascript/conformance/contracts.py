"""Puts contracts and conformance behind the protocol of languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.capabilities.tools import Tools
from shared.work_order.schemas import Interface, WorkOrder


@dataclass(frozen=True, slots=True)
class EcmaConformance:
    """Implement `Conformance` for the files of `suffixes`."""

    suffixes: tuple[str, ...]

    def reads(self, path: str) -> bool:
        """Return whether the file has one of the suffixes."""
        return path.endswith(self.suffixes)

    def contracts_in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one stub for each file with the declarations that hold after these orders."""
        from shared.languages.ecmascript.contracts.merge import contracts_in_force

        return contracts_in_force(orders, self.suffixes)

    def warm_up(self, tools: Tools) -> None:
        """Do nothing: the compiler ends with each answer, and the system keeps its files."""

    def check_conformance(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
    ) -> tuple[ContractViolation, ...]:
        """Return what in `sources` contradicts the stubs in `interfaces`."""
        from shared.languages.ecmascript.conformance.conformance import check_conformance

        return check_conformance(interfaces, sources, tools)

    def build_skeleton(
        self, interfaces: Sequence[Interface], sources: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return code by path whose functions return 0, "", [] and the like."""
        from shared.languages.ecmascript.conformance.skeleton import build_skeleton

        return build_skeleton(interfaces, sources)
