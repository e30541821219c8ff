"""Makes the answer of a call out of a document or an error; secrets are masked in it."""

from __future__ import annotations

import json
import os

from llmch.console.console import protection
from llmch.console.document import Document, ErrorDocument
from llmch.console.renderers.json_document import render_json_document
from llmch.console.renderers.markdown_document import render_markdown_document
from llmch.verbs.mcp.messages import Answered
from shared.errors import LlmchError
from shared.secrets.redaction import masking

_MOST_TEXT = 20_000  # characters; the document has all of it


def answer_of(document: Document, *, is_error: bool = False) -> Answered:
    """Return a document as an answer: as JSON, and as Markdown of a bounded length."""
    protect = protection(masking(os.environ))
    text = render_markdown_document(document, protect)
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]}\n\n(The text goes on; the structured content has all of it.)\n"
    return Answered(json.loads(render_json_document(document, protect)), text, is_error)


def error_answer(error: LlmchError, remark: str = "") -> Answered:
    """Return an error as an answer; `remark` is added to its message."""
    message = f"{error.message} ({remark})" if remark else error.message
    code = error.exit_code
    return answer_of(ErrorDocument(message, error.hint, code, code.name), is_error=True)
