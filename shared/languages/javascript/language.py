"""Puts JavaScript among the languages of which an outline is shown."""

from __future__ import annotations

from typing import Final

from shared.languages.base import Language


class JavaScriptOutlines:
    """Implement `Outliner` for JavaScript."""

    name: Final = "JavaScript"
    outlined: Final = (".js", ".mjs", ".cjs", ".jsx")
    fence: Final = "javascript"
    comment: Final = "//"

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports; nothing of code that a tool has made small."""
        from shared.languages.javascript.public_names import public_names

        return () if path.endswith(".min.js") else public_names(text)


JAVASCRIPT: Final = Language(JavaScriptOutlines())
