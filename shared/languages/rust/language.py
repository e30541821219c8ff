"""Puts Rust among the languages of which an outline is shown."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities.outlines import DEFINITION
from shared.languages.locked_packages import LockedPackages

_REFUSED = re.compile(
    r"no matching package named|attempting to make an HTTP request, but --offline"
)


class RustOutlines:
    """Implement `Outliner` for Rust."""

    name: Final = "Rust"
    outlined: Final = (".rs",)
    fence: Final = "rust"
    comment: Final = "//"
    file_noun: Final = "Rust file"
    definition: Final = DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return the public items of the file, without its tests."""
        from shared.languages.rust.public_names import public_names

        return public_names(text)


RUST: Final = Language(RustOutlines(), packages=LockedPackages("Cargo.toml", _REFUSED))
