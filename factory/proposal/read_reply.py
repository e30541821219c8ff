"""Turns a reply into a proposal, or says why that fails or why it is not worth judging.

The same replies to the same questions give the same proposals, now and when a commit is verified.

A doubt is a reason to ask again, not a verdict: a model that insists on its reply is judged by it,
unless these files were judged before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePosixPath

from pydantic import ValidationError

from factory.orders.documents import (
    MAX_BLOCKS,
    MAX_REPLY_CHARACTERS,
    FileWrite,
    ModelProposal,
    ReplyFormat,
    WriteProposal,
)
from factory.orders.model_choice import PastAttempt
from factory.orders.stages import Stage
from factory.proposal.assemble_edits import (
    PARTS_ALONE,
    Present,
    assemble,
    render_question,
    render_refusals,
)
from factory.proposal.edit_blocks import (
    Block,
    BlockRefusal,
    BlocksReply,
    DefinitionBlock,
    FileBlock,
    SearchBlock,
    read_blocks,
)
from factory.proposal.reply_formats import (
    FENCED_BY_NATURE,
    FilesReply,
    ProposedFile,
    parse_files_reply,
    unwrap_fenced_content,
)
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import Focus, ShownFile, hashes_of, texts_of
from shared.files.strict_documents import JsonProblem, JsonValue, parse_json
from shared.languages.registry import language_of
from shared.llm.model_client import ReplyMalformed, extract_json_object
from shared.work_order.parse_order import EMPTY_SHA256
from shared.work_order.work_order import WorkOrder

_PROBLEMS_SHOWN = 5
_NO_TEXTS: Mapping[str, str] = {}


class ProposalInvalid(Exception):
    """Report that a reply is not a proposal. The message is for the model's next attempt."""


class BlocksRefused(ProposalInvalid):
    """Report that some blocks of a reply cannot be applied; then none of them is.

    `reply` has all blocks, and `refusals` say which are refused, and why.
    """

    def __init__(self, reply: BlocksReply, refusals: tuple[BlockRefusal, ...]) -> None:
        super().__init__(render_refusals(refusals, len(reply.blocks)))
        self.reply = reply
        self.refusals = refusals


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """Hold a proposal; `repairs` describes each place where the reply was read leniently."""

    proposal: WriteProposal
    repairs: tuple[str, ...] = ()


def parse_proposal(
    reply: str,
    asked: ReplyFormat,
    shown: Mapping[str, FileState],
    allowed: Sequence[str],
    *,
    texts: Mapping[str, str] = _NO_TEXTS,
    changes: Sequence[str] = (),
    focus: Focus | None = None,
    parted: Collection[str] = (),
) -> ParsedReply:
    """Return the proposal in `reply`, whichever of the formats the reply is written in.

    `shown` is the state of each file that the prompt showed. If the prompt asked for fenced blocks,
    it showed no hashes, and the proposal gets its hashes from `shown`. `texts` are the files that
    exist, to which parts of files are applied, and `changes` the names that may give way to others.
    `focus` is the definition that the prompt asked for, if it asked for one alone. Of the files in
    `parted` it showed only parts.
    Raises `BlocksRefused` if some parts cannot be applied, and else `ProposalInvalid` if the reply
    is not a proposal in either format.
    """
    check_length(reply)
    document = _read_document(reply, asked, shown)
    fenced = _read_fenced(reply, shown, Present(allowed, texts, changes, parted), focus)
    found = _format_of(document, fenced, asked, allowed)
    parsed = document.parsed if found is ReplyFormat.JSON else fenced.parsed
    if isinstance(parsed, ProposalInvalid):
        raise parsed
    if (found is ReplyFormat.JSON) is (asked is ReplyFormat.JSON):
        return parsed
    whole = [each.path for each in parsed.proposal.writes if each.path in parted]
    if whole and found is ReplyFormat.JSON:
        raise ProposalInvalid(f"{whole[0]}: {PARTS_ALONE}")
    return replace(parsed, repairs=(f"the reply came in the format {found}", *parsed.repairs))


@dataclass(frozen=True, slots=True)
class _Document:
    """Hold a reply read as JSON: the source of its one object ("" if none), and the result."""

    source: str
    parsed: ParsedReply | ProposalInvalid


@dataclass(frozen=True, slots=True)
class _Fenced:
    """Hold a reply read as fenced blocks, `None` if they are not files, and the result."""

    blocks: FilesReply | None
    parsed: ParsedReply | ProposalInvalid


