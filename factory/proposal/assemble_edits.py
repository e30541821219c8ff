"""Assembles whole files from blocks; says how to write them, and asks again for refused ones.

All blocks are applied or none is. A block that cannot be applied is refused with the reason, and
with the lines of the file that come nearest to it.

The paths and the code of an example fit no project, because small models copy whatever fits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from factory.orders.documents import MAX_EDITED_BYTES, Form, ReplyFormat
from factory.proposal.edit_blocks import (
    Block,
    BlockRefusal,
    Change,
    DefinitionBlock,
    FileBlock,
    SearchBlock,
    find_placeholder,
    form_of,
    render_changes,
    render_target,
)
from factory.proposal.match_text import (
    Excerpt,
    FileText,
    NotFound,
    Placed,
    apply_splices,
    find_lines,
    find_overlap,
    find_touched,
)
from factory.proposal.reply_formats import (
    ProposedFile,
    fence_for,
    render_block,
    render_files_example,
)
from shared.languages.capabilities import DefinitionEdit, EditRefused, NamedCode
from shared.languages.registry import language_of

_NOTHING: Final = Excerpt()
_EXPLAINED: Final = 10  # refusals of a file for which the nearest lines are looked for
_LINES_NAMED: Final = 10


PARTS_ALONE: Final = "only parts of it were shown: write the parts that change"


@dataclass(frozen=True, slots=True)
class Present:
    """Hold what a reply is applied to.

    `allowed` are the paths that the order may write, and `changes` the names that may give way to
    others. `texts` has the files that exist; a file that is not among them does not. Of those in
    `parted` only parts were shown, so that nobody who saw them can write the whole.
    """

    allowed: Sequence[str]
    texts: Mapping[str, str]
    changes: Sequence[str] = ()
    parted: Collection[str] = ()


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
        if Form.WHOLE in forms and len(forms) > 1:
            parts = next(_WORDS[form] for form in Form if form in forms - {Form.WHOLE})
            reason = f"{path} is changed in two ways, by a whole file and {parts}: use one of them"
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
        result = self._edited(path, text, indexed)
        if len(self.refusals) == before:
            self._refuse_losses(path, result, indexed)
        return [] if len(self.refusals) > before else [result]

    def _edited(self, path: str, text: str, indexed: Sequence[tuple[int, Block]]) -> str:
        """Return the text after all search texts, which are those of the file, and definitions.

        Definitions are brought into what the search texts leave, so that an import or a class of
        a search text is there for them. None of them may take the place of such a text.
        """
        blocks = dict(indexed)
        searched = [each for each in indexed if isinstance(each[1], SearchBlock)]
        placed = self._searched(path, FileText(text), searched)
        if self._refuse_overlap(find_overlap(placed), blocks):
            return text
        result = apply_splices(text, placed)
        if defined := [each for each in indexed if isinstance(each[1], DefinitionBlock)]:
            made = self._defined(path, result, defined)
            if self._refuse_overlap(find_overlap(made) or find_touched(made, placed), blocks):
                return text
            result = apply_splices(result, made)
        return result

    def _whole(self, index: int, block: Block) -> str:
        assert isinstance(block, FileBlock)
        if block.path in self.present.parted:
            self._refuse(index, block, PARTS_ALONE)
            return block.content
        old = self.present.texts.get(block.path)
        elided = "" if old is None else find_placeholder(block.path, block.content, old)
        if elided:
            self._refuse(index, block, elision(elided))
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
                self._refuse(index, block, elision(elided))
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
                    self._refuse(index, block, elision(elided))
                case EditRefused(reason=reason, lines=lines):
                    near = FileText(text).excerpt(lines[0] - 2, 4) if lines else _NOTHING
                    self._refuse(index, block, reason, near)
                case DefinitionEdit(splices=splices, repairs=repairs):
                    placed += (Placed(index, splice) for splice in splices)
                    self.repairs += (f"{path}: {repair}" for repair in repairs)
        return placed

    def _refuse_overlap(self, overlap: Sequence[int], blocks: Mapping[int, Block]) -> bool:
        for index in overlap:
            other = next((each for each in overlap if each != index), index)
            reason = f"it changes the same lines as {render_target(blocks[other])}"
            self._refuse(index, blocks[index], reason)
        return bool(overlap)

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


def elision(line: str) -> str:
    """Return what is said of a line that stands for lines left out."""
    return (
        f"`{line[:80]}` stands for lines that are left out: write them, a program puts the text "
        "into the file as it is"
    )


def _parts(change: str) -> Iterator[str]:
    """Yield the names that an entry of an order's changes may mean."""
    name = change.strip().removesuffix("()").rpartition(":")[2]
    yield from name.split(".")


