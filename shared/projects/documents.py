"""Says whether a tree has anything yet that commands could verify. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

_SUFFIXES: Final = (".md", ".rst", ".adoc", ".txt")
_NAMES: Final = (
    "readme", "license", "licence", "copying", "notice", "changelog", "authors", "contributing",
    "code_of_conduct", "security",
)  # fmt: skip
# What `llmch init` writes.
_OWN: Final = frozenset({"llmch.toml", "spec.yaml", "spec.yml", "spec.json"})
_LISTS: Final = ("requirements", "constraints")  # lists of packages that end in .txt


def holds_only_documents(paths: Iterable[str]) -> bool:
    """Return whether none of the files is code or a manifest: texts, licences and settings alone.

    Hidden files are settings of other tools. Anything that is not known for a document counts as
    code, so that a tree is never taken for an empty one by mistake.
    """
    return all(map(_is_document, paths))


def _is_document(path: str) -> bool:
    place = PurePosixPath(path)
    name = place.name.lower()
    if place.parts[0].startswith("."):
        return True
    if name.startswith(_LISTS) or name == "cmakelists.txt":
        return False
    if len(place.parts) == 1 and (path in _OWN or name.partition(".")[0] in _NAMES):
        return place.suffix.lower() in ("", *_SUFFIXES) or path in _OWN
    return place.suffix.lower() in _SUFFIXES
