"""TypeScript as a member of the registry."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities import DEFINITION, Advice, Examples
from shared.languages.ecmascript.node_language import (
    EcmaConformance,
    EcmaEdits,
    EcmaNotes,
    EcmaPlans,
)
from shared.languages.language_tools import LESS_INDENTED, Tool, ToolReports


class TypeScriptOutlines:
    """Implement `Outliner` for TypeScript."""

    name: Final = "TypeScript"
    outlined: Final = (".ts", ".mts", ".cts", ".tsx")
    fence: Final = "typescript"
    comment: Final = "//"
    file_noun: Final = "TypeScript file"
    definition: Final = DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports or declares."""
        from shared.languages.ecmascript.exports import typescript_names

        return typescript_names(text, with_tags=path.endswith(".tsx"))


def _tools() -> tuple[Tool, ...]:

    return TOOLS


TYPESCRIPT: Final = Language(
    TypeScriptOutlines(),
    edits=EcmaEdits(TypeScriptOutlines.outlined),
    notes=EcmaNotes(),
    conformance=EcmaConformance(TypeScriptOutlines.outlined),
    plans=EcmaPlans(TypeScriptOutlines.name, TypeScriptOutlines.outlined, reads_commands=False),
    reports=ToolReports(_tools),
    advice=Advice("shared.languages.typescript", ("TypeScript", ".ts", ".tsx")),
    examples=Examples("shared.languages.typescript"),
)


TOOLS: Final = (
    Tool(
        "tsc",
        head=re.compile(
            r"(?P<path>[^\s(:]+)[(:](?P<line>\d+)[,:]\d+(?:\):| -) (?P<message>error TS.*)$"
        ),
        end=LESS_INDENTED,
        told=re.compile(r"(?P<told>  \S.*)$"),
    ),
)