_JSON_FORMAT: Final = """\
Reply with one JSON object and nothing else, of this form:

{"summary": "what the change does, in one sentence", "writes": [{"path": "the/file.py", \
"base_sha256": "the hash shown with that file", "content": "the whole new content of the file"}]}

- Give each file that you write whole, from its first line to its last; leave out files that stay \
as they are.
- Copy base_sha256 from the list of files below: it says which content you replace.
- Inside JSON strings, write line ends as \\n, quotes as \\" and backslashes as \\\\."""

_FILES_FORMAT: Final = """\
Begin with one line that says what the change does. Then give each file that you write in a block \
of its own, whole, its path right after the opening fence. For example:

{example}
- Leave out files that stay as they are, and write nothing after the last block.
- If a file holds ``` itself, open and close its block with more backticks."""

_EDITS_FORMAT: Final = """\
Begin with one line that says what the change does. Then give each change in a fenced block of its \
own. What follows the opening fence says what the block holds.

{forms}

- Leave out what stays as it is, and write nothing after the last block.
- If a block holds ``` itself, open and close it with more backticks.{files}"""

_FORMS: Final[Mapping[Form, str]] = {
    Form.WHOLE: "A whole file, from its first line to its last:",
    Form.DEFINITION: (
        "A function, a method or a class. Write all of it, from its decorators to its last line. "
        "It replaces the definition of that name. A new one goes beside what the block has next to "
        "it, or beside what the block before it is for. A constant goes under its own name, and "
        "imports alone go under `imports`:"
    ),
    Form.SEARCH: (
        "Some lines of a file. Copy them exactly as they are, as many as it takes to find them "
        "only once, then write the lines that take their place. A block may hold several pairs:"
    ),
}
_FILES: Final[Mapping[Form, str]] = {
    Form.WHOLE: "Write {path} whole.",
    Form.DEFINITION: (
        "Of {path}, write only the definitions that change, each with its name. Change other lines "
        "of it by search texts; do not change the same lines in both ways."
    ),
    Form.SEARCH: "Of {path}, write only the lines that change, with the lines to search for.",
}
_EXAMPLES: Final[Mapping[Form, ProposedFile]] = {
    Form.WHOLE: ProposedFile("path/of/one.py", 'print("the whole content of this file")\n'),
    Form.DEFINITION: ProposedFile(
        "path/of/another.py",
        'def method(self):\n    return "all the statements of this method"\n',
        Form.DEFINITION,
        "Class.method",
    ),
    Form.SEARCH: ProposedFile(
        "path/of/a/third.py",
        render_changes(
            [Change("(the lines as they are now)\n", "(the lines that take their place)\n")]
        ),
        Form.SEARCH,
    ),
}


def render_format(asked: ReplyFormat, forms: Mapping[str, Form] | None = None) -> str:
    """Return the instructions for writing the reply.

    `forms` has the form of each file, by path, for the format `edits`; without it, all are open.
    """
    match asked:
        case ReplyFormat.JSON:
            return _JSON_FORMAT
        case ReplyFormat.FILES:
            return _FILES_FORMAT.replace("{example}", render_files_example())
        case ReplyFormat.EDITS:
            return _render_edits(forms or {})


_CLAIM_IN_JSON = '`{"impossible": {"reason": WHY, "command": IT}, "summary": "", "writes": []}`'


