"""Parses and renders the reply formats `files` and `edits`.

| header | the block holds |
|---|---|
| `path/to/file.py` | the whole file |
| `path/to/file.py::Class.method` | the definition of this name |
| `edit path/to/file.py` | search texts, each with the text that takes its place |

Each of them is read whichever the prompt asked for, with a language before it or around it.

Code in a JSON string is hard for a small model; code in a fence is what it has seen in training.
The format is byte-exact: the text between the fence lines is the file, including its final newline.
The header of a block says whether it holds a whole file or a part of one (`block_header`).
A fence is longer than any fence in the file. A mistake with only one possible meaning is repaired,
and the repair is reported; a reply that could be read in two ways is refused. Pure.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from factory.orders.documents import MAX_REPLY_CHARACTERS, Form
from shared.files.strict_documents import JsonProblem, parse_json
from shared.languages.registry import language_of, outline_of
from shared.llm.model_client import ReplyMalformed, extract_json_object, strip_reasoning

_NONE: Mapping[str, str] = {}
_PLAIN_PATH = re.compile(r"[\w.@+-]*[./][\w./@+-]*")
_NAMED_PATH = re.compile(r"(?:.*\s)?(?:path|file|filename|title|name)\s*[=:]\s*(?P<path>\S.*)")
_LANGUAGE = re.compile(
    r"bash|c|cpp|css|csv|diff|go|html|ini|java|javascript|js|jsonc?|jsx|kotlin|markdown|md|perl|php"
    r"|plaintext|pyi?|python3?|r|ruby|rust|sh|shell|sql|svg|text|toml|tsx?|txt|typescript|xml"
    r"|ya?ml|console|zsh",
    re.IGNORECASE,
)
_EDIT = re.compile(
    r"(?:(?P<language>[\w+]+)[ :]\s*)?edit\s*(?:[ :]\s*(?P<rest>.*))?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Header:
    """Hold what a header says: the path, `None` if it names none, and what the block holds.

    `name` is the name of a definition, as it is written.
    """

    path: str | None
    form: Form = Form.WHOLE
    name: str = ""


def read_header(info: str, allowed: Sequence[str] = ()) -> Header:
    """Return what the header of a block says.

    `allowed` are the paths that may be written. They decide how to read a header that could be
    read in two ways.
    """
    edit = _EDIT.fullmatch(info)
    if edit and not (edit["language"] is None or _LANGUAGE.fullmatch(edit["language"])):
        edit = None
    whole = read_path(info, allowed)
    is_whole = info in allowed if edit else whole in allowed
    if is_whole or _json_string(info) is not None:
        return Header(whole)
    rest = (edit["rest"] or "").strip() if edit else info
    path, name = _split_name(rest)
    if name is not None:
        return Header(read_path(path, allowed), Form.DEFINITION, name)
    return Header(read_path(rest, allowed), Form.SEARCH) if edit else Header(whole)


def render_header(header: Header) -> str:
    """Return the header that reads as `header`, for any path and for any name on one line."""
    path = header.path or ""
    plain = _PLAIN_PATH.fullmatch(path) and read_header(path) == Header(path)
    # As a JSON string, any path fits on one line; a backtick would end the header.
    path = path if plain else json.dumps(path).replace("`", "\\u0060")
    match header.form:
        case Form.WHOLE:
            return path
        case Form.DEFINITION:
            return f"{path}::{header.name}"
        case Form.SEARCH:
            return f"edit {path}"


def read_path(info: str, allowed: Sequence[str] = ()) -> str | None:
    """Return the path that a header names, or `None`.

    The header may be `path`, `language path`, `language:path`, `path=...`, or a JSON string.
    """
    if not info:
        return None
    if info.startswith('"') and (quoted := _json_string(info)) is not None:
        return quoted
    first, _, rest = info.partition(" ")
    language, colon, after = info.partition(":")
    readings = [info, rest.strip(), after.strip()]
    if match := _NAMED_PATH.fullmatch(info):
        readings.append(_unquoted(match["path"]))
    for reading in readings:
        if reading in allowed:
            return reading
    if match:
        return readings[-1]
    if _LANGUAGE.fullmatch(first):
        return _unquoted(rest.strip()) or None
    if colon and _LANGUAGE.fullmatch(language):
        return _unquoted(after.strip()) or None
    return info


def _split_name(text: str) -> tuple[str, str | None]:
    """Return the path and the name of `path::name`; the name is `None` if there is none."""
    start = 0
    if text.startswith('"'):
        try:
            start = json.JSONDecoder().raw_decode(text)[1]
        except ValueError:
            start = 0
    path, colons, name = text[start:].partition("::")
    return text[:start] + path.strip(), name.strip() if colons else None


def _json_string(text: str) -> str | None:
    if not text.startswith('"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


NO_FINAL_NEWLINE = "\\ No newline at end of file"

# A whole line that is a fence, or a closing tag whose opening tag was written by a chat template.
_MARK = re.compile(
    r"^(?: {0,3}(?P<fence>`{3,})(?P<info>[^`\n]*)|[ \t]*</think(?:ing)?>[ \t\r]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_SEARCH_MARK = re.compile(
    r"^(?:<{5,}[ \t]*SEARCH|(?P<closing>>{5,}[ \t]*REPLACE))[ \t]*\r?$",
    re.MULTILINE | re.IGNORECASE,
)
_LONGEST_HEADING = 2000  # of the text between two blocks
_HEADING_MARKS = re.compile(r"[#>*/<!;%\-\s]*(?:file|path)?:?\s*[*`'\"]*", re.IGNORECASE)
_MARKS_BEHIND = "*`'\":/>-" + string.whitespace
_FENCE_IN_TEXT = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
# Blocks in these languages show how to run something; they are not files.
_COMMENTARY = frozenset({"bash", "sh", "shell", "console", "zsh"})


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """Hold one block of a reply: the path as the model wrote it, and the content.

    The content is that of the whole file, or in another `form` a part of it; `name` is the name of
    a definition. `is_bare` says that the block names no file, and that it can only be this one.
    """

    path: str
    content: str
    form: Form = Form.WHOLE
    name: str = ""
    is_bare: bool = False


@dataclass(frozen=True, slots=True)
class FilesReply:
    """Hold a reply in this format; `repairs` describes each place that was read leniently.

    `named` is false if the only block names no file and was read as the only file allowed.
    """

    summary: str
    files: tuple[ProposedFile, ...]
    repairs: tuple[str, ...] = ()
    named: bool = True


@dataclass(frozen=True, slots=True)
class _Block:
    info: str
    content: str
    nested: bool
    above: str = ""
    """The text between the block before and this one, where a model may have put the path."""


def parse_files_reply(
    text: str,
    allowed: Sequence[str] = (),
    asked_for: str | None = None,
    present: Mapping[str, str] = _NONE,
) -> FilesReply:
    """Return the summary and files of a reply.

    `allowed` are the paths that may be written. They decide how to read a header that could be
    read in two ways, and they name the file of a reply whose one block gives no path. `asked_for`
    is the file of all blocks that give no path, if the prompt asked for parts of one file.
    `present` are the texts of the files that exist: of several blocks without a path for one file,
    the only one that defines all that the file does is meant. Raises
    `ReplyMalformed` if there is no block, if a block never closes, or if a block names no file.
    """
    repairs: list[str] = []
    answer = strip_reasoning(text)
    prose, blocks = _split(answer)
    if not blocks:
        prose, blocks = _split_unfenced(answer)
        repairs.append("search texts came without fences")
    if not blocks:
        raise ReplyMalformed("the reply holds no fenced block with a file")
    if len(allowed) == 1 and asked_for is None:
        blocks = _meant_blocks(blocks, allowed, present, repairs)
    files, named = _named_files(blocks, allowed, asked_for, repairs)
    summary = _summary(prose, {each.path for each in files})
    return FilesReply(summary, files, tuple(repairs), named)


def render_files_reply(summary: str, files: Iterable[ProposedFile]) -> str:
    """Return the reply that parses to this summary and these files; `summary` becomes one line."""
    parts = [f"Summary: {' '.join(summary.split())}".rstrip() + "\n"]
    parts += [f"\n{render_block(file)}" for file in files]
    return "".join(parts)


def render_files_example() -> str:
    """Return an example of the format, to be shown to a model."""
    # Names and content that fit no project, because small models copy whatever fits.
    one = ProposedFile("path/of/one.py", 'print("the whole content of this file")\n')
    other = ProposedFile("path/of/another.py", 'print("the whole content of that file")\n')
    return render_files_reply("Say what the change does.", (one, other))


def fence_for(text: str) -> str:
    """Return a fence longer than any that begins a line of `text`."""
    longest = max((len(fence) for fence in _FENCE_IN_TEXT.findall(text)), default=2)
    return "`" * max(3, longest + 1)


FENCED_BY_NATURE = (".md", ".markdown")
"""The ends of paths whose files may be one fenced part."""


def unwrap_fenced_content(content: str) -> tuple[str, bool]:
    """Return the content without the fence that wraps all of it, and whether there was a fence.

    This serves a file inside a JSON string, which a model may fence out of habit. A text that
    merely begins and ends with fenced parts is left as it is.
    """
    text = content.strip()
    if not text.startswith("```"):
        return content, False
    try:
        _, blocks = _split(text)
    except ReplyMalformed:
        return content, False
    # If any text were outside the block, the content would not equal the text between the fences.
    _, _, rest = text.partition("\n")
    if len(blocks) != 1 or rest.rpartition("\n")[0] != blocks[0].content.removesuffix("\n"):
        return content, False
    return blocks[0].content, True


def fenced_to_stay(path: str, content: str) -> str:
    """Return what a reply has to hold for the file at `path` to get this content exactly.

    A content that is one fenced part as a whole would lose its fence, and gets another.
    """
    if path.endswith(FENCED_BY_NATURE) or not unwrap_fenced_content(content)[1]:
        return content
    fence = fence_for(content)
    wrapped = f"{fence}\n{content}{fence}\n"
    return wrapped if unwrap_fenced_content(wrapped) == (content, True) else content


def _split(text: str) -> tuple[str, list[_Block]]:
    """Return the text before the first block, and all blocks."""
    prose_start, prose_end = 0, len(text)
    blocks: list[_Block] = []
    opening: re.Match[str] | None = None
    depth, nested, closed = 0, False, 0
    for mark in _MARK.finditer(text):
        if opening is None and mark["fence"] is None:
            prose_start, prose_end, blocks = mark.end(), len(text), []  # so far only reasoning
        elif opening is None:
            opening, depth, nested = mark, 1, False
            if not blocks:
                prose_end = mark.start()
        elif mark["fence"] is None or len(mark["fence"]) < len(opening["fence"]):
            continue
        elif mark["info"].strip():
            # A fence with a header that is as long as the block's own opens a nested block.
            depth, nested = depth + 1, True
        elif depth > 1:
            depth -= 1  # A bare fence closes the nested block.
        else:
            info, content = opening["info"].strip(), _content(text, opening, mark)
            blocks.append(_Block(info, content, nested, text[closed : opening.start()]))
            closed = mark.end()
            opening = None
    if opening is not None:
        raise ReplyMalformed(
            f"the block opened by {opening[0].strip()[:80]!r} never closes; if the file holds "
            "fences itself, open and close its block with a longer one"
        )
    return text[prose_start:prose_end], blocks


def _split_unfenced(text: str) -> tuple[str, list[_Block]]:
    """Return the text before the first search text that is in no fence, and blocks of them all.

    Search texts with nothing between them are in one block.
    """
    spans: list[tuple[int, int]] = []
    begun: int | None = None
    for mark in _SEARCH_MARK.finditer(text):
        if mark["closing"] is None:
            begun = mark.start() if begun is None else begun
        elif begun is not None:
            if spans and not text[spans[-1][1] : begun].strip():
                begun = spans.pop()[0]
            spans.append((begun, mark.end()))
            begun = None
    blocks: list[_Block] = []
    end = 0
    for start, stop in spans:
        blocks.append(_Block("", f"{text[start:stop]}\n", nested=False, above=text[end:start]))
        end = stop
    return text[: spans[0][0]] if spans else text, blocks


def _content(text: str, opening: re.Match[str], closing: re.Match[str]) -> str:
    content = text[opening.end() + 1 : closing.start()]
    if text.startswith(f"\n{NO_FINAL_NEWLINE}", closing.end()):
        return content.removesuffix("\n")
    return content


def _named_files(
    blocks: Sequence[_Block], allowed: Sequence[str], asked_for: str | None, repairs: list[str]
) -> tuple[tuple[ProposedFile, ...], bool]:
    """Return the files of the blocks, and whether every block names its file."""
    headers = [(_header_of(block, allowed, repairs), block) for block in blocks]
    if len(headers) > 1:
        headers = [each for each in headers if not _is_commentary(*each)]
        if len(headers) < len(blocks):
            repairs.append("blocks with shell commands name no file and were left out")
    files: list[ProposedFile] = []
    only = allowed[0] if len(headers) == len(allowed) == 1 else asked_for
    for header, block in headers:
        path = only if header.path is None else header.path
        if path is None:
            raise ReplyMalformed(
                f"the block opened by {f'```{block.info}'[:80]!r} names no file: "
                "write its path after the opening fence"
            )
        if header.path is None:
            repairs.append(f"the block names no file; read as {path}, the only one allowed")
        if block.nested:
            repairs.append(f"{path} holds fences as long as its own; read as nested")
        content = block.content
        if read_header(block.info, allowed).path is None:
            content = _without_heading(block, path)
        if content != block.content:
            repairs.append(f"the first line of {path} named it or its language, and was left out")
        is_bare = header.path is None
        files.append(ProposedFile(path, content, header.form, header.name, is_bare))
    if not files:
        raise ReplyMalformed("no block of the reply names a file")
    return tuple(files), all(header.path is not None for header, _ in headers)


def _meant_blocks(
    blocks: list[_Block], allowed: Sequence[str], present: Mapping[str, str], repairs: list[str]
) -> list[_Block]:
    """Return the blocks without those that only show something, such as tests of the one file."""
    bare = [each for each in blocks if _header_of(each, allowed, []).path is None]
    if len(bare) < 2:
        return blocks
    names = _defined(allowed[0], present.get(allowed[0], ""))
    whole = [each for each in bare if names <= _defined(allowed[0], each.content)]
    if not names or len(whole) != 1:
        return blocks
    repairs.append(f"of {len(bare)} blocks without a path, the one that defines {min(names)}")
    return [each for each in blocks if each not in bare or each is whole[0]]


def _defined(path: str, text: str) -> frozenset[str]:
    """Return the names of the definitions of a text, members qualified."""
    return frozenset(each.name for each in outline_of(path, text))


def _without_heading(block: _Block, path: str) -> str:
    """Return the content of a file without a first line that should have been above it.

    That is a header of search texts, and in a file of code its own path, which is no comment, or
    the name of its language, which the fence lacks. Where the block's opening names the file, its
    content is meant byte for byte.
    """
    line, _, rest = block.content.partition("\n")
    if read_header(line.strip(), (path,)) == Header(path, Form.SEARCH):
        return rest
    language = language_of(path)
    if language is None:
        return block.content
    said = line.strip().strip("`*").removesuffix(":").strip("`*")
    is_name = not block.info and said.casefold() == language.name.casefold()
    return rest if said == path or is_name else block.content


def _header_of(block: _Block, allowed: Sequence[str], repairs: list[str]) -> Header:
    """Return what the header of a block names; without a path, what is written beside the block.

    That is a heading above it or a comment as its first line, where only one allowed path is there.
    """
    header = read_header(block.info, allowed)
    if header.path is not None or len(block.above) > _LONGEST_HEADING:
        return header
    lines = [*block.above.splitlines(), block.content.partition("\n")[0]]
    said = (_without_marks(line) for line in lines)
    found = {each.removeprefix("edit ") for each in said}.intersection(allowed)
    if len(found) != 1:
        return header
    (path,) = found
    repairs.append(f"the path {path} stood beside its block")
    return replace(header, path=path)


def _without_marks(line: str) -> str:
    """Return what a heading says, without the marks before and behind it."""
    start = _HEADING_MARKS.match(line)
    return line[start.end() if start else 0 :].rstrip(_MARKS_BEHIND)


def _is_commentary(header: Header, block: _Block) -> bool:
    """Return whether the block shows how to run something; models like to add such blocks."""
    return header.path is None and block.info.lower() in _COMMENTARY


@dataclass(frozen=True, slots=True)
class ImpossibleClaim:
    """Hold what a reply says that gives no files because the order cannot be done.

    `command` is the command or test that contradicts the order; `None` if the reply has no field
    for it, or nothing in the field.
    """

    reason: str
    command: str | None = None


_CLAIM = re.compile(r"(?:```\w*\n)?[*_`]{0,3}IMPOSSIBLE[*_]{0,2}:(?P<reason>.*)", re.DOTALL)
_COMMAND = re.compile(r"^command:(.*)$", re.IGNORECASE | re.MULTILINE)
_CLAIM_KEYS = frozenset({"impossible", "summary", "writes"})
_MAX_CLAIM = 1_500
"""A claim may be longer. The next prompt of the planner, and records, have this much of it."""


def parse_claim(reply: str) -> ImpossibleClaim | None:
    """Return the claim in a reply that the order cannot be done; `None` for any other reply.

    In JSON it is the key `impossible` beside no files, in text a first line that begins with
    `IMPOSSIBLE:`.
    """
    if "impossible" not in reply[:MAX_REPLY_CHARACTERS].lower():
        return None
    try:
        text = strip_reasoning(reply).strip()
    except ReplyMalformed:
        return None
    if found := _CLAIM.match(text):
        command = _COMMAND.search(found["reason"])
        return _claim(_COMMAND.sub("", found["reason"]), command[1] if command else None)
    if not text.startswith(("{", "```json\n", "```\n")):
        return None  # a file of another format may have such a key
    try:
        value = parse_json(extract_json_object(text))
    except (ReplyMalformed, JsonProblem):
        return None
    if not isinstance(value, dict) or not value.keys() <= _CLAIM_KEYS or value.get("writes"):
        return None  # what it wants to write counts more
    match value.get("impossible"):
        case {"reason": str(reason), "command": str(named)}:
            return _claim(reason, named)
        case {"reason": str(reason)}:
            return _claim(reason, None)
        case _:
            return None


def _claim(reason: str, command: str | None) -> ImpossibleClaim | None:
    """Return the claim, bounded; `None` if it gives no reason."""
    lines = (each.strip() for each in reason.strip(" \t\r\n`*").split("\n"))
    reason = "\n".join(filter(None, lines))[:_MAX_CLAIM]
    named = (command or "").strip().strip("`").strip()[:_MAX_CLAIM]
    return ImpossibleClaim(reason, named or None) if reason else None


def render_block(file: ProposedFile) -> str:
    """Return the fenced block that holds a file, or a part of one."""
    header = render_header(Header(file.path, file.form, file.name))
    fence = fence_for(file.content)
    if not file.content or file.content.endswith("\n"):
        return f"{fence}{header}\n{file.content}{fence}\n"
    return f"{fence}{header}\n{file.content}\n{fence}\n{NO_FINAL_NEWLINE}\n"


def _summary(prose: str, paths: Container[str]) -> str:
    line = prose.lstrip().partition("\n")[0].rstrip()
    if line[:8].lower() == "summary:":
        return line[8:].strip()
    # It may be the heading of the first file.
    return "" if _without_marks(line) in paths else line.strip()
