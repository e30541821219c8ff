"""Reads a block that names no file, in a reply that was asked for one definition. Pure.

A small model that is shown one function replies with this function and no header. Whose code that
is has to be certain: the definition that was asked for, or one of which the file has a single one.
"""

from __future__ import annotations

from collections.abc import Sequence

from factory.proposal.edits.blocks import DefinitionBlock, FileBlock
from factory.proposal.focus import Focus
from shared.languages.capabilities.edits import Edits
from shared.languages.registry import language_of


def read_bare(content: str, focus: Focus, text: str) -> tuple[DefinitionBlock | FileBlock, str]:
    """Return the block that `content` is, and why it cannot be applied, which is empty if it can.

    `text` is the file that holds the `focus`. A content that begins as the file does and has all
    of its definitions is the whole file.
    """
    language = language_of(focus.path)
    assert language is not None and language.edits is not None, "a focus is a definition"
    names = language.edits.defined_names(content)
    if _is_whole(content, names, text, language.edits):
        return FileBlock(focus.path, content), ""
    if focus.last_name in names:
        return DefinitionBlock(focus.path, focus.name, content), ""
    wanted = f"give the whole of `{focus.name}`, changed"
    if not names:
        return DefinitionBlock(focus.path, "", content), f"it defines nothing: {wanted}"
    block = DefinitionBlock(focus.path, names[0], content)
    there = {each.name.rpartition(".")[2] for each in language.edits.outline(text)}
    return block, "" if names[0] in there else f"{focus.path} does not have it: {wanted}"


def _is_whole(content: str, names: Sequence[str], text: str, edits: Edits) -> bool:
    begins_alike = content.lstrip().partition("\n")[0] == text.lstrip().partition("\n")[0]
    return begins_alike and set(names).issuperset(edits.defined_names(text))
