"""Reads requirements: what a line may say, and the files that list them. Nothing is run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.errors import InvalidInput
from shared.languages.capabilities.dependencies import ManifestFiles

# A name, extras, versions, a marker and hashes, as in PEP 508 but without `@ URL`. No other
# option of pip's requirements files is accepted, because those fetch or run things.
REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)"
    r"(\s*\[[A-Za-z0-9._,\s-]*\])?"
    r"\s*\(?(?P<versions>(\s*(===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?)*)\s*\)?"
    r"(?P<marker>\s*;[\w\s.'\"<>=!(),-]+?)?"
    r"(?P<hashes>(\s+--hash=sha256:[0-9a-f]{64})*)\s*"
)
_LONGEST: Final = 20_000  # a requirement with the hashes of a hundred wheels fits
_MOST_INCLUDES: Final = 20
_INCLUDE: Final = re.compile(r"(?:-r|--requirement|-c|--constraint)[\s=]+(?P<file>\S+)")
# The project itself, as one installs it to work on it. Commands find its code in the workspace.
_ITSELF: Final = re.compile(r"(?:-e\s*|--editable[\s=]+)?\.(?:\[[\w,\s.-]*\])?")

_LISTS: Final = re.compile(
    r"requirements\.txt|requirements[-_.](?:dev|test|tests|testing)\.txt"
    r"|(?:dev|test|tests)[-_.]requirements\.txt"
    r"|requirements/(?:base|main|dev|test|tests|testing)\.txt"
)


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold a requirement as it is written, and the place that declares it."""

    place: str
    line: str
    constraint: bool = False

    @property
    def name(self) -> str:
        """Return the package's name as written; "" where the line is not a requirement."""
        match = REQUIREMENT.fullmatch(self.line)
        return match["name"] if match else ""


def check_declared(declared: Declared) -> Declared:
    """Return what was given. Raises `InvalidInput` for more than a name and versions."""
    if len(declared.line) > _LONGEST or not REQUIREMENT.fullmatch(declared.line):
        raise InvalidInput(
            f"{declared.place}: cannot install {declared.line[:200]!r}",
            "declare it by name and version, or prepare an environment and pass --python",
        )
    return declared


def from_lists(files: ManifestFiles) -> Iterator[Declared]:
    """Yield what the usual lists of requirements declare, with the lists that they include.

    Raises `InvalidInput` for an include that leads out of the repo or to no file.
    """
    seen: set[tuple[str, bool]] = set()
    for path in files.paths:
        if _LISTS.fullmatch(path):
            yield from _from_list(files, path, seen, constraint=False)


def _from_list(
    files: ManifestFiles, path: str, seen: set[tuple[str, bool]], *, constraint: bool
) -> Iterator[Declared]:
    if (path, constraint) in seen or len(seen) > _MOST_INCLUDES:
        return
    seen.add((path, constraint))
    joined = (files.text(path) or "").replace("\\\n", " ")
    for number, line in enumerate(joined.splitlines(), start=1):
        requirement = re.sub(r"(^|\s)#.*", "", line).strip()
        include = _INCLUDE.fullmatch(requirement)
        if include:
            target = _included(files, path, number, include["file"])
            only = constraint or requirement.startswith(("-c", "--c"))
            yield from _from_list(files, target, seen, constraint=only)
        elif requirement and not _ITSELF.fullmatch(requirement):
            yield Declared(f"{path}:{number}", requirement, constraint)


def _included(files: ManifestFiles, path: str, number: int, named: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), named))
    outside = named.startswith("/") or target.startswith("../") or ":" in named
    if outside or files.text(target) is None:
        reason = "leads out of the repo" if outside else "names no file of the repo"
        raise InvalidInput(
            f"{path}:{number}: the include {named[:200]!r} {reason}",
            "correct it, or prepare an environment and pass --python",
        )
    return target
