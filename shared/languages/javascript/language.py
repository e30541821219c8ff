"""Puts JavaScript behind the protocol of languages."""

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
from shared.languages.ecmascript.reader import NodeCommands
from shared.languages.javascript.failures import NodeFailures
from shared.languages.javascript.packages import NodeDependencies, NodePackages
from shared.languages.tool_reports import Tool, ToolReports


class JavaScriptOutlines:
    """Implement `Outliner` for JavaScript."""

    name: Final = "JavaScript"
    outlined: Final = (".js", ".mjs", ".cjs", ".jsx")
    fence: Final = "javascript"
    comment: Final = "//"
    file_noun: Final = "JavaScript file"
    definition: Final = DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports; nothing of code that a tool has made small."""
        from shared.languages.javascript.public_names import public_names

        return () if path.endswith(".min.js") else public_names(text)


def _tools() -> tuple[Tool, ...]:
    from shared.languages.javascript.tools import TOOLS

    return TOOLS


JAVASCRIPT: Final = Language(
    JavaScriptOutlines(),
    commands=NodeCommands(),
    edits=EcmaEdits(JavaScriptOutlines.outlined),
    notes=EcmaNotes(),
    conformance=EcmaConformance(JavaScriptOutlines.outlined),
    plans=EcmaPlans(JavaScriptOutlines.name, JavaScriptOutlines.outlined, reads_commands=True),
    packages=NodePackages(),
    dependencies=NodeDependencies(),
    failures=NodeFailures(),
    reports=ToolReports(_tools),
    advice=Advice("shared.languages.javascript", ("JavaScript", "Node.js", "npm", ".js", ".mjs")),
    examples=Examples("shared.languages.javascript"),
)
