"""Renders any document as text, JSON or Markdown.

Text is not only printed but also laid out for a terminal, so its renderer returns lines. Any
other format is a function from a document to the one text that goes to standard output. To add
a format, add a file here, a member of `Format` and a case in `renderer_of`.

The Markdown is read by GitHub and GitLab, among others: a title may not become a heading, a link,
HTML, or a mention that notifies somebody.

All texts are taken for hostile: models and repositories wrote them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from llmch.console.document import (
    AlreadyShown,
    Block,
    Conclusion,
    Definition,
    Document,
    Item,
    Link,
    Paragraph,
    Patch,
    Problem,
    Remark,
    Rows,
    Section,
    Sign,
    Tone,
    Verbatim,
)
from llmch.console.line import Line, Mark, Weight, cell_width, on_texts, one_line
from shared.errors import ShownFinding

Protect = Callable[[str], str]
"""Removes control characters and secrets from a text."""

Renderer = Callable[[Document, Protect], str]


class Format(StrEnum):
    """Name the format in which a command's answer is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def renderer_of(output: Format) -> Renderer | None:
    """Return the renderer of this format; `None` for text, which is shown as lines."""
    match output:
        case Format.TEXT:
            return None
        case Format.JSON:
            return render_json_document
        case Format.MARKDOWN:
            return render_markdown_document


def render_json_document(document: Document, protect: Callable[[str], str]) -> str:
    """Return the document as indented ASCII JSON that ends with a newline."""
    # Each text is protected before it is quoted: quoting could change how a secret is spelled.
    return json.dumps(on_texts(document.to_json(), protect), indent=2) + "\n"


