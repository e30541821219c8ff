"""Decides by the compiler whether Go keeps the contracts declared for it, without running it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.languages.capabilities.checking import CheckerFailed
from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.capabilities.tools import ToolMissing, ToolRunner, Tools
from shared.languages.declared.conformance import (
    Stubs,
    compare_members,
    first_of_each_name,
    is_missing,
    readable,
)
from shared.languages.declared.contracts import differs
from shared.languages.declared.model import Declarations, Declared
from shared.languages.declared.planned import folder_of, without_fence
from shared.languages.go.modules import module_folder, read_modules
from shared.languages.go.probe import generic_types, write_probe
from shared.languages.go.skeleton import write_contract
from shared.languages.go.source import read_go
from shared.languages.go.verdicts import read_complaints
from shared.work_order.schemas import Interface, WorkOrder

_PROBE: Final = "llmch_contract_probe.go"
_SECONDS: Final = 120.0


_STUBS: Final = Stubs(".go", read_go, write_contract)


def contracts_in_force(orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return one contract for each file of Go that holds after the last of `orders`."""
    return _STUBS.in_force(orders)


def check_conformance(
    interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
) -> tuple[ContractViolation, ...]:
    """Return what in `sources` contradicts the contracts, sorted by file and name.

    Types are compared where there is a compiler. Raises `CheckerFailed` where it gave no answer.
    """
    found: list[ContractViolation] = []
    probes: dict[str, tuple[str, list[tuple[str, Declared]]]] = {}
    for path, contract in _STUBS.merged(interfaces).items():
        written = _STUBS.read_written(path, sources)
        if isinstance(written, ContractViolation):
            found.append(written)
            continue
        found += _missing(path, contract, written)
        there = [each for each in contract.items if written.named(each.name)]
        for each in there:
            found += compare_members(path, each, written.named(each.name)[0])
        package = probes.setdefault(folder_of(path), (written.package, []))
        package[1].extend((path, each) for each in there)
    if tools.runner is not None and not any(each.name == "" for each in found):
        found += _wrong_types(probes, interfaces, sources, tools)
    return first_of_each_name(found)


def _missing(
    path: str, contract: Declarations, written: Declarations
) -> Iterator[ContractViolation]:
    for item in contract.items:
        if not written.named(item.name):
            yield is_missing(path, item)


def _wrong_types(
    probes: Mapping[str, tuple[str, list[tuple[str, Declared]]]],
    interfaces: Sequence[Interface],
    sources: Mapping[str, str],
    tools: Tools,
) -> Iterator[ContractViolation]:
    """Yield the functions and values whose types differ, by an assignment to the declared type."""
    assert tools.runner is not None, "the caller has checked this"
    wanted = (".go", "go.mod", "go.sum", "go.work", "go.work.sum")
    files = readable(sources, wanted)
    if not any(posixpath.basename(path) == "go.mod" for path in files):
        files["go.mod"] = "module planned\n\ngo 1.21\n"
    places: dict[tuple[str, int], tuple[str, Declared]] = {}
    imports = {e.name: e for i in interfaces for e in read_go(without_fence(i.stub)).imports}
    for folder, (package, items) in probes.items():
        generic = generic_types(_types_of(items, folder, sources))
        probed = [(place, write_probe(place[1], generic)) for place in items]
        lines = [(place, line) for place, line in probed if line]
        code = "\n".join(line for _, line in lines)
        used = [f"import {each.text}" for each in imports.values() if _is_used(each.name, code)]
        head = "; ".join((f"package {package}", *used))
        probe = posixpath.join(folder, _PROBE)
        files[probe] = f"{head}\n{code}\n"
        places |= {(probe, number): place for number, (place, _) in enumerate(lines, 2)}
    told = _complaints(files, tuple(probes), tools.runner)
    found = [places[each] for each in told if each in places]
    wrong = {item.name for _, item in found if item.kind == "type"}
    for path, item in found:
        if item.owner not in wrong:  # else each method of the type differs with it
            written = read_go(sources[path]).named(item.name)[0].head
            yield ContractViolation(path, item.name, differs(item.name, item.head, written))


def _complaints(
    files: Mapping[str, str], folders: Sequence[str], runner: ToolRunner
) -> Iterator[tuple[str, int]]:
    """Yield the path and the line of each error in these folders, module by module."""
    modules = read_modules(files, files)
    inner = {folder: module_folder(f"{folder}/", modules) for folder in folders}
    for module in dict.fromkeys(inner.values()):
        mine = [each[len(module) :].strip("/") for each in folders if inner[each] == module]
        where = ("-C", module) if module else ()
        named = [f"./{each}" if each else "." for each in mine]
        command = ("go", *where, "build", "-gcflags=-e", "-o", "/dev/null", *named)
        try:
            result = runner.run(files, command, seconds=_SECONDS)
        except ToolMissing as missing:
            raise CheckerFailed(str(missing)) from missing
        if result.exit_code is None:
            raise CheckerFailed(f"the Go compiler did not answer within {_SECONDS:.0f} seconds")
        for each in read_complaints(f"{result.stdout}\n{result.stderr}"):
            yield posixpath.join(module, each.path), each.line


def _is_used(package: str, code: str) -> bool:
    return re.search(rf"\b{re.escape(package)} ?\.", code) is not None


def _types_of(
    items: Sequence[tuple[str, Declared]], folder: str, sources: Mapping[str, str]
) -> Iterator[Declared]:
    """Yield the types of a package as its code has them, and then as contracts have them."""
    for path in sources:
        if path.endswith(".go") and folder_of(path) == folder:
            yield from (each for each in read_go(sources[path]).items if each.kind == "type")
    yield from (item for _, item in items if item.kind == "type")
