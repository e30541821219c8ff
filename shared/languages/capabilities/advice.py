"""Defines what a language tells the model that plans for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FILE: Final = "PLANNING.md"


@dataclass(frozen=True, slots=True)
class Advice:
    """Say where a language's rules for plans stand, and which words ask for them.

    `package` has the file `PLANNING.md`. A specification asks for the language by one of `words`,
    which are matched whole and with their letters as they are.
    """

    package: str
    words: tuple[str, ...]

    def is_asked_for(self, text: str) -> bool:
        """Return whether a specification names the language."""
        words = "|".join(map(re.escape, self.words))
        return re.search(rf"(?<!\w)(?:{words})(?!\w)", text) is not None

    def read(self) -> str:
        """Return the rules, as Markdown that begins with a heading of the second level."""
        from importlib import resources

        return resources.files(self.package).joinpath(_FILE).read_text("utf-8").strip()
