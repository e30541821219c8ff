"""Finds the one definition that an order changes, if the words of the order name one. Pure.

It decides what is shown to a small model, which follows a single function better than a file. What
a reply may change does not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Final

from factory.proposal.shown import ShownFile
from shared.languages.capabilities.edits import Edits, OutlineEntry
from shared.languages.definitions import DefinitionEdit, NamedCode
from shared.languages.registry import language_of
from shared.work_order.schemas import WorkOrder

_LARGEST_SHARE: Final = 0.5
"""Of a larger part of a file, the rest saves too little to be left out."""

# A word of prose is no name, so `name` has to be marked, called, or of a form that prose lacks.
_MARKED: Final = re.compile(r"`(?P<name>[^\W\d]\w*(?:\.\w+)*)(?P<call>\()?[^`\n]*`")
_NAME_LIKE: Final = re.compile(
    r"(?<![\w.`/])(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<call>\()?(?![\w`/]|\.\w)"
)
_UNLIKE_PROSE: Final = re.compile(r"\w_\w|\w\.\w|\d|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Focus:
    """Hold a definition of the file at `path`: its qualified name, and its code.

    The code begins at the margin, if it can be put back from there without a change.
    `holds_others` says that other definitions are inside this one, as the methods in a class.
    """

    path: str
    name: str
    code: str
    language: str = ""
    holds_others: bool = False

    @property
    def last_name(self) -> str:
        """Return the name without those of the definitions around it."""
        return self.name.rpartition(".")[2]


def focus_of(order: WorkOrder, shown: Sequence[ShownFile]) -> Focus | None:
    """Return the definition that an order changes; `None` where that is not certain enough.

    The order has to write one file that is there, and to read no other. Its intent has to name one
    definition of this file, which is at most half of it, and to call nothing that is not in the
    file: that may be what the order adds.
    """
    file = _only_file(order, shown)
    language = language_of(file.path) if file else None
    if file is None or language is None or language.edits is None:
        return None
    outline = language.edits.outline(file.text)
    if not outline or _is_to_define_more(order, language.edits, outline):
        return None
    lines = file.text.splitlines()
    named = _named_in(order.intent, outline)
    if len(named) != 1:
        return None
    (entry,) = named
    code = lines[entry.first - 1 : entry.last]
    if len(code) > len(lines) * _LARGEST_SHARE:
        return None
    return Focus(
        file.path,
        entry.name,
        _at_margin("\n".join(code), file, entry.name, language.edits),
        language.name,
        any(each.name.startswith(f"{entry.name}.") for each in outline),
    )


def _at_margin(code: str, file: ShownFile, name: str, edits: Edits) -> str:
    """Return the code moved to the margin; as it is where its strings would not be the same."""
    moved = dedent(code)
    (edit,) = edits.edit_definitions(file.path, file.text, [NamedCode(name, moved)], ())
    return code if isinstance(edit, DefinitionEdit) else moved


def _only_file(order: WorkOrder, shown: Sequence[ShownFile]) -> ShownFile | None:
    placed = {each.path for each in order.acceptance_files}
    needed = {*order.context_files, *order.allowed_files} - placed
    if len(order.allowed_files) != 1 or needed != set(order.allowed_files) or order.removed_files:
        return None
    return next((each for each in shown if each.path in needed and each.text), None)


def _is_to_define_more(order: WorkOrder, edits: Edits, outline: Sequence[OutlineEntry]) -> bool:
    """Return whether the order declares names that the file does not have."""
    there = {each.name.rpartition(".")[2] for each in outline}
    return any(not there.issuperset(edits.defined_names(each.stub)) for each in order.interfaces)


def _named_in(text: str, outline: Sequence[OutlineEntry]) -> list[OutlineEntry]:
    """Return the definitions that a text names, without those that hold another of them.

    A name that several definitions share means those in a class that is named as well. Nothing is
    returned where the text calls what is not in the file.
    """
    found: dict[str, OutlineEntry] = {}
    shared: list[OutlineEntry] = []
    for name, is_call in _names_in(text):
        entries = [each for each in outline if each.name == name]
        entries = entries or [each for each in outline if each.name.endswith(f".{name}")]
        if not entries and is_call:
            return []
        if len(entries) == 1:
            found[entries[0].name] = entries[0]
        shared += entries if len(entries) > 1 else ()
    found |= {each.name: each for each in shared if each.name.rpartition(".")[0] in found}
    return [each for each in found.values() if not any(f"{each.name}." in other for other in found)]


def _names_in(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each name of code in a text, and whether the text calls it."""
    for match in _MARKED.finditer(text):
        yield match["name"], bool(match["call"])
    for match in _NAME_LIKE.finditer(_MARKED.sub(" ", text)):
        if match["call"] or _UNLIKE_PROSE.search(match["name"]):
            yield match["name"], bool(match["call"])
