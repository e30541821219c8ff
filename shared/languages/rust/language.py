"""Puts Rust among the languages of which an outline is shown."""

from __future__ import annotations

from typing import Final

from shared.languages.base import Language


class RustOutlines:
    """Implement `Outliner` for Rust."""

    name: Final = "Rust"
    outlined: Final = (".rs",)
    fence: Final = "rust"
    comment: Final = "//"

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return the public items of the file, without its tests."""
        from shared.languages.rust.public_names import public_names

        return public_names(text)


RUST: Final = Language(RustOutlines())
