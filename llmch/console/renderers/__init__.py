"""Defines the output formats; each of them can render any document.

Text is not only printed but also laid out for a terminal, so its renderer returns lines. Any
other format is a function from a document to the one text that goes to standard output. To add
a format, add a file here, a member of `Format` and a case in `renderer_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from llmch.console.document import Document

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
            from llmch.console.renderers.json_document import render_json_document

            return render_json_document
        case Format.MARKDOWN:
            from llmch.console.renderers.markdown_document import render_markdown_document

            return render_markdown_document