def render_claim(asked: ReplyFormat) -> str:
    """Return how to reply that the order cannot be done, for the end of its commands."""
    in_text = "`IMPOSSIBLE: ` and why, then a line `Command: ` with it"
    said = _CLAIM_IN_JSON if asked is ReplyFormat.JSON else in_text
    return (
        "Only if one of them contradicts the task, so that no code can do both, reply without "
        f"files: {said}."
    )


def describe_form(form: Form) -> str:
    """Return what a block of a form holds, with an example."""
    return f"{_FORMS[form]}\n\n{render_block(_EXAMPLES[form])}".rstrip("\n")


def _render_edits(forms: Mapping[str, Form]) -> str:
    wanted = {*forms.values(), *(Form.SEARCH for each in forms.values() if each is Form.DEFINITION)}
    used = [form for form in Form if not forms or form in wanted]
    files = "".join(f"\n- {_FILES[form].format(path=path)}" for path, form in forms.items())
    described = "\n\n".join(map(describe_form, used))
    return _EDITS_FORMAT.replace("{files}", files).replace("{forms}", described)


# Together they keep a question below 8,000 characters.
_MOST_REFUSALS: Final = 6
_LONGEST_REASON: Final = 400
_LONGEST_EXCERPT: Final = 600


def render_refusals(refusals: Sequence[BlockRefusal], blocks: int) -> str:
    """Return why blocks of a reply were refused, in a few lines; `blocks` is the number of all."""
    lines = [_first_line(refusals, blocks)]
    lines += [f"- {_reason(each)}{_place(each)}" for each in refusals[:_MOST_REFUSALS]]
    if len(refusals) > _MOST_REFUSALS:
        lines.append(f"and {len(refusals) - _MOST_REFUSALS} more")
    return "\n".join(lines)


def render_question(refusals: Sequence[BlockRefusal], blocks: int) -> str:
    """Return the question for the refused blocks of a reply of so many `blocks`.

    The other blocks are kept: `read_again` takes the answer together with them.
    """
    parts = [_first_line(refusals, blocks)]
    for number, each in enumerate(refusals[:_MOST_REFUSALS], 1):
        parts.append(f"{number}. {_reason(each)}{_excerpt(each)}")
    if len(refusals) > _MOST_REFUSALS:
        parts.append(f"{len(refusals) - _MOST_REFUSALS} more were refused for similar reasons.")
    rest = " The other blocks are kept: do not repeat them." if blocks > len(refusals) else ""
    again = "this block" if len(refusals) == 1 else "these blocks"
    parts.append(f"Write {again} again, corrected, and nothing else.{rest}")
    forms = [form for form in Form if any(form_of(each.block) is form for each in refusals)]
    parts += [describe_form(form) for form in forms]
    return "\n\n".join(parts) + "\n"


def _first_line(refusals: Sequence[BlockRefusal], blocks: int) -> str:
    if blocks == 1:
        which = "The block of your reply"
    elif blocks == len(refusals):
        which = f"All {blocks} blocks of your reply"
    else:
        which = f"{len(refusals)} of the {blocks} blocks of your reply"
    return f"{which} cannot be applied, so no file was changed:"


def _reason(refusal: BlockRefusal) -> str:
    reason = " ".join(refusal.reason.split())
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return f"{render_target(refusal.block)}: {reason}"


def _place(refusal: BlockRefusal) -> str:
    if not refusal.nearest:
        return ""
    return f" (nearest: line {refusal.line})"


def _excerpt(refusal: BlockRefusal) -> str:
    """Return the nearest lines in a fence, without numbers that could be copied with them."""
    if not refusal.nearest:
        return ""
    text = refusal.nearest
    if len(text) > _LONGEST_EXCERPT:
        text = text[:_LONGEST_EXCERPT].rpartition("\n")[0] + "\n"
    fence = fence_for(text)
    return f"\nNearest to it, from line {refusal.line} of the file on:\n{fence}\n{text}{fence}"
