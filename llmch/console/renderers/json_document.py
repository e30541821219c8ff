"""Renders a document as JSON, for programs. This module is pure."""

from __future__ import annotations

import json
from collections.abc import Callable

from llmch.console.clean import on_texts
from llmch.console.document import Document


def render_json_document(document: Document, protect: Callable[[str], str]) -> str:
    """Return the document as indented ASCII JSON that ends with a newline."""
    # Each text is protected before it is quoted: quoting could change how a secret is spelled.
    return json.dumps(on_texts(document.to_json(), protect), indent=2) + "\n"
