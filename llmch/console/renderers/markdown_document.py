"""Renders a document as Markdown, for comments and the summaries of CI jobs. This module is pure.

All texts are taken for hostile: models and repositories wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from llmch.console.clean import on_texts
from llmch.console.document import (
    AlreadyShown,
    Block,
    Conclusion,
    Definition,
    Document,
    Item,
    Paragraph,
    Patch,
    Problem,
    Remark,
    Rows,
    RuleFinding,
    Section,
    Sign,
    Verbatim,
)
from llmch.console.renderers.markdown_text import code_block, code_span, escaped


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
            case Rows(rows, headings):
                yield _table(rows, headings)
            case Patch(text):
                yield code_block(text, "diff")
            case Verbatim(text, language):
                yield code_block(text, language)
            case Definition(term, lines, aside):
                yield f"**{escaped(term)}**{_aside(aside)}: {' '.join(map(escaped, lines))}"
            case Section():
                yield _section(block)
            case RuleFinding():
                yield _finding(block)
            case Conclusion(who, text, ok, aside):
                verdict = f"**{escaped(who)} {'PASS' if ok else 'FAIL'}** {escaped(text)}"
                yield f"{verdict}{_aside(aside)}"
            case Problem(message, hint):
                yield f"**error:** {_paragraph((message,))}"
                yield f"**hint:** {_paragraph((hint,))}" if hint else ""
            case AlreadyShown(inner):
                yield from _parts(inner)


def _paragraph(lines: Sequence[str]) -> str:
    """Return the lines, each on a line of its own; an empty one ends a paragraph."""
    paragraphs: list[list[str]] = [[]]
    for line in (escaped(part) for text in lines for part in text.split("\n")):
        if line:
            paragraphs[-1].append(line)
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


def _section(section: Section) -> str:
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


def _finding(finding: RuleFinding) -> str:
    where = " ".join(filter(None, (finding.work_order, finding.field)))
    place = f" {escaped(where)}" if where else ""
    remedy = f" Remedy: {escaped(finding.remedy)}" if finding.remedy else ""
    return f"- **{escaped(finding.code)}**{place}: {escaped(finding.message)}{remedy}"


def _aside(text: str) -> str:
    return f" ({escaped(text)})" if text else ""
