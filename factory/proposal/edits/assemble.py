"""Assembles whole files from the blocks of a reply and the files as they are. Pure.

All blocks are applied or none is. A block that cannot be applied is refused with the reason, and
with the lines of the file that come nearest to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from factory.orders.limits import MAX_EDITED_BYTES
from factory.orders.reply_format import Form
from factory.proposal.edits.blocks import (
    Block,
    BlockRefusal,
    DefinitionBlock,
    FileBlock,
    SearchBlock,
    form_of,
    render_target,
)
from factory.proposal.edits.file_text import Excerpt, FileText
from factory.proposal.edits.matching import NotFound, find_lines
from factory.proposal.edits.placeholders import find_placeholder
from factory.proposal.edits.splices import Placed, apply_splices, find_overlap
from shared.languages.definitions import DefinitionEdit, EditRefused, NamedCode
from shared.languages.registry import language_of

_NOTHING: Final = Excerpt()
_EXPLAINED: Final = 10  # refusals of a file for which the nearest lines are looked for
_LINES_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Present:
    """Hold what a reply is applied to.

    `allowed` are the paths that the order may write, and `changes` the names that may give way to
    others. `texts` has the files that exist; a file that is not among them does not.
    """

    allowed: Sequence[str]
    texts: Mapping[str, str]
    changes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Assembled:
    """Hold whole files by path, in the sequence in which the reply names them.

    Where anything is refused, the files are those that nothing was refused of.
    """

    files: tuple[tuple[str, str], ...]
    repairs: tuple[str, ...] = ()
    refusals: tuple[BlockRefusal, ...] = ()


def assemble(
    blocks: Sequence[Block], present: Present, refusals: Sequence[BlockRefusal] = ()
) -> Assembled:
    """Return the files that result from all blocks of a reply, and what is refused of them.

    `refusals` are those of blocks that could not even be read; they are among the result's.
    """
    unread = {each.index for each in refusals}
    by_path: dict[str, list[tuple[int, Block]]] = {}
    for index, block in enumerate(blocks):
        if index not in unread:
            by_path.setdefault(block.path, []).append((index, block))
    files: list[tuple[str, str]] = []
    work = _Work(present)
    for path, indexed in by_path.items():
        before = len(work.refusals)
        texts = work.texts_of(path, indexed)
        if len(work.refusals) == before:
            files += ((path, text) for text in texts)
    refused = sorted((*refusals, *work.refusals), key=lambda each: each.index)
    return Assembled(tuple(files), tuple(work.repairs), tuple(refused))


@dataclass(slots=True)
class _Work:
    present: Present
    repairs: list[str] = field(default_factory=list)
    refusals: list[BlockRefusal] = field(default_factory=list)

    def texts_of(self, path: str, indexed: Sequence[tuple[int, Block]]) -> list[str]:
        """Return the new text of a file; a file that is given whole twice has two."""
        forms = {form_of(block) for _, block in indexed}
        if len(forms) > 1:
            named = " and ".join(_WORDS[form] for form in Form if form in forms)
            reason = f"{path} is changed in two ways, by {named}: use one of them for all of it"
            return self._refuse_all(indexed, reason)
        if forms == {Form.WHOLE}:
            return [self._whole(index, block) for index, block in indexed]
        if path not in self.present.allowed:
            listed = ", ".join(self.present.allowed)
            return self._refuse_all(indexed, f"{path} may not be written; write only: {listed}")
        if path not in self.present.texts:
            reason = (
                f"{path} does not exist yet: write the whole file, its path alone as the header"
            )
            return self._refuse_all(indexed, reason)
        text = self.present.texts[path]
        if len(text) > MAX_EDITED_BYTES:
            reason = f"{path} has over {MAX_EDITED_BYTES:,} bytes, too many to be changed"
            return self._refuse_all(indexed, reason)
        before = len(self.refusals)
        if forms == {Form.SEARCH}:
            placed = self._searched(path, FileText(text), indexed)
        else:
            placed = self._defined(path, text, indexed)
        if len(self.refusals) > before:
            return []
        return [self._applied(path, text, placed, indexed)]

    def _whole(self, index: int, block: Block) -> str:
        assert isinstance(block, FileBlock)
        old = self.present.texts.get(block.path)
        elided = "" if old is None else find_placeholder(block.path, block.content, old)
        if elided:
            self._refuse(index, block, _elision(elided))
        return block.content

    def _searched(
        self, path: str, file: FileText, indexed: Sequence[tuple[int, Block]]
    ) -> list[Placed]:
        placed: list[Placed] = []
        for index, block in indexed:
            assert isinstance(block, SearchBlock)
            if not block.search.strip():
                reason = "its search text is empty: give the lines that are there"
                self._refuse(index, block, reason, matches=0)
                continue
            found = find_lines(file, block.search, block.replace)
            if isinstance(found, NotFound):
                self._refuse_unfound(index, block, file, found)
                continue
            splice = found.splice
            if elided := find_placeholder(path, block.replace, block.search):
                self._refuse(index, block, _elision(elided))
            elif file.text[splice.start : splice.end] == splice.text:
                self._refuse(index, block, "it changes nothing: both texts are alike", matches=1)
            else:
                placed.append(Placed(index, splice))
                if found.repair:
                    self.repairs.append(f"{path}: {found.repair}")
        return placed

    def _defined(self, path: str, text: str, indexed: Sequence[tuple[int, Block]]) -> list[Placed]:
        language = language_of(path)
        if language is None or language.edits is None:
            reason = f"the definitions of {path} cannot be named: use search texts"
            self._refuse_all(indexed, reason)
            return []
        edits: list[NamedCode] = []
        for _, block in indexed:
            assert isinstance(block, DefinitionBlock)
            edits.append(NamedCode(block.name, block.code))
        made = language.edits.edit_definitions(path, text, edits, self.present.changes)
        placed: list[Placed] = []
        for (index, block), edit, each in zip(indexed, edits, made, strict=True):
            elided = find_placeholder(path, edit.code, text)
            match each:
                case _ if elided:
                    self._refuse(index, block, _elision(elided))
                case EditRefused(reason=reason, lines=lines):
                    near = FileText(text).excerpt(lines[0] - 2, 4) if lines else _NOTHING
                    self._refuse(index, block, reason, near)
                case DefinitionEdit(splices=splices, repairs=repairs):
                    placed += (Placed(index, splice) for splice in splices)
                    self.repairs += (f"{path}: {repair}" for repair in repairs)
        return placed

    def _applied(
        self, path: str, text: str, placed: Sequence[Placed], indexed: Sequence[tuple[int, Block]]
    ) -> str:
        blocks = dict(indexed)
        if overlap := find_overlap(placed):
            for index in overlap:
                other = next((each for each in overlap if each != index), index)
                reason = f"it changes the same lines as {render_target(blocks[other])}"
                self._refuse(index, blocks[index], reason)
            return text
        result = apply_splices(text, placed)
        self._refuse_losses(path, result, indexed)
        return result

    def _refuse_losses(self, path: str, result: str, indexed: Iterable[tuple[int, Block]]) -> None:
        """Refuse search texts with definitions that are nowhere in the result."""
        language = language_of(path)
        if language is None or language.edits is None:
            return
        kept: frozenset[str] | None = None
        meant = {part for each in self.present.changes for part in _parts(each)}
        for index, block in indexed:
            if not isinstance(block, SearchBlock):
                continue
            gone = set(language.edits.defined_names(block.search))
            gone -= {*language.edits.defined_names(block.replace), *meant}
            if gone and kept is None:
                kept = frozenset(language.edits.defined_names(result))
            lost = sorted(gone.difference(kept or ()))
            if lost and path not in self.present.changes:
                listed = ", ".join(f"`{name}`" for name in lost)
                self._refuse(index, block, f"{listed} is lost: keep it, or write the whole file")

    def _refuse_unfound(
        self, index: int, block: SearchBlock, file: FileText, found: NotFound
    ) -> None:
        if found.lines:
            listed = ", ".join(map(str, found.lines[:_LINES_NAMED]))
            more = " and more" if len(found.lines) > _LINES_NAMED else ""
            reason = (
                f"its search text matches {len(found.lines)} times, on lines {listed}{more}: add "
                "lines before or after it that make it the only one"
            )
            near = file.excerpt(found.lines[0] - 2, len(block.search.split("\n")) + 1)
            self._refuse(index, block, reason, near, matches=len(found.lines))
            return
        reason = "its search text is not in the file: copy whole lines as they are"
        near = file.nearest(block.search) if len(self.refusals) < _EXPLAINED else _NOTHING
        self._refuse(index, block, reason, near, matches=0)

    def _refuse_all(self, indexed: Iterable[tuple[int, Block]], reason: str) -> list[str]:
        for index, block in indexed:
            self._refuse(index, block, reason)
        return []

    def _refuse(
        self,
        index: int,
        block: Block,
        reason: str,
        near: Excerpt = _NOTHING,
        matches: int | None = None,
    ) -> None:
        self.refusals.append(BlockRefusal(index, block, reason, near.text, near.line, matches))


_WORDS: Final = {
    Form.WHOLE: "a whole file",
    Form.DEFINITION: "definitions",
    Form.SEARCH: "search texts",
}


def _elision(line: str) -> str:
    return (
        f"`{line[:80]}` stands for lines that are left out: write them, a program puts the text "
        "into the file as it is"
    )


def _parts(change: str) -> Iterator[str]:
    """Yield the names that an entry of an order's changes may mean."""
    name = change.strip().removesuffix("()").rpartition(":")[2]
    yield from name.split(".")