def _format_of(
    document: _Document, fenced: _Fenced, asked: ReplyFormat, allowed: Sequence[str]
) -> ReplyFormat:
    """Return the format in which the reply is written; if it is in neither, the format asked for.

    Fenced blocks are `files` here, whether they hold whole files or parts.
    A file may contain JSON, and a JSON proposal may be inside a fence. An allowed path after the
    fence decides for a file, and so does an object that is only a part of a file.
    """
    blocks, proposed = fenced.blocks, _proposed_paths(document)
    if blocks is None:
        return ReplyFormat.JSON if proposed else asked
    holder = _file_with(document.source, blocks)
    if holder is not None and holder.content.strip() != document.source:
        return ReplyFormat.FILES
    if holder is None and proposed:
        return asked if blocks.named else ReplyFormat.JSON
    if not blocks.named:
        return _format_of_unnamed(document, blocks.files[0], asked, allowed)
    if holder is None or not proposed:
        return ReplyFormat.FILES
    # A header such as `proposal.json` names the document itself, not a file to write.
    names_document = holder.path not in allowed and proposed.issubset(allowed)
    return ReplyFormat.JSON if names_document else ReplyFormat.FILES


def _format_of_unnamed(
    document: _Document, file: ProposedFile, asked: ReplyFormat, allowed: Sequence[str]
) -> ReplyFormat:
    """Return whether the one block without a path is the one file allowed, or a JSON proposal.

    An object that is a proposal, or begins like one, is not a file. If the one file allowed is
    itself JSON, only an object that proposes to write this very file counts as a proposal, unless
    JSON was asked for and the object is a valid proposal.
    """
    proposed = _proposed_paths(document)
    if not (proposed or _LIKE_A_PROPOSAL.match(file.content.lstrip())):
        return ReplyFormat.FILES
    certain = proposed and asked is ReplyFormat.JSON
    if certain or not _is_json_file(file.path):
        return ReplyFormat.JSON
    names_file = file.path in proposed or file.path in _paths_in(file.content)
    return ReplyFormat.JSON if names_file else ReplyFormat.FILES


_LIKE_A_PROPOSAL = re.compile(r'\{.*?"writes"\s*:\s*\[', re.DOTALL)
_PATH_PROPERTY = re.compile(r'"path"\s*:\s*"((?:[^"\\]|\\.)*+)"')


def _paths_in(text: str) -> frozenset[str]:
    """Return the values of all `path` properties, even if the text is not quite JSON."""
    return frozenset(_PATH_PROPERTY.findall(text))


def _proposed_paths(document: _Document) -> frozenset[str]:
    match document.parsed:
        case ParsedReply(proposal):
            return frozenset(proposal.paths)
        case ProposalInvalid():
            return frozenset()


def _file_with(source: str, blocks: FilesReply) -> ProposedFile | None:
    return next((file for file in blocks.files if source and source in file.content), None)


def _is_json_file(path: str) -> bool:
    return "json" in PurePosixPath(path).suffix.lower()


def _read_document(reply: str, asked: ReplyFormat, shown: Mapping[str, FileState]) -> _Document:
    source = ""
    try:
        source = extract_json_object(reply)
        value = parse_json(source)
        if asked is not ReplyFormat.JSON:
            value = _with_shown_hashes(value, shown)
        return _Document(source, _without_fences(ModelProposal.model_validate(value)))
    except (ReplyMalformed, JsonProblem) as problem:
        return _Document(source, ProposalInvalid(str(problem)))
    except ValidationError as error:
        return _Document(source, ProposalInvalid(_describe(error)))


def _with_shown_hashes(value: JsonValue, shown: Mapping[str, FileState]) -> JsonValue:
    """Return the document with a hash in each of its writes: that of the shown content.

    A hash that the model gives stays: one that is wrong says that it means other content.
    """
    if not isinstance(value, dict) or not isinstance(writes := value.get("writes"), list):
        return value
    return {**value, "writes": [_with_shown_hash(write, shown) for write in writes]}


def _with_shown_hash(write: JsonValue, shown: Mapping[str, FileState]) -> JsonValue:
    if not isinstance(write, dict) or not isinstance(path := write.get("path"), str):
        return write
    given = write.get("base_sha256")
    return {**write, "base_sha256": given or _shown_hash(path, shown)}


def _read_fenced(
    reply: str, shown: Mapping[str, FileState], present: Present, focus: Focus | None
) -> _Fenced:
    try:
        asked_for = focus.path if focus else None
        blocks = parse_files_reply(reply, present.allowed, asked_for, present.texts)
    except ReplyMalformed as problem:
        return _Fenced(None, ProposalInvalid(problem.reason))
    try:
        read = read_blocks(blocks, present.texts, focus)
        return _Fenced(blocks, propose_blocks(read, shown, present))
    except ProposalInvalid as invalid:
        return _Fenced(blocks, invalid)


