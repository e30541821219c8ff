"""Reads the blocks of a reply: whole files, definitions, search texts.

    <<<<<<< SEARCH
    lines of the file
    =======
    lines that take their place
    >>>>>>> REPLACE

All marks of one block have the same length, so that a text may hold marks of another length.

A small model that is shown one function replies with this function and no header. It must be
certain which definition that is: the one that was asked for, or the only one of that name in the
file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from factory.orders.documents import Form
from factory.proposal.reply_formats import FilesReply, ProposedFile
from factory.proposal.shown_code import Focus
from shared.languages.capabilities import Edits
from shared.languages.registry import language_of
from shared.llm.model_client import ReplyMalformed


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Hold the whole content of a file."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class DefinitionBlock:
    """Hold the code of a definition; `name` is qualified if the model qualified it."""

    path: str
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class SearchBlock:
    """Hold whole lines of a file, and the lines that take their place."""

    path: str
    search: str
    replace: str


Block = FileBlock | DefinitionBlock | SearchBlock


@dataclass(frozen=True, slots=True)
class BlockRefusal:
    """Say why the block with the index `index` of a reply cannot be applied.

    `nearest` are the lines of the file that come nearest to what the block meant; they begin with
    line `line`, which counts from 1. `matches` is how often a search text was found.
    """

    index: int
    block: Block
    reason: str
    nearest: str = ""
    line: int = 0
    matches: int | None = None


def form_of(block: Block) -> Form:
    """Return the form of a block."""
    match block:
        case FileBlock():
            return Form.WHOLE
        case DefinitionBlock():
            return Form.DEFINITION
        case SearchBlock():
            return Form.SEARCH


def render_target(block: Block) -> str:
    """Return on one line, and bounded, what a block is for."""
    match block:
        case FileBlock(path=path):
            return f"the file {path}"
        case DefinitionBlock(path=path, name=name):
            return f"the definition `{name[:80]}` of {path}"
        case SearchBlock(path=path, search=search):
            line = next((each.strip() for each in search.splitlines() if each.strip()), "")
            return f"the search text of {path} that begins with `{line[:80]}`"


_OPENING = re.compile(r"^(?P<signs><{5,})[ \t]*SEARCH[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_CLOSING = re.compile(r"^(?P<signs>>{5,})[ \t]*REPLACE[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_DIVIDER = re.compile(r"^(?P<signs>={5,})[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_ANY_SIGNS = re.compile(r"^[<=>]{5,}", re.MULTILINE)
_SHORTEST = 7


@dataclass(frozen=True, slots=True)
class Change:
    """Hold lines to search for, and the lines that take their place; each ends with its newline."""

    search: str
    replace: str


def holds_changes(content: str) -> bool:
    """Return whether a text has the lines around a search text, whatever is beside them."""
    opening = _OPENING.search(content)
    return opening is not None and _CLOSING.search(content, opening.end()) is not None


def parse_changes(content: str) -> tuple[Change, ...]:
    """Return the changes in the content of a block.

    Raises `ReplyMalformed` if a line is missing, if text is between two changes, or if the
    text itself has a line that may be the divider.
    """
    changes: list[Change] = []
    position = 0
    while opening := _OPENING.search(content, position):
        _refuse_text(content[position : opening.start()])
        closing = _closing(content, opening)
        body = content[opening.end() + 1 : closing.start()]
        divider = _divider(body, len(opening["signs"]))
        changes.append(Change(body[: divider.start()], body[divider.end() :]))
        position = min(closing.end() + 1, len(content))
    _refuse_text(content[position:])
    if not changes:
        raise ReplyMalformed("the block has no line `<<<<<<< SEARCH`")
    return tuple(changes)


def render_changes(changes: Iterable[Change]) -> str:
    """Return the content of a block that parses to these changes."""
    return "".join(map(_render, changes))


def _render(change: Change) -> str:
    text = change.search + change.replace
    longest = max((len(found[0]) for found in _ANY_SIGNS.finditer(text)), default=0)
    count = max(_SHORTEST, longest + 1)
    opening, divider, closing = (sign * count for sign in "<=>")
    return f"{opening} SEARCH\n{change.search}{divider}\n{change.replace}{closing} REPLACE\n"


def _closing(content: str, opening: re.Match[str]) -> re.Match[str]:
    """Return the line that closes a change: the next of equally many signs, else the next."""
    first: re.Match[str] | None = None
    for found in _CLOSING.finditer(content, opening.end()):
        if len(found["signs"]) == len(opening["signs"]):
            return found
        first = first or found
    if first is None:
        raise ReplyMalformed(f"`{opening[0].strip()}` is never closed by `>>>>>>> REPLACE`")
    return first


def _divider(body: str, signs: int) -> re.Match[str]:
    found = list(_DIVIDER.finditer(body))
    alike = [each for each in found if len(each["signs"]) == signs] or found
    if not alike:
        raise ReplyMalformed("a search text is not divided from its replacement by `=======`")
    if len(alike) > 1:
        raise ReplyMalformed(
            "a search text or its replacement has a line of `=` itself: write the lines around "
            "them with more signs, each with as many"
        )
    return alike[0]


def _refuse_text(text: str) -> None:
    if text.strip():
        raise ReplyMalformed(
            f"`{text.strip().splitlines()[0][:60]}` stands outside of `<<<<<<< SEARCH` and "
            "`>>>>>>> REPLACE`"
        )


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


_COMMENT = re.compile(
    r"(?:(?:pass|\.\.\.)\s*)?(?:#+|//+|/\*+|--|<!--|;+|%+)\s*(?P<text>.*?)\s*(?:\*/|-->)?\s*$"
)
_DOTS: Final = r"(?:\.{3,}|…)"
_WHAT: Final = (
    r"(?:code|content|contents|file|class|function|functions|method|methods|module|implementation|"
    r"lines?|body|logic|imports?|definitions?|tests?|attributes|fields|part|section)"
)
_WHICH: Final = (
    r"(?:rest|remainder|remaining|existing|other|previous|original|unchanged|same|above|below)"
)
_AS_IT_WAS: Final = (
    r"(?:(?:goes|go|remains?|stays?|is|are|continues?|kept|keep) )?"
    r"(?:here|unchanged|the same|same|intact|untouched|as (?:before|is|it (?:is|was)|they were)"
    r"|as above|below|above|omitted|not shown|unmodified)\b.*"
)
_ELIDING = re.compile(
    rf"{_DOTS}"
    rf"|{_DOTS}.*\b(?:{_WHICH}|{_WHAT}|as before|omitted|keep)\b.*"
    rf"|.*\b{_WHICH} (?:\w+ )?{_WHAT}\b.*{_DOTS}"
    rf"|.*\b(?:the rest|as before|omitted|unchanged)\b.*{_DOTS}"
    rf"|(?:the )?(?:rest|remainder) of (?:the |this |your )?{_WHAT}(?: {_WHAT})?[.:;]?"
    rf"|(?:the )?(?:rest|remainder) of (?:the |this |your )?{_WHAT}(?: {_WHAT})?\W+{_AS_IT_WAS}"
    rf"|(?:the |all )?(?:rest|remaining|existing|other|previous) {_WHAT}(?: {_WHAT})?"
    rf"\W+(?:{_AS_IT_WAS}|(?:goes|go|continues?)[.:;]?)"
    rf"|(?:the )?rest\W+{_AS_IT_WAS}"
    r"|(?:unchanged|no changes?|same as (?:before|above)|omitted(?: for brevity)?)",
    re.IGNORECASE,
)
_LONGEST: Final = 200
_PROSE: Final = (".md", ".markdown", ".rst", ".txt", ".yaml", ".yml", "")


_REMARK = re.compile(r"(?:^|\s)(?:#|//).*$")


def find_placeholder(path: str, new: str, old: str) -> str:
    """Return the first line of `new` that is a mark for lines left out, or nothing.

    A line that the text `old` has as well does not count, because it is a part of the file. A line
    of dots alone may be the body of a definition, and means something in some formats of text.
    """
    there: frozenset[str] | None = None
    before = ""
    for line in new.split("\n"):
        if _is_placeholder(line, before, path):
            there = frozenset(each.strip() for each in old.split("\n")) if there is None else there
            if line.strip() not in there:
                return line.strip()
        before = _REMARK.sub("", line).strip() or before
    return ""


def _is_placeholder(line: str, before: str, path: str) -> bool:
    text = line.strip()
    if text in ("...", "…"):
        opens_body = before.endswith((":", '"""', "'''"))
        return not opens_body and PurePosixPath(path).suffix.lower() not in _PROSE
    comment = _COMMENT.match(text) if len(text) <= _LONGEST else None
    return comment is not None and _ELIDING.fullmatch(comment["text"]) is not None
