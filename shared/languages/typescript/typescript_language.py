"""Registers TypeScript."""

from __future__ import annotations

from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities import Advice, Examples, Outlines
from shared.languages.ecmascript import exports, node_commands
from shared.languages.ecmascript.node_language import (
    EcmaConformance,
    EcmaEdits,
    EcmaNotes,
    EcmaPlans,
)
from shared.languages.language_tools import ToolReports


class _TypeScriptNames:
    """Implement `PublicNames` for TypeScript."""

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        return exports.typescript_names(text, with_tags=path.endswith(".tsx"))


_SUFFIXES: Final = (".ts", ".mts", ".cts", ".tsx")

TYPESCRIPT: Final = Language(
    Outlines("TypeScript", _SUFFIXES, "typescript", _TypeScriptNames()),
    contracted=_SUFFIXES,
    edits=EcmaEdits(_SUFFIXES),
    notes=EcmaNotes(),
    conformance=EcmaConformance(_SUFFIXES),
    plans=EcmaPlans("TypeScript", _SUFFIXES, reads_commands=False),
    reports=ToolReports(lambda: node_commands.TSC_TOOLS),
    advice=Advice("shared.languages.typescript", ("TypeScript", ".ts", ".tsx")),
    examples=Examples("shared.languages.typescript"),
)