def propose_blocks(
    reply: BlocksReply, shown: Mapping[str, FileState], present: Present
) -> ParsedReply:
    """Return the proposal that results from the blocks of a reply.

    Raises `BlocksRefused` if any of them cannot be applied.
    """
    if len(reply.blocks) > MAX_BLOCKS:
        raise ProposalInvalid(
            f"the reply has {len(reply.blocks):,} blocks, over the limit of {MAX_BLOCKS}: "
            "write whole files instead"
        )
    assembled = assemble(reply.blocks, present, reply.refusals)
    repairs = (*reply.repairs, *assembled.repairs)
    if assembled.refusals:
        raise BlocksRefused(reply, assembled.refusals)
    mended = {path: _without_own_imports(path, text) for path, text in assembled.files}
    repairs += tuple(
        f"{path} imported what it defines itself; the import was left out"
        for path, text in assembled.files
        if mended[path] != text
    )
    writes = tuple(
        FileWrite(path=path, base_sha256=_shown_hash(path, shown), content=mended[path])
        for path, _ in assembled.files
    )
    return ParsedReply(WriteProposal(summary=reply.summary, writes=writes), repairs)


def _without_own_imports(path: str, text: str) -> str:
    language = language_of(path)
    return (
        language.own_imports.without_own_imports(path, text)
        if language and language.own_imports
        else text
    )


def check_length(reply: str) -> None:
    """Raise `ProposalInvalid` for a reply that is empty, or longer than any proposal can be."""
    if not reply.strip():
        raise ProposalInvalid("the reply is empty")
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise ProposalInvalid(
            f"the reply has {len(reply):,} characters, over the limit of {MAX_REPLY_CHARACTERS:,}"
        )


def _shown_hash(path: str, shown: Mapping[str, FileState]) -> str:
    return shown[path].sha256 if path in shown else EMPTY_SHA256


def _without_fences(proposal: ModelProposal) -> ParsedReply:
    """Return the proposal without the fences that models put around content in JSON strings."""
    writes: list[FileWrite] = []
    repairs: list[str] = []
    for write in proposal.writes:
        content, wrapped = unwrap_fenced_content(write.content)
        if not wrapped or write.path.endswith(FENCED_BY_NATURE):
            writes.append(write)
            continue
        writes.append(write.model_copy(update={"content": content}))
        repairs.append(f"a fence around the content of {write.path} was taken off")
    return ParsedReply(
        WriteProposal(summary=proposal.summary, writes=tuple(writes)), tuple(repairs)
    )


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'reply'}: {problem['msg']}"
        for problem in problems[:_PROBLEMS_SHOWN]
    ]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"and {len(problems) - _PROBLEMS_SHOWN} more")
    return "the JSON object is no proposal:\n" + "\n".join(lines)


def read_again(
    refused: BlocksRefused,
    answer: str,
    shown: Mapping[str, FileState],
    allowed: Sequence[str],
    *,
    texts: Mapping[str, str],
    changes: Sequence[str] = (),
    parted: Collection[str] = (),
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
        Present(allowed, texts, changes, parted),
    )


def _paths_to_answer(refused: BlocksRefused, allowed: Sequence[str]) -> Sequence[str]:
    """Return the paths of the refused blocks. If there is one, a block without a path has it."""
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


@dataclass(slots=True)
class ReplyReader:
    """Hold what the last reply left open: `refused` are blocks that were asked for again."""

    order: WorkOrder
    refused: BlocksRefused | None = field(default=None, init=False)

    def read(
        self, reply: str, shown: Sequence[ShownFile], asked: ReplyFormat, focus: Focus | None
    ) -> ParsedReply:
        """Return the proposal in a reply. Raises `BlocksRefused` and `ProposalInvalid`.

        `shown` are the files that the prompt showed, `asked` is the format that it asked for, and
        `focus` the definition that it asked for alone, if it did.
        """
        try:
            parsed = self._parse(reply, shown, asked, focus)
        except BlocksRefused as refused:
            # The one definition is asked for whole again, so that no block has to be kept.
            self.refused = None if focus else refused
            raise
        self.refused = None
        parsed = _without_copies(parsed, self.order, texts_of(shown))
        said = parsed.proposal.summary.strip(" .").casefold()
        if said == self.order.title.strip(" .").casefold():  # the commit's subject says so
            parsed = replace(parsed, proposal=parsed.proposal.model_copy(update={"summary": ""}))
        return parsed

    def _parse(
        self, reply: str, shown: Sequence[ShownFile], asked: ReplyFormat, focus: Focus | None
    ) -> ParsedReply:
        order, hashes, texts = self.order, hashes_of(shown), texts_of(shown)
        allowed, changes = order.allowed_files, order.changes
        parted = frozenset(each.path for each in shown if each.is_in_parts)
        if self.refused:
            return read_again(
                self.refused, reply, hashes, allowed, texts=texts, changes=changes, parted=parted
            )
        return parse_proposal(
            reply, asked, hashes, allowed, texts=texts, changes=changes, focus=focus, parted=parted
        )


