"""Builds Go that keeps its contracts and does nothing: each function returns zero values."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shared.languages.declared.conformance import read_stubs
from shared.languages.declared.contracts import Contract, merge
from shared.languages.declared.model import Declarations, Declared, Imported
from shared.languages.go.source import read_go
from shared.work_order.schemas import Interface

_NAME: Final = re.compile(r"[A-Za-z_]\w*")


def build_skeleton(
    interfaces: Sequence[Interface], sources: Mapping[str, str]
) -> Mapping[str, str]:
    """Return Go by path that keeps the contracts in `interfaces` and does nothing.

    Where `sources` already has the file, only the declared names are emptied. Contracts that do not
    parse are left out.
    """
    stubs = read_stubs(interfaces, ".go", read_go)
    contracts = {p: Contract(each.items, each.imports, each.package) for p, each in stubs.items()}
    return {
        path: write_file(path, each, sources.get(path), package_in(path, sources))
        for path, each in contracts.items()
    }


def write_file(
    path: str, contract: Contract, source: str | None, package: str, *, empty_all: bool = False
) -> str:
    """Return the text of one file that keeps its contract.

    `package` is the name of the package that other files of the folder have, and "" where there are
    none. With `empty_all`, the functions of `source` that are not declared are emptied too.
    """
    written = read_go(source) if source is not None else Declarations("")
    if written.fault is not None:
        written = Declarations("")
    name = written.package or contract.package or package or package_of_folder(path)
    pieces = list(_pieces(written, contract.items, empty_all=empty_all))
    code = "\n\n".join(pieces)
    imports = _used((*written.imports, *contract.imports), code)
    return "\n\n".join(filter(None, (f"package {name}", "\n".join(imports), code))) + "\n"


def package_in(path: str, sources: Mapping[str, str]) -> str:
    """Return the name of the package that a file's folder has in `sources`; "" for none."""
    folder = posixpath.dirname(path)
    for other, text in sources.items():
        is_beside = posixpath.dirname(other) == folder and other.endswith(".go")
        if is_beside and not other.endswith("_test.go"):
            return read_go(text).package
    return ""


def package_of_folder(path: str) -> str:
    """Return the name that a package in the folder of a file would have by custom."""
    folder = posixpath.basename(posixpath.dirname(path))
    name = re.sub(r"\W", "", folder.rpartition("-")[2])
    return name if _NAME.fullmatch(name) and folder != "cmd" else "main"


def emptied(item: Declared) -> str:
    """Return a declaration that does nothing; what is no function stays as it is."""
    if item.kind != "function":
        return item.text
    named = ", ".join(f"_r{number} {each}" for number, each in enumerate(_parts(item.result)))
    result = f" ({named})" if named else ""
    return f"{item.opening}{result} {{ return }}"


def _pieces(
    written: Declarations, contract: Sequence[Declared], *, empty_all: bool
) -> Iterable[str]:
    declared = {each.name: each for each in merge(written.items, contract)}
    new = {each.name for each in contract}
    done: set[tuple[int, str]] = set()
    for item in written.items:
        if item.name in new and not written.is_shared(item):
            yield emptied(declared[item.name])
        elif (item.start, item.text) not in done:
            yield emptied(item) if empty_all else item.text
            done.add((item.start, item.text))
    there = {each.name for each in written.items}
    for item in contract:
        if item.name not in there and (item.start, item.text) not in done:
            yield emptied(declared[item.name])
            done.add((item.start, item.text))


def _used(imports: Iterable[Imported], code: str) -> list[str]:
    """Return the imports that the code uses: Go refuses any other."""
    seen: dict[str, str] = {}
    for each in imports:
        if each.name in (".", "_") or re.search(rf"\b{re.escape(each.name)}\s*\.", code):
            seen.setdefault(f"{each.name} {each.source}", f"import {each.text}")
    return list(dict.fromkeys(seen.values()))


def _parts(result: str) -> list[str]:
    """Return the types of a result, which may hold commas themselves."""
    parts: list[str] = []
    depth, start = 0, 0
    for at, character in enumerate(f"{result},"):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and not depth:
            parts.append(result[start:at].strip())
            start = at + 1
    return [each for each in parts if each]


def write_contract(contract: Contract) -> str:
    """Return the text of a contract, functions without bodies."""
    texts = dict.fromkeys(each.text for each in contract.items)
    imports = dict.fromkeys(f"import {each.text}" for each in contract.imports)
    package = f"package {contract.package}" if contract.package else ""
    return "\n\n".join(filter(None, (package, "\n".join(imports), *texts))) + "\n"
