"""Finds the names that stubs use and that nothing defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.contracts.stub import Stub
from shared.languages.ecmascript.files import suffix_of
from shared.languages.ecmascript.judging.batch import Asked
from shared.languages.ecmascript.judging.compiler import Complaint
from shared.languages.ecmascript.judging.view import build_view

_UNDEFINED = re.compile(r"Cannot find (?:name|namespace) '([^']+)'")
_UNDEFINED_CODES: Final = frozenset({2304, 2552, 2503})
_NAMED_TYPE = re.compile(r"\b[A-Z]\w*")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class StubInquiry:
    """Hold the stubs of an order as the compiler is asked about them.

    `indexes` has the index of each stub by the path under which it is asked about, and `known` the
    names that its file has besides.
    """

    asked: Asked
    indexes: Mapping[str, int]
    known: Mapping[str, frozenset[str]]


def inquire_stubs(history: History, position: int, stubs: Mapping[int, Stub]) -> StubInquiry:
    """Return the inquiry about stubs by index; it has no target where none can lack a name."""
    texts: dict[str, str] = {}
    indexes: dict[str, int] = {}
    if any(_may_be_undefined(each) for each in stubs.values()):
        for index, stub in stubs.items():
            path = f"{stub.path.removesuffix(suffix_of(stub.path))}.llmch-stub{index}.ts"
            texts[path] = stub.text
            indexes[path] = index
    view = build_view(history, position, texts)
    known = {p: _known_names(history, stubs[i].path, position) for p, i in indexes.items()}
    return StubInquiry(Asked(view.files, tuple(sorted(texts)), view.aliases), indexes, known)


def undefined_names(
    inquiry: StubInquiry, complaints: Iterable[Complaint]
) -> Iterator[tuple[int, str, int]]:
    """Yield the names that stubs use and do not have: index of the stub, name and line."""
    reported: set[tuple[str, str]] = set()
    for each in complaints:
        found = _UNDEFINED.search(each.message) if each.code in _UNDEFINED_CODES else None
        if found is None or found[1] in inquiry.known[each.path]:
            continue
        if (each.path, found[1]) not in reported:
            reported.add((each.path, found[1]))
            yield inquiry.indexes[each.path], found[1], each.line


def _may_be_undefined(stub: Stub) -> bool:
    """Say whether a stub mentions any type besides those that need no definition."""
    return bool(set(_NAMED_TYPE.findall(stub.text)) - stub.imported - stub.declared.keys())


def _known_names(history: History, path: str, position: int) -> frozenset[str]:
    """Return the names that a file has besides those of one stub."""
    layers = history.layers(path, position)
    names = {name for each in layers for name in (*each.stub.declared, *each.stub.imported)}
    source = history.sources.get(path, "")
    return frozenset(names) | frozenset(_WORD.findall(source))