def _without_copies(parsed: ParsedReply, order: WorkOrder, texts: Mapping[str, str]) -> ParsedReply:
    """Return a reply without files that it may not write and gives as they were shown."""
    writes, allowed = parsed.proposal.writes, frozenset(order.allowed_files)
    copies = [e.path for e in writes if e.path not in allowed and texts.get(e.path) == e.content]
    if not copies or len(copies) == len(writes):
        return parsed
    kept = tuple(each for each in writes if each.path not in copies)
    repairs = tuple(f"{path} was given as it is, and left out" for path in copies)
    proposal = parsed.proposal.model_copy(update={"writes": kept})
    return ParsedReply(proposal, (*parsed.repairs, *repairs))


_UNREADABLE = "Your last reply could not be read: "
_EXACTLY = "Reply in exactly the format that is asked for, and nothing else."


class DoubtKind(StrEnum):
    """Name the reason why a reply is not worth judging.

    Blocks that do not fit the file are refused; the other blocks are kept. With
    `MORE_WANTED`, the reply asks to see more of a large file.
    """

    UNREADABLE = "unreadable"
    UNCHANGED = "unchanged"
    REPEATED = "repeated"
    HOLLOW = "hollow"
    BLOCKS_REFUSED = "blocks refused"
    MORE_WANTED = "more wanted"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Hold why a reply is not worth judging, and the note for the model.

    `repeats` is the attempt whose files were given again. `quote` shows a reply that could not be
    read to a person.
    """

    kind: DoubtKind
    note: str
    repeats: int | None = None
    quote: str = ""

    @property
    def reason(self) -> str:
        """Return the note without what is said to the model alone."""
        return self.note.removeprefix(_UNREADABLE).removesuffix(f"\n{_EXACTLY}")


def doubt_unreadable(problem: str, quote: str) -> Doubt:
    """Return the doubt about a reply that is not a proposal."""
    note = f"{_UNREADABLE}{problem}\n{_EXACTLY}"
    return Doubt(DoubtKind.UNREADABLE, note, quote=quote)


def doubt_left_out(sentence: str, quote: str) -> Doubt:
    """Return the doubt about a reply with a mark for lines that it leaves out."""
    return Doubt(DoubtKind.UNREADABLE, f"{sentence} Give each file whole.", quote=quote)


def doubt_refused(refused: BlocksRefused, *, with_format: bool = True) -> Doubt:
    """Return the doubt about a reply some of whose blocks do not fit the files.

    `with_format` says whether the note asks for these blocks alone, and how they are written; a
    note without it says only what was wrong.
    """
    render = render_question if with_format else render_refusals
    return Doubt(DoubtKind.BLOCKS_REFUSED, render(refused.refusals, len(refused.reply.blocks)))


def doubt_about(
    proposal: WriteProposal,
    shown: Sequence[ShownFile],
    past: Sequence[PastAttempt],
    hollow: Sequence[str],
) -> Doubt | None:
    """Return the first doubt about a proposal, if there is one.

    `hollow` are the sentences that say which parts of it do nothing.
    """
    earlier = next((each for each in past if _is_the_same(each, proposal)), None)
    if earlier is not None:
        note = (
            f"You gave the same files as in attempt {earlier.number}, and they fail in the same "
            "way. Change what is wrong in them."
        )
        return Doubt(DoubtKind.REPEATED, note, earlier.number)
    if _changes_nothing(proposal, shown):
        note = (
            "Your last reply left every file as it is. Make the change that the task asks for, "
            "and give the file with it."
        )
        return Doubt(DoubtKind.UNCHANGED, note)
    return Doubt(DoubtKind.HOLLOW, "\n".join(hollow)) if hollow else None


def files_of(proposal: WriteProposal) -> frozenset[tuple[str, str]]:
    """Return paths and contents: what two proposals must share to be the same."""
    return frozenset((each.path, each.content) for each in proposal.writes)


def _is_the_same(earlier: PastAttempt, proposal: WriteProposal) -> bool:
    # Stale hashes, and a disk that refused, say nothing about the files themselves.
    if earlier.proposal is None or earlier.brief.stage in (
        Stage.STALE_CONTEXT,
        Stage.WRITE_FAILED,
        Stage.REPEATED,
    ):
        return False
    return files_of(earlier.proposal) == files_of(proposal)


def _changes_nothing(proposal: WriteProposal, shown: Sequence[ShownFile]) -> bool:
    there = {each.path: each.text for each in shown if each.state.kind is FileKind.FILE}
    return all(there.get(each.path) == each.content for each in proposal.writes)
