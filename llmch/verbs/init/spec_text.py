"""Renders the specification that `llmch init` writes, in the form that the file's suffix asks for.

Pure. YAML and JSON give each requirement an id of its own. In a text, ids are derived from words.
"""

from __future__ import annotations

import json
from typing import Final

from llmch.verbs.init.printable import one_line, quoted
from planner.spec.placeholders import CONSTRAINTS, REQUIREMENTS, SUMMARY

_MAX_NAME: Final = 100
_REQUIREMENTS: Final = {f"REQ-{number}": text for number, text in enumerate(REQUIREMENTS, 1)}


def render_spec(name: str, suffix: str) -> str:
    """Return a specification of the product `name`, with words to be replaced by one's own."""
    title = one_line(name)[:_MAX_NAME].strip() or "product"
    match suffix.lower():
        case ".yaml" | ".yml":
            return _yaml(title)
        case ".json":
            return _json(title)
        case _:
            return _markdown(title)


def _yaml(title: str) -> str:
    entries = (f"  - id: {each}\n    text: {quoted(text)}" for each, text in _REQUIREMENTS.items())
    return "\n".join(
        [
            "# What is to be built. Replace the words in quotes with your own.",
            f"name: {quoted(title)}",
            f"summary: {quoted(SUMMARY)}",
            "",
            "# Orders and commits name these ids. An id stays the same when its text changes.",
            "requirements:",
            *entries,
            "",
            "# This list can be left out.",
            "constraints:",
            *(f"  - {quoted(each)}" for each in CONSTRAINTS),
            "",
        ]
    )


def _json(title: str) -> str:
    document = {
        "name": title,
        "summary": SUMMARY,
        "requirements": [{"id": each, "text": text} for each, text in _REQUIREMENTS.items()],
        "constraints": list(CONSTRAINTS),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _markdown(title: str) -> str:
    parts = [f"# {title}", SUMMARY]
    parts += ["## Requirements", "\n".join(f"- {each}" for each in _REQUIREMENTS.values())]
    parts += ["## Constraints", "\n".join(f"- {each}" for each in CONSTRAINTS)]
    return "\n\n".join(parts) + "\n"
