"""Builds Rust that keeps its contracts and does nothing: each function returns an empty value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from shared.languages.declared.conformance import read_stubs
from shared.languages.declared.contracts import Contract, merge
from shared.languages.declared.model import Declarations, Declared
from shared.languages.rust.empty_values import EmptyValues
from shared.languages.rust.source import read_rust
from shared.work_order.schemas import Interface

# What an implementation has to hold that a contract names without its functions.
_TRAITS: Final = {
    "Display": "fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }",
    "Debug": "fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }",
    "Default": "fn default() -> Self { todo!() }",
    "Clone": "fn clone(&self) -> Self { todo!() }",
    "PartialEq": "fn eq(&self, _other: &Self) -> bool { false }",
    "Drop": "fn drop(&mut self) {}",
}
_CONSTANT: Final = re.compile(r"^(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\b[^=]*;?$", re.DOTALL)


def build_skeleton(
    interfaces: Sequence[Interface], sources: Mapping[str, str]
) -> Mapping[str, str]:
    """Return Rust by path that keeps the contracts in `interfaces` and does nothing.

    Where `sources` already has the file, only the declared names are emptied. Contracts that do not
    parse are left out.
    """
    stubs = read_stubs(interfaces, ".rs", read_rust)
    contracts = {p: Contract(each.items, each.imports, each.package) for p, each in stubs.items()}
    values = values_of(contracts.values(), sources)
    return {path: write_file(each, sources.get(path), values) for path, each in contracts.items()}


def values_of(
    contracts: Iterable[Contract], sources: Mapping[str, str], *, runs: bool = True
) -> EmptyValues:
    """Return the empty values, with those of the types that the files declare."""
    texts = (text for path, text in sources.items() if path.endswith(".rs"))
    written = (item for text in texts for item in read_rust(text).items)
    items = [*written, *(item for each in contracts for item in each.items)]
    return EmptyValues(items, runs=runs)


def write_file(
    contract: Contract, source: str | None, values: EmptyValues, *, empty_all: bool = False
) -> str:
    """Return the text of one file that keeps its contract.

    With `empty_all`, the functions of `source` that are not declared are emptied too.
    """
    written = read_rust(source) if source is not None else Declarations("")
    if written.fault is not None:
        written = Declarations("")
    declared = {_key(each): each for each in merge(written.items, contract.items)}
    new = {_key(each) for each in contract.items}
    text = written.text
    for item in sorted(written.items, key=lambda each: each.start, reverse=True):
        if item.kind != "implementation" and (_key(item) in new or empty_all):
            replaced = emptied(declared[_key(item)], values)
            text = text[: item.start] + replaced + text[item.end :]
    there = {_key(each) for each in written.items}
    added = [declared[_key(each)] for each in contract.items if _key(each) not in there]
    uses = dict.fromkeys(
        each.text for each in contract.imports if each.text not in (i.text for i in written.imports)
    )
    parts = [*uses, text.strip("\n"), *_blocks(added, values)]
    return "\n\n".join(filter(None, parts)) + "\n"


def emptied(item: Declared, values: EmptyValues) -> str:
    """Return a declaration that does nothing; a type stays as it is."""
    if item.kind == "function":
        value = values.of(item.result, item.owner)
        return f"{item.opening} {{ {'' if value == '()' else value} }}"
    if item.kind == "value" and _CONSTANT.match(item.text):
        return f"{item.text.rstrip('; ')} = {values.constant(item.result)};"
    return item.text


def _blocks(items: Sequence[Declared], values: EmptyValues) -> Iterator[str]:
    """Yield the declarations, those of one implementation in one block."""
    done: set[str] = set()
    for item in items:
        if item.kind == "implementation":
            if item.head not in done:
                done.add(item.head)
                yield _implementation(item, [e for e in items if e.around == item.head], values)
        elif not item.around:
            yield emptied(item, values)
        elif item.around not in done:
            done.add(item.around)
            inside = [emptied(e, values) for e in items if e.around == item.around]
            yield "\n".join((f"{item.around} {{", *inside, "}"))


def _implementation(item: Declared, inside: Sequence[Declared], values: EmptyValues) -> str:
    trait = item.name.partition(" for ")[0].split("<")[0].rpartition("::")[2]
    if inside:
        code = item.text
        for each in sorted(inside, key=lambda each: each.start, reverse=True):
            start, end = each.start - item.start, each.end - item.start
            code = code[:start] + emptied(each, values) + code[end:]
        return code
    return f"{item.head} {{ {_TRAITS.get(trait, '')} }}"


def _key(item: Declared) -> tuple[str, str]:
    return (item.name, item.around if " for " in item.around else "")


def write_contract(contract: Contract) -> str:
    """Return the text of a contract, functions without bodies."""
    uses = dict.fromkeys(each.text for each in contract.imports)
    parts: list[str] = []
    done: set[str] = set()
    for item in contract.items:
        is_in_trait = " for " in item.around and item.kind != "implementation"
        if is_in_trait:
            continue  # the implementation has it in its own text
        if not item.around:
            parts.append(item.text)
        elif item.around not in done:
            done.add(item.around)
            inside = [each.text for each in contract.items if each.around == item.around]
            parts.append("\n".join((f"{item.around} {{", *inside, "}")))
    return "\n\n".join((*uses, *parts)) + "\n"
