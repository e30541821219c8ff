"""Renders blocks as lines of text, for people. This module is pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from llmch.console.clean import on_texts, one_line
from llmch.console.document import (
    AlreadyShown,
    Block,
    Conclusion,
    Definition,
    Paragraph,
    Patch,
    Problem,
    Remark,
    Rows,
    RuleFinding,
    Section,
    Sign,
    Tone,
    Verbatim,
)
from llmch.console.line import Line, Mark, Weight
from llmch.console.table import render_table


def text_lines(blocks: Iterable[Block], protect: Callable[[str], str]) -> Iterator[Line]:
    """Return the lines that show the blocks; each line's weight says whether `--quiet` shows it."""
    for block in blocks:
        # Secrets are masked before a text is split into lines: a secret may have several lines.
        yield from _lines(on_texts(block, protect))


def _lines(block: Block) -> Iterator[Line]:
    match block:
        case Paragraph(lines):
            yield from _plain_lines(lines, Weight.VERDICT)
        case Remark(lines):
            yield from _plain_lines(lines, Weight.NORMAL)
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
        case RuleFinding():
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


def _finding(finding: RuleFinding) -> Iterator[Line]:
    mark = Mark.FAILED if finding.severity == "error" else Mark.WARNED
    field = f"{finding.field}: " if finding.field else ""
    yield Line(mark, f"{field}{finding.message}", finding.code, finding.work_order or "")
    if finding.remedy:
        yield Line(Mark.NEXT, finding.remedy)


def _marked(mark: Mark, text: str) -> Iterator[Line]:
    first, *rest = text.split("\n")
    yield Line(mark, first, weight=Weight.VERDICT)
    yield from (Line(Mark.TEXT, f"       {each}", weight=Weight.VERDICT) for each in rest)
