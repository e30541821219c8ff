"""Puts TypeScript behind the protocol of languages."""

from __future__ import annotations

from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities.advice import Advice
from shared.languages.capabilities.examples import Examples
from shared.languages.capabilities.outlines import DEFINITION
from shared.languages.ecmascript.conformance.contracts import EcmaConformance
from shared.languages.ecmascript.edits import EcmaEdits
from shared.languages.ecmascript.notes import EcmaNotes
from shared.languages.ecmascript.plans import EcmaPlans
from shared.languages.tool_reports import Tool, ToolReports


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
        from shared.languages.typescript.public_names import public_names

        return public_names(text, with_tags=path.endswith(".tsx"))


def _tools() -> tuple[Tool, ...]:
    from shared.languages.typescript.tools import TOOLS

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
