"""Puts Go among the languages of which an outline is shown."""

from __future__ import annotations

import re
from typing import Final

from shared.languages.base import Language
from shared.languages.capabilities.outlines import DEFINITION
from shared.languages.locked_packages import LockedPackages

_REFUSED = re.compile(r"missing go\.sum entry|module lookup disabled by GOPROXY=off")


class GoOutlines:
    """Implement `Outliner` for Go."""

    name: Final = "Go"
    outlined: Final = (".go",)
    fence: Final = "go"
    comment: Final = "//"
    file_noun: Final = "Go file"
    definition: Final = DEFINITION

    def public_names(self, path: str, text: str) -> tuple[str, ...] | None:
        """Return what the file exports; nothing of a file of tests."""
        from shared.languages.go.public_names import public_names

        return () if path.endswith("_test.go") else public_names(text)


GO: Final = Language(GoOutlines(), packages=LockedPackages("go.mod", _REFUSED))
