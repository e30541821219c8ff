"""Renders lines as rich's texts, in colour and folded to the terminal's width.

This module is pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console as RichConsole
from rich.text import Text

from llmch.console.line import LaidOut, Line, Mark, Span

# On a narrower terminal the columns would leave too little room for the text, so the text is
# folded over the whole width with a small indent.
_MIN_COLUMNS = 60
_NARROW_INDENT = 4
_MIN_TEXT = 10  # with less room than this, the terminal folds better than we do


def styled(spans: Sequence[Span]) -> Text:
    """Return the spans as one text in their styles."""
    text = Text()
    for span in spans:
        text.append(span.text, style=str(span.style))
    return text


def folded(line: Line, laid_out: LaidOut, console: RichConsole) -> Text:
    """Return the line folded to the terminal's width, its further lines indented below its text.

    A command to copy is left to the terminal to fold: a copy must not hold our line breaks.
    """
    prefix, body = styled(laid_out.prefix), styled(laid_out.body)
    width, indent = console.width, prefix.cell_len
    if line.mark is Mark.COPY or indent + body.cell_len <= width:
        return prefix.append_text(body)
    if width < _MIN_COLUMNS and indent > 2 * _NARROW_INDENT:
        prefix, body, indent = Text(), prefix.append_text(body), _NARROW_INDENT
    if width - indent < _MIN_TEXT:
        return prefix.append_text(body)
    first, *rest = body.wrap(console, width - indent, overflow="fold")
    return Text("\n").join([prefix.append_text(first), *(_indented(each, indent) for each in rest)])


def _indented(text: Text, indent: int) -> Text:
    return Text(" " * indent).append_text(text)
