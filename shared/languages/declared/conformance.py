"""Compares written code with contracts as far as texts show: for languages with declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.languages.capabilities.conformance import DOES_NOT_PARSE, ContractViolation
from shared.languages.declared.contracts import Contract, Delta, differs, fold, joined
from shared.languages.declared.meant import normal_changes
from shared.languages.declared.model import Declarations, Declared
from shared.languages.declared.notes import code_problem
from shared.languages.declared.planned import without_fence
from shared.work_order.schemas import Interface, WorkOrder


def read_stubs(
    interfaces: Iterable[Interface], suffix: str, read: Callable[[str], Declarations]
) -> dict[str, Declarations]:
    """Return the contract of each file with that suffix; a stub that does not parse is none."""
    own = (each for each in interfaces if each.path.endswith(suffix))
    stubs = ((each.path, read(without_fence(each.stub))) for each in own)
    return joined((path, stub) for path, stub in stubs if stub.fault is None)


@dataclass(frozen=True, slots=True)
class Stubs:
    """Say how a language reads and writes the contracts of its files, which end in `suffix`."""

    suffix: str
    read: Callable[[str], Declarations]
    write: Callable[[Contract], str]

    def in_force(self, orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
        """Return one contract for each file of the language that holds after all `orders`."""
        deltas = [
            Delta(
                frozenset(order.allowed_files),
                self.merged(order.interfaces),
                normal_changes(order.changes),
            )
            for order in orders
        ]
        return tuple(
            Interface(path=path, stub=self.write(contract))
            for path, contract in fold(deltas)[-1].items()
        )

    def merged(self, interfaces: Iterable[Interface]) -> dict[str, Declarations]:
        """Return the contract of each file of the language; a stub that does not parse is none."""
        return read_stubs(interfaces, self.suffix, self.read)

    def read_written(
        self, path: str, sources: Mapping[str, str]
    ) -> Declarations | ContractViolation:
        """Return what the file of a contract declares, or that it is missing or does not parse."""
        text = sources.get(path)
        if text is None:
            return ContractViolation(path, "", "is declared but was not written")
        written = self.read(text)
        if written.fault is not None:
            problem = f"{DOES_NOT_PARSE}: {code_problem(written)}"
            return ContractViolation(path, "", problem)
        return written


def is_missing(path: str, item: Declared) -> ContractViolation:
    """Return the violation by a declaration that the file does not have."""
    return ContractViolation(path, item.name, f"`{item.head}` is declared and missing")


def compare_members(path: str, item: Declared, has: Declared) -> Iterator[ContractViolation]:
    """Yield how the members of a written type differ from the declared ones."""
    if has.kind != "type":
        return
    for name, member in item.members.items():
        qualified = f"{item.name}.{name}"
        if name not in has.members:
            message = f"`{qualified}` is declared as `{member.text}` and missing"
            yield ContractViolation(path, qualified, message)
        elif has.members[name].key != member.key:
            message = differs(qualified, member.text, has.members[name].text)
            yield ContractViolation(path, qualified, message)


def first_of_each_name(found: Iterable[ContractViolation]) -> tuple[ContractViolation, ...]:
    """Return the first violation of each name in each file, sorted by file and name."""
    first: dict[tuple[str, str], ContractViolation] = {}
    for each in found:
        first.setdefault((each.path, each.name), each)
    return tuple(sorted(first.values(), key=lambda each: (each.path, each.name)))


def readable(sources: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    """Return those of `sources` whose paths end in one of `wanted` and that are texts."""
    texts = ((path, sources.get(path)) for path in sources if path.endswith(wanted))
    return {path: text for path, text in texts if text is not None}