_SPECIAL = re.compile(r"[\\`*_\[\]|~#!$^{}]")
# These begin a list, a quote, a heading or a rule, and a number with a dot begins a list.
_STARTS = re.compile(r"^([-+=:>]|\d{1,9}(?=[.)]))")
# An empty comment keeps `@name` and `#12` from being links; it is not shown.
_MENTION = re.compile(r"([@#])(?=\w)")
# Hosts make links of these without any mark, and `Fixes URL` closes what the URL names.
_BARE_LINK = re.compile(r"\b(?:(?:https?|ftp):(?=//)|www(?=\.)|GH(?=-\d))", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[\w.~:/?&=%#-]+", re.ASCII)
_RUN = re.compile("`+")


def escaped(text: str) -> str:
    """Return `text` as one line of Markdown that shows it, and nothing else."""
    line = one_line(text).replace("\n", " ")
    plain = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = _SPECIAL.sub(r"\\\g<0>", plain)
    unlinked = _MENTION.sub(r"\1<!-- -->", _BARE_LINK.sub(r"\g<0><!-- -->", quoted))
    start = _STARTS.match(unlinked)
    if start is None:
        return unlinked
    first, rest = start[0], unlinked[start.end() :]
    return f"{first}\\{rest}" if first[0].isdigit() else f"\\{first}{rest}"


def code_span(text: str) -> str:
    """Return `text` as one line of code with its indentation.

    The fence is longer than any in the text.
    """
    line = one_line(text).replace("\n", " ")
    if not line:
        return ""
    line = " " * (len(text) - len(text.lstrip(" "))) + line
    fence = "`" * (_longest_run(line) + 1)
    padded = f" {line} " if line[0] == "`" or line[-1] == "`" else line
    return f"{fence}{padded}{fence}"


def code_block(text: str, language: str) -> str:
    """Return `text` as a block of code whose fence is longer than any in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)


def render_markdown_document(document: Document, protect: Callable[[str], str]) -> str:
    """Return the document as Markdown that ends with a newline."""
    # Each text is protected before it is escaped: invisible characters inside a fence of code, say,
    # would change how long the fence has to be.
    parts = _parts(on_texts(block, protect) for block in document.blocks())
    return "\n\n".join(filter(None, parts)) + "\n"


def _parts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph(lines) | Remark(lines):
                yield _paragraph(lines)
            case Link(words, url):
                yield f"{escaped(words)} {f'<{url}>' if _ADDRESS.fullmatch(url) else escaped(url)}"
            case Rows(rows, headings):
                yield _table(rows, headings)
            case Patch(text):
                yield code_block(text, "diff")
            case Verbatim(text, language):
                yield code_block(text, language)
            case Definition(term, lines, aside):
                yield f"**{escaped(term)}**{_aside(aside)}: {' '.join(map(escaped, lines))}"
            case Section():
                yield _section_markdown_document(block)
            case ShownFinding():
                yield _finding_markdown_document(block)
            case Conclusion(who, text, ok, aside):
                verdict = f"**{escaped(who)} {'PASS' if ok else 'FAIL'}** {escaped(text)}"
                yield f"{verdict}{_aside(aside)}"
            case Problem(message, hint):
                yield f"**error:** {_paragraph((message,))}"
                yield f"**hint:** {_paragraph((hint,))}" if hint else ""
            case AlreadyShown(inner):
                yield from _parts(inner)


def _paragraph(lines: Sequence[str]) -> str:
    """Return the lines, each on a line of its own; an empty one ends a paragraph.

    GitLab runs a line of a comment that begins with a slash as a command of whoever posts it.
    """
    paragraphs: list[list[str]] = [[]]
    for line in (escaped(part) for text in lines for part in text.split("\n")):
        if line:
            paragraphs[-1].append(f"\\{line}" if line.startswith("/") else line)
        else:
            paragraphs.append([])
    return "\n\n".join("\\\n".join(each) for each in paragraphs if each)


def _table(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> str:
    if not rows and not headings:
        return ""
    first = headings or [""] * len(rows[0])
    lines = (first, ["---"] * len(first), *rows)
    cells = ([each if line is lines[1] else escaped(each) for each in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _section_markdown_document(section: Section) -> str:
    named = " ".join(filter(None, (section.name, f"({section.word})" if section.word else "")))
    title = escaped(section.title)
    head = f"### {escaped(named)}: {title}" if named else f"### {title}"
    lines = [f"{head}{_aside(section.aside)}"]
    if section.items:
        lines += ["", *map(_item, section.items)]
    return "\n".join(lines)


def _item(item: Item) -> str:
    sign = f"`{item.sign.value}` " if item.sign is not Sign.NONE else ""
    text = code_span(item.text) if item.literal else escaped(item.text)
    return f"- {sign}{text}{_aside(item.aside)}"


def _finding_markdown_document(finding: ShownFinding) -> str:
    where = " ".join(filter(None, (finding.work_order, finding.field)))
    place = f" {escaped(where)}" if where else ""
    remedy = f" Remedy: {escaped(finding.remedy)}" if finding.remedy else ""
    return f"- **{escaped(finding.code)}**{place}: {escaped(finding.message)}{remedy}"


def _aside(text: str) -> str:
    return f" ({escaped(text)})" if text else ""


def render_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, every column as wide as its widest cell."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - cell_width(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def text_lines(blocks: Iterable[Block], protect: Callable[[str], str]) -> Iterator[Line]:
    """Return the lines that show the blocks; each line's weight says whether `--quiet` shows it."""
    for block in blocks:
        # Secrets are masked before a text is split into lines: a secret may have several lines.
        yield from _lines(on_texts(block, protect))


def _lines(block: Block) -> Iterator[Line]:
    match block:
        case Paragraph(lines):
            yield from _plain_lines(lines, Weight.VERDICT)
        case Link(words, url):
            yield from _plain_lines((f"{words} {url}",), Weight.VERDICT)
        case Remark(lines, is_detail):
            yield from _plain_lines(lines, Weight.VERBOSE if is_detail else Weight.NORMAL)
        case Rows(rows, headings):
            every = [headings, *rows] if headings else rows
            yield from _plain_lines(render_table(every), Weight.VERDICT)
        case Patch(text):
            yield from patch_lines(text)
        case Verbatim(text):
            yield from _plain_lines(text.removesuffix("\n").split("\n"), Weight.VERDICT)
        case Definition(term, lines, aside):
            yield Line(Mark.TEXT, term, aside=aside, weight=Weight.VERDICT)
            yield from (Line(Mark.ITEM, each, weight=Weight.VERDICT) for each in lines)
        case Section():
            yield from _section(block)
        case ShownFinding():
            yield from _finding(block)
        case Conclusion(who, text, ok, aside):
            mark, word = (Mark.DONE, "PASS") if ok else (Mark.FAILED, "FAIL")
            yield Line(mark, text, who, word, aside, Weight.VERDICT)
        case Problem(message, hint):
            yield from _marked(Mark.ERROR, message)
            if hint:
                yield from _marked(Mark.HINT, hint)
        case AlreadyShown():
            pass


def _plain_lines(texts: Iterable[str], weight: Weight) -> Iterator[Line]:
    return (Line(Mark.TEXT, part, weight=weight) for text in texts for part in text.split("\n"))


def patch_lines(text: str) -> Iterator[Line]:
    """Return the lines of a patch, each with the mark of what it is."""
    for line in text.removesuffix("\n").split("\n") if text else ():
        mark = next((mark for start, mark in _PATCH_MARKS if line.startswith(start)), Mark.TEXT)
        yield Line(mark, line, weight=Weight.VERDICT)


_PATCH_MARKS = (
    ("diff --git ", Mark.PATCHED_FILE),
    ("--- ", Mark.PATCHED_FILE),
    ("+++ ", Mark.PATCHED_FILE),
    ("@@ ", Mark.PATCHED_PLACE),
    ("+", Mark.ADDED),
    ("-", Mark.REMOVED),
)


_TONE_MARKS = {
    Tone.PLAIN: Mark.STEP,
    Tone.STRONG: Mark.HEAD,
    Tone.DONE: Mark.DONE,
    Tone.FAINT: Mark.SKIPPED,
}
_SIGN_MARKS = {
    Sign.NONE: Mark.ITEM,
    Sign.NEW: Mark.NEW,
    Sign.CHANGED: Mark.CHANGED,
    Sign.REMOVED: Mark.GONE,
    Sign.COMMAND: Mark.COPY,
    Sign.WARNING: Mark.DOUBT,
}


def _section(section: Section) -> Iterator[Line]:
    if section.name:
        mark = _TONE_MARKS[section.tone]
        yield Line(mark, section.title, section.name, section.word, section.aside)
    else:
        yield Line(Mark.TEXT, one_line(section.title), aside=section.aside)
    for item in section.items:
        mark = _SIGN_MARKS[item.sign]
        if item.literal and mark is Mark.ITEM:
            mark = Mark.QUOTE
        yield Line(mark, item.text, aside=item.aside)


def _finding(finding: ShownFinding) -> Iterator[Line]:
    mark = Mark.FAILED if finding.severity == "error" else Mark.WARNED
    field = f"{finding.field}: " if finding.field else ""
    yield Line(mark, f"{field}{finding.message}", finding.code, finding.work_order or "")
    if finding.remedy:
        yield Line(Mark.NEXT, finding.remedy)


def _marked(mark: Mark, text: str) -> Iterator[Line]:
    first, *rest = text.split("\n")
    yield Line(mark, first, weight=Weight.VERDICT)
    yield from (Line(Mark.TEXT, f"       {each}", weight=Weight.VERDICT) for each in rest)
