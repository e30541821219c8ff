"""Holds what the orders of a plan declare in one language, at every point of the plan."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from shared.languages.capabilities.chain import Chain, DeclaredStub, Fault, OrderCode
from shared.languages.declared.contracts import Contract, Delta, conflicts, fold, joined, merge
from shared.languages.declared.meant import normal_changes
from shared.languages.declared.model import MAX_BYTES, Declarations
from shared.languages.declared.model import Fault as StubFault
from shared.languages.fault_words import (
    has_no_interface,
    stub_contradicts,
    stub_does_not_parse,
    stub_uses_undefined,
)
from shared.work_order.field_path import at

Stubs = tuple[tuple[DeclaredStub, Declarations], ...]
Undefined = Callable[[str, Declarations, int], Iterator[tuple[str, int]]]


class PlannedCode:
    """Answer what is declared where and when, for the files with one suffix."""

    def __init__(
        self,
        chain: Chain,
        suffix: str,
        read: Callable[[str], Declarations],
        has_names_to_declare: Callable[[str], bool],
    ) -> None:
        self.chain = chain
        self.suffix = suffix
        self.read = read
        self.has_names_to_declare = has_names_to_declare

    @cached_property
    def stubs(self) -> tuple[Stubs, ...]:
        """Return the contracts of each order, parsed."""
        return tuple(tuple(self._stubs_of(each)) for each in self.chain.orders)

    @cached_property
    def states(self) -> list[dict[str, Contract]]:
        """Return the contracts by path that hold after each order; index 0 is before the first."""
        found = fold(tuple(map(self._delta, self.chain.orders, self.stubs)))
        if not self.chain.files.removed:
            return found
        return [
            {path: each for path, each in state.items() if not self.chain.is_gone(path, position)}
            for position, state in enumerate(found)
        ]

    def text_at(self, path: str, position: int) -> str | None:
        """Return the text of a file after an order; `None` where an order may have written it."""
        text = self.texts(position).get(path)
        is_open = text is None and path in self.open_paths(position)
        return self.chain.sources.get(path) if text is None and not is_open else text

    def _stubs_of(self, order: OrderCode) -> Iterator[tuple[DeclaredStub, Declarations]]:
        for each in order.interfaces:
            if not each.path.endswith(self.suffix):
                continue
            read = Declarations(each.text)
            if each.problem or len(each.text.encode("utf-8", "replace")) > MAX_BYTES:
                problem = each.problem or f"it is over {MAX_BYTES} bytes"
                read = replace(read, fault=StubFault(problem))
            else:
                read = self.read(without_fence(each.text))
            yield each, read

    def _delta(self, order: OrderCode, stubs: Stubs) -> Delta:
        merged = joined((each.path, read) for each, read in stubs if read.fault is None)
        writes = frozenset((*order.writes, *order.may_write))
        return Delta(writes, merged, normal_changes(order.changes))

    def stub_faults(self, undefined: Undefined) -> Iterator[Fault]:
        """Yield E201, E203, E204 and W223.

        `undefined` yields the names that a stub uses and nobody defines, with their lines. It is
        given the path, the stub and the position of the order.
        """
        for order, stubs in zip(self.chain.orders, self.stubs, strict=True):
            if not order.valid:
                continue
            for each, read in stubs:
                field = at("interfaces", each.index, "stub")
                if read.fault is not None:
                    fault = read.fault
                    message = stub_does_not_parse(
                        each.path, fault.message, fault.line, fault.excerpt
                    )
                    yield Fault("E201", order.position, field, message)
                    continue
                for name, line in dict.fromkeys(undefined(each.path, read, order.position)):
                    message = stub_uses_undefined(each.path, name, line)
                    yield Fault("E203", order.position, field, message)
            yield from self._contradictions(order, stubs)
            yield from self._undeclared(order, stubs)

    def _contradictions(self, order: OrderCode, stubs: Stubs) -> Iterator[Fault]:
        known = dict(self.states[order.position - 1])
        changed = normal_changes(order.changes)
        for each, read in stubs:
            if read.fault is not None:
                continue
            earlier = known.get(each.path, Contract())
            for found in conflicts(earlier.items, read.items, each.path, changed):
                by = self.declared_by(each.path, found.name, order.position - 1)
                source = self.chain.source(by) if by else "this order"
                message = stub_contradicts(
                    each.path, found.name, found.line, source, found.before, found.after
                )
                field = at("interfaces", each.index, "stub")
                yield Fault("E204", order.position, field, message)
            known[each.path] = Contract(merge(earlier.items, read.items))

    def _undeclared(self, order: OrderCode, stubs: Stubs) -> Iterator[Fault]:
        settled = {each.path for each in order.interfaces}
        settled |= {each.path for each in order.acceptance_files}
        for index, path in enumerate(order.allowed_files):
            if path in settled or not self.has_names_to_declare(path):
                continue
            settled.add(path)
            if not self.is_known(path, order.position - 1):
                message = has_no_interface(path)
                yield Fault("W223", order.position, at("allowed_files", index), message)

    def is_known(self, path: str, position: int) -> bool:
        """Return whether the declarations of a file are known after the order at `position`."""
        if path in self.states[position]:
            return True
        text = None if self.chain.is_gone(path, position) else self.chain.sources.get(path)
        return text is not None and self.read(text).fault is None

    def declared_by(self, path: str, name: str, position: int) -> int | None:
        """Return the last order up to `position` whose contract declares a name; else `None`."""
        for earlier in range(position, 0, -1):
            for each, read in self.stubs[earlier - 1]:
                if each.path == path and read.fault is None and has_name(read, name):
                    return earlier
        return None

    def declared_later(self, paths: Collection[str], name: str, position: int) -> int | None:
        """Return the first order after `position` that declares a name in one of `paths`."""
        for later, stubs in enumerate(self.stubs[position:], position + 1):
            for each, read in stubs:
                if each.path in paths and read.fault is None and has_name(read, name):
                    return later
        return None

    def texts(self, position: int) -> Mapping[str, str]:
        """Return the texts of the plan's own test files after the order at `position`."""
        return {
            each.path: each.text
            for order in self.chain.orders[:position]
            for each in order.acceptance_files
            if each.path.endswith(self.suffix) and not self.chain.is_gone(each.path, position)
        }

    def open_paths(self, position: int) -> frozenset[str]:
        """Return the files whose content nobody knows after the order at `position`.

        These are the files that orders write without declaring what is in them.
        """
        known = self.states[position].keys() | self.texts(position).keys()
        return frozenset(
            path
            for order in self.chain.orders[:position]
            for path in (*order.writes, *order.may_write)
            if path.endswith(self.suffix)
            and path not in known
            and not self.chain.is_gone(path, position)
        )

    def paths(self, position: int) -> frozenset[str]:
        """Return the files of the language that may be there after the order at `position`."""
        files = self.chain.files
        return frozenset(
            path
            for table in (files.first, files.possible)
            for path, since in table.items()
            if since <= position
            and path.endswith(self.suffix)
            and not self.chain.is_gone(path, position)
        ) | frozenset(self.texts(position))

    def is_blind(self, position: int) -> bool:
        """Return whether an order up to `position` may write files that nobody can name."""
        blind = self.chain.files.blind_from
        return blind is not None and blind <= position


def has_name(read: Declarations, name: str) -> bool:
    """Return whether a file declares a name, which may be that of a member of a type."""
    owner, _, member = name.rpartition(".")
    return any(
        each.name == name or (each.name == owner and member in each.members) for each in read.items
    )


def without_fence(text: str) -> str:
    """Return a text without the code fence around it; its lines keep their numbers."""
    lines = text.split("\n")
    is_fenced = lines[0].lstrip().startswith("```") and any(
        each.strip() == "```" for each in lines[1:]
    )
    if not is_fenced:
        return text
    return "\n".join("" if each.lstrip().startswith("```") else each for each in lines)


def folder_of(path: str) -> str:
    """Return the folder of a file, and "" for the root."""
    return posixpath.dirname(path)
