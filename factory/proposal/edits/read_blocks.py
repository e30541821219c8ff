"""Reads the fenced blocks of a reply as whole files, definitions and search texts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from factory.orders.reply_format import Form
from factory.proposal.edits.bare_definition import read_bare
from factory.proposal.edits.blocks import (
    Block,
    BlockRefusal,
    DefinitionBlock,
    FileBlock,
    SearchBlock,
)
from factory.proposal.edits.search_format import holds_changes, parse_changes
from factory.proposal.files_format import FilesReply, ProposedFile
from factory.proposal.focus import Focus
from shared.llm.json_in_reply import ReplyMalformed


@dataclass(frozen=True, slots=True)
class BlocksReply:
    """Hold the blocks of a reply; `refusals` are those of blocks that cannot be read."""

    summary: str
    blocks: tuple[Block, ...]
    repairs: tuple[str, ...] = ()
    refusals: tuple[BlockRefusal, ...] = ()


def read_blocks(
    reply: FilesReply, texts: Mapping[str, str], focus: Focus | None = None
) -> BlocksReply:
    """Return the blocks of a reply. A fenced block with several search texts is as many blocks.

    `texts` are the files that exist: a block that is said to hold one of them, and holds search
    texts, is read as such. `focus` is the definition that was asked for: a block that names no file
    is then read as definitions.
    """
    blocks: list[Block] = []
    refusals: list[BlockRefusal] = []
    repairs = list(reply.repairs)
    for file in reply.files:
        form = file.form
        if form is not Form.SEARCH and _holds_search_texts(file, texts):
            form = Form.SEARCH
            repairs.append(f"the block of {file.path} holds search texts, and was read as such")
        match form:
            case Form.WHOLE if focus is not None and file.is_bare:
                block, refused = read_bare(file.content, focus, texts[focus.path])
                if refused:
                    refusals.append(BlockRefusal(len(blocks), block, refused))
                blocks.append(block)
            case Form.WHOLE:
                blocks.append(FileBlock(file.path, file.content))
            case Form.DEFINITION:
                blocks.append(DefinitionBlock(file.path, file.name, file.content))
            case Form.SEARCH:
                try:
                    changes = parse_changes(file.content)
                except ReplyMalformed as problem:
                    unread = SearchBlock(file.path, file.content, "")
                    refusals.append(BlockRefusal(len(blocks), unread, problem.reason))
                    blocks.append(unread)
                else:
                    blocks += (
                        SearchBlock(file.path, each.search, each.replace) for each in changes
                    )
    return BlocksReply(reply.summary, tuple(blocks), tuple(repairs), tuple(refusals))


def _holds_search_texts(file: ProposedFile, texts: Mapping[str, str]) -> bool:
    exists = file.path in texts
    return exists and holds_changes(file.content) and not holds_changes(texts[file.path])
