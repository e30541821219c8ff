"""Decides by the compiler whether Rust keeps the contracts declared for it, without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.languages.capabilities.checking import CheckerFailed
from shared.languages.capabilities.conformance import ContractViolation
from shared.languages.capabilities.tools import ToolMissing, Tools
from shared.languages.declared.conformance import (
    Stubs,
    compare_members,
    first_of_each_name,
    is_missing,
    readable,
)
from shared.languages.declared.contracts import differs
from shared.languages.declared.generics import block_parameters, type_parameters
from shared.languages.declared.model import Declarations, Declared
from shared.languages.rust.crates import crate_of, read_crates
from shared.languages.rust.probe import write_probe
from shared.languages.rust.skeleton import write_contract
from shared.languages.rust.source import read_rust
from shared.languages.rust.verdicts import Complaint, read_complaints
from shared.work_order.schemas import Interface, WorkOrder

_SECONDS: Final = 120.0
_DERIVED: Final = re.compile(r"derive\(([^)]*)\)")
_WRONG_TYPE: Final = "E0308"
# A generic function, or its type, has other type parameters or asks more of them.
_WRONG_BOUNDS: Final = frozenset({_WRONG_TYPE, "E0277", "E0107", "E0599"})


_STUBS: Final = Stubs(".rs", read_rust, write_contract)


def contracts_in_force(orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return one contract for each file of Rust that holds after the last of `orders`."""
    return _STUBS.in_force(orders)


def check_conformance(
    interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
) -> tuple[ContractViolation, ...]:
    """Return what in `sources` contradicts the contracts, sorted by file and name.

    Types are compared where there is a compiler. Raises `CheckerFailed` where it gave no answer.
    """
    found: list[ContractViolation] = []
    probes: dict[str, list[Declared]] = {}
    for path, contract in _STUBS.merged(interfaces).items():
        written = _STUBS.read_written(path, sources)
        if isinstance(written, ContractViolation):
            found.append(written)
            continue
        for item in contract.items:
            found += _differences(path, item, written)
        probes[path] = [each for each in contract.items if written.named(each.name)]
    if tools.runner is not None and not any(each.name == "" for each in found):
        found += _wrong_types(probes, sources, tools)
    return first_of_each_name(found)


def _differences(path: str, item: Declared, written: Declarations) -> Iterator[ContractViolation]:
    """Yield how the written file differs from one declaration, as far as its text shows."""
    traits = {_trait(each.name) for each in written.items if each.kind == "implementation"}
    has = written.named(item.name)
    if item.kind == "implementation":
        if _trait(item.name) not in traits | _derived_for(written):
            yield is_missing(path, item)
        return
    if not has:
        passed_on = {each.name for each in written.imports if each.text.startswith("pub")}
        if (
            item.last_name not in passed_on
            and not {"*"} & passed_on
            and not item.around.count(" for ")
        ):
            yield is_missing(path, item)
        return
    if item.is_public and not any(each.is_public for each in has) and " for " not in item.around:
        yield ContractViolation(path, item.name, f"`{item.head}` is declared and not public")
    for trait in _derives(item) - _derives(has[0]):
        if f"{trait} for {item.name}" not in traits:
            yield ContractViolation(
                path,
                item.name,
                f"`{item.name}` is declared with `derive({trait})`, and has no {trait}",
            )
    if has[0].members:
        yield from compare_members(path, item, has[0])


def _trait(name: str) -> str:
    """Return `Display for Game` for `std::fmt::Display for Game`."""
    trait, _, of = name.partition(" for ")
    return f"{trait.split('<')[0].rpartition('::')[2]} for {of}"


def _derives(item: Declared) -> set[str]:
    if item.kind != "type":
        return set()
    found = (word for each in _DERIVED.findall(item.text) for word in each.split(","))
    return {each.strip().rpartition("::")[2] for each in found} - {""}


def _derived_for(written: Declarations) -> set[str]:
    return {f"{trait} for {each.name}" for each in written.items for trait in _derives(each)}


def _wrong_types(
    probes: Mapping[str, Sequence[Declared]], sources: Mapping[str, str], tools: Tools
) -> Iterator[ContractViolation]:
    """Yield the functions and values whose types differ, by an assignment to the declared type."""
    assert tools.runner is not None, "the caller has checked this"
    wanted = (".rs", "Cargo.toml", "Cargo.lock")
    files = readable(sources, wanted)
    crates = read_crates(files, sorted(files))
    places: dict[tuple[str, int], Declared] = {}
    asked: dict[str, None] = {}
    for path, items in probes.items():
        crate = crate_of(path, crates)
        lines = [(item, line) for item in items for line in [write_probe(item)] if line]
        if crate is None or not lines:
            continue
        asked[crate.path("Cargo.toml")] = None
        text = files[path].rstrip("\n") + "\n"
        first = text.count("\n") + 1
        places |= {(path, number): item for number, (item, _) in enumerate(lines, first)}
        files[path] = text + "".join(f"{line}\n" for _, line in lines)
    for manifest in asked:
        folder = manifest.removesuffix("Cargo.toml")
        argv = ("cargo", "check", "--offline", "--message-format=json", "--manifest-path", manifest)
        try:
            result = tools.runner.run(files, argv, seconds=_SECONDS)
        except ToolMissing as missing:
            raise CheckerFailed(str(missing)) from missing
        if result.exit_code is None:
            raise CheckerFailed(f"cargo did not answer within {_SECONDS:.0f} seconds")
        for each in read_complaints(result.stdout):
            at = next((p for p in (each.path, folder + each.path) if (p, each.line) in places), "")
            if at and _is_difference(each, places[at, each.line], sources[at]):
                item = places[at, each.line]
                written = read_rust(sources[at]).named(item.name)[0]
                shown = (item.head, written.head)
                if item.head == written.head:  # the blocks around them differ
                    shown = (f"{item.around}: {item.head}", f"{written.around}: {written.head}")
                yield ContractViolation(at, item.name, differs(item.name, *shown))


def _is_difference(complaint: Complaint, item: Declared, source: str) -> bool:
    """Return whether an error of the compiler says that the code differs from the contract."""
    if not type_parameters(item.key).names and not block_parameters(item.around).names:
        return complaint.rule == _WRONG_TYPE
    # The types that `impl Trait` takes cannot be given, though every call may fit.
    is_given = "impl " not in read_rust(source).named(item.name)[0].key
    return complaint.rule in _WRONG_BOUNDS and is_given
