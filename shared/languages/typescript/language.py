"""Puts TypeScript among the languages of which an outline is shown."""

from __future__ import annotations

from typing import Final

from shared.languages.base import Language


class TypeScriptOutlines:
    """Implement `Outliner` for TypeScript."""

    name: Final = "TypeScript"
    outlined: Final = (".ts", ".mts", ".cts", ".tsx")
    fence: Final = "typescript"
    comment: Final = "//"

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports or declares."""
        from shared.languages.typescript.public_names import public_names

        return public_names(text, with_tags=path.endswith(".tsx"))


TYPESCRIPT: Final = Language(TypeScriptOutlines())
