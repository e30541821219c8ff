"""Reads the answer to a question for refused blocks, beside the blocks that were kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from factory.proposal.edits.assemble import Present
from factory.proposal.edits.blocks import (
    Block,
    BlockRefusal,
    DefinitionBlock,
    FileBlock,
    SearchBlock,
)
from factory.proposal.edits.read_blocks import BlocksReply, read_blocks
from factory.proposal.files_format import parse_files_reply
from factory.proposal.read_reply import (
    BlocksRefused,
    ParsedReply,
    ProposalInvalid,
    check_length,
    propose_blocks,
)
from factory.proposal.scope import FileState
from shared.llm.json_in_reply import ReplyMalformed


def read_again(
    refused: BlocksRefused,
    answer: str,
    shown: Mapping[str, FileState],
    allowed: Sequence[str],
    *,
    texts: Mapping[str, str],
    changes: Sequence[str] = (),
) -> ParsedReply:
    """Return the proposal of a reply whose refused blocks are replaced by those of `answer`.

    The parameters after `answer` are those of `parse_proposal`. A block of the answer also takes
    the place of a kept block with the same target, and a whole file that of all its kept blocks.
    Raises `BlocksRefused`, with all blocks as they are now, if some cannot be applied or a refused
    block got no answer, and `ProposalInvalid` if the answer has no blocks.
    """
    check_length(answer)
    try:
        read = read_blocks(parse_files_reply(answer, _paths_to_answer(refused, allowed)), texts)
    except ReplyMalformed as problem:
        raise ProposalInvalid(problem.reason) from None
    gone = {each.index for each in refused.refusals}
    kept = [
        block
        for index, block in enumerate(refused.reply.blocks)
        if index not in gone and not any(_supersedes(new, block) for new in read.blocks)
    ]
    answered = {block.path for block in read.blocks}
    open_ones = [
        each
        for each in refused.refusals
        if each.block.path in allowed and each.block.path not in answered
    ]
    blocks = (*kept, *read.blocks, *(each.block for each in open_ones))
    refusals = [
        BlockRefusal(each.index + len(kept), each.block, each.reason) for each in read.refusals
    ]
    first_open = len(kept) + len(read.blocks)
    refusals += [
        BlockRefusal(first_open + offset, each.block, each.reason, each.nearest, each.line)
        for offset, each in enumerate(open_ones)
    ]
    summary = refused.reply.summary or read.summary
    repairs = (
        *refused.reply.repairs,
        f"{len(gone)} of {len(refused.reply.blocks)} blocks were asked for again",
        *read.repairs,
    )
    return propose_blocks(
        BlocksReply(summary, blocks, repairs, tuple(refusals)),
        shown,
        Present(allowed, texts, changes),
    )


def _paths_to_answer(refused: BlocksRefused, allowed: Sequence[str]) -> Sequence[str]:
    """Return the paths of the refused blocks: where there is one, a block without a path is its."""
    paths = {each.block.path for each in refused.refusals}.intersection(allowed)
    return sorted(paths) if len(paths) == 1 else allowed


def _supersedes(new: Block, old: Block) -> bool:
    """Return whether a block of the answer takes the place of a block that was kept."""
    if new.path != old.path:
        return False
    match new, old:
        case FileBlock(), _:
            return True
        case DefinitionBlock(name=name), DefinitionBlock(name=other):
            return name == other
        case SearchBlock(search=search), SearchBlock(search=other):
            return search == other
        case _:
            return False
