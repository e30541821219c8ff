"""Decides by the compiler whether Rust keeps the contracts declared for it, without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.languages.capabilities.checking import CheckerFailed
from shared.languages.capabilities.conformance import DOES_NOT_PARSE, ContractViolation
from shared.languages.capabilities.tools import ToolMissing, Tools
from shared.languages.declared.contracts import Delta, differs, fold, merge
from shared.languages.declared.meant import normal_changes
from shared.languages.declared.model import Declarations, Declared
from shared.languages.declared.notes import code_problem
from shared.languages.declared.planned import without_fence
from shared.languages.rust.crates import crate_of, read_crates
from shared.languages.rust.skeleton import write_contract
from shared.languages.rust.source import read_rust
from shared.languages.rust.verdicts import read_complaints
from shared.work_order.schemas import Interface, WorkOrder

_SECONDS: Final = 120.0
_DERIVED: Final = re.compile(r"derive\(([^)]*)\)")
_SIGNATURE: Final = re.compile(r"fn \((?P<kinds>.*)\) -> (?P<result>.*)", re.DOTALL)
_WRONG_TYPE: Final = "E0308"


def contracts_in_force(orders: Sequence[WorkOrder]) -> tuple[Interface, ...]:
    """Return one contract for each file of Rust that holds after the last of `orders`."""
    deltas = [
        Delta(
            frozenset(order.allowed_files),
            _merged(order.interfaces),
            normal_changes(order.changes),
        )
        for order in orders
    ]
    return tuple(
        Interface(path=path, stub=write_contract(contract))
        for path, contract in fold(deltas)[-1].items()
    )


def _merged(interfaces: Sequence[Interface]) -> dict[str, Declarations]:
    found: dict[str, Declarations] = {}
    for each in interfaces:
        stub = read_rust(without_fence(each.stub))
        if not each.path.endswith(".rs") or stub.fault is not None:
            continue
        old = found.get(each.path, Declarations(""))
        items = merge(old.items, stub.items)
        found[each.path] = Declarations(stub.text, items, (*old.imports, *stub.imports))
    return found


def check_conformance(
    interfaces: Sequence[Interface], sources: Mapping[str, str], tools: Tools
) -> tuple[ContractViolation, ...]:
    """Return what in `sources` contradicts the contracts, sorted by file and name.

    Types are compared where there is a compiler. Raises `CheckerFailed` where it gave no answer.
    """
    found: list[ContractViolation] = []
    probes: dict[str, list[Declared]] = {}
    for path, contract in _merged(interfaces).items():
        text = sources.get(path)
        if text is None:
            found.append(ContractViolation(path, "", "is declared but was not written"))
            continue
        written = read_rust(text)
        if written.fault is not None:
            problem = f"{DOES_NOT_PARSE}: {code_problem(written)}"
            found.append(ContractViolation(path, "", problem))
            continue
        for item in contract.items:
            found += _differences(path, item, written)
        probes[path] = [each for each in contract.items if written.named(each.name)]
    if tools.runner is not None and not any(each.name == "" for each in found):
        found += _wrong_types(probes, sources, tools)
    first: dict[tuple[str, str], ContractViolation] = {}
    for each in found:
        first.setdefault((each.path, each.name), each)
    return tuple(sorted(first.values(), key=lambda each: (each.path, each.name)))


def _differences(path: str, item: Declared, written: Declarations) -> Iterator[ContractViolation]:
    """Yield how the written file differs from one declaration, as far as its text shows."""
    traits = {_trait(each.name) for each in written.items if each.kind == "implementation"}
    has = written.named(item.name)
    if item.kind == "implementation":
        if _trait(item.name) not in traits | _derived_for(written):
            yield ContractViolation(path, item.name, f"`{item.head}` is declared and missing")
        return
    if not has:
        passed_on = {each.name for each in written.imports if each.text.startswith("pub")}
        if (
            item.last_name not in passed_on
            and not {"*"} & passed_on
            and not item.around.count(" for ")
        ):
            yield ContractViolation(path, item.name, f"`{item.head}` is declared and missing")
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
    for name, member in item.members.items():
        qualified = f"{item.name}.{name}"
        if not has[0].members or has[0].kind != "type":
            continue
        if name not in has[0].members:
            message = f"`{qualified}` is declared as `{member.text}` and missing"
            yield ContractViolation(path, qualified, message)
        elif has[0].members[name].key != member.key:
            message = differs(qualified, member.text, has[0].members[name].text)
            yield ContractViolation(path, qualified, message)


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
    files = {path: text for path, text in sources.items() if path.endswith(wanted)}
    crates = read_crates(files, sorted(files))
    places: dict[tuple[str, int], Declared] = {}
    asked: dict[str, None] = {}
    for path, items in probes.items():
        crate = crate_of(path, crates)
        lines = [(item, line) for item in items for line in [_assignment(item)] if line]
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
            if at and each.rule == _WRONG_TYPE:
                item = places[at, each.line]
                written = read_rust(sources[at]).named(item.name)[0].head
                yield ContractViolation(at, item.name, differs(item.name, item.head, written))


def _assignment(item: Declared) -> str:
    """Return a line that compiles only where a function or constant has the declared type."""
    is_generic = "<" in item.around or " for " in item.around
    if item.kind == "value" and "static" not in item.head and not item.around and item.result:
        return f"const _: {item.result} = {item.name};"
    signature = _SIGNATURE.fullmatch(item.key)
    if item.kind != "function" or signature is None or is_generic or "impl " in item.key:
        return ""
    kinds, result = signature["kinds"], signature["result"]
    if item.owner:
        kinds = re.sub(r"^(& )?((?:'\w+ )?(?:mut )?)self\b(?! :)", rf"\1\2{item.owner}", kinds)
        kinds = re.sub(r"\bSelf\b", item.owner, kinds)
        result = re.sub(r"\bSelf\b", item.owner, result)
        if "self" in kinds.split(",")[0]:
            return ""  # `self: Box<Self>` and the like
    name = item.name.replace(".", "::")
    returned = "" if result == "( )" else f" -> {result}"
    return f"const _: fn({kinds}){returned} = {name};"
