"""Finds what a program needs to be read where it is a link that leads out of its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PACKAGES: Final = "node_modules"  # packages in it use each other
_MOST_LINKS: Final = 8
_SHOWN: Final = tuple(map(Path, ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/nix/store")))


def needed_beside(program: Path) -> tuple[Path, ...]:
    """Return the folders outside the program's own that have to be readable to start it.

    They are where its links lead, with the packages or the installation around it. The result is
    empty for a program that is no link, and for one that leads into the system's own folders.
    """
    shown = [*_SHOWN, program.parent, Path(os.path.realpath(program.parent))]
    needed: list[Path] = []
    for place in _places(program):
        if not any(place.is_relative_to(each) for each in (*shown, *needed)):
            needed.append(_around(place, program.parent))
    return tuple(needed)


def _places(program: Path) -> Iterator[Path]:
    """Yield the files that the links of a program name, one after the other."""
    place = program
    for _ in range(_MOST_LINKS):
        try:
            target = place.readlink()
        except OSError:
            return
        place = Path(os.path.realpath(place.parent / target.parent), target.name)
        yield place


def _around(place: Path, folder: Path) -> Path:
    """Return the folder that a program at `place` needs: its packages, or what it is part of."""
    parts = place.parts
    if _PACKAGES in parts:
        return Path(*parts[: parts.index(_PACKAGES) + 1])
    installation = place.parent.parent
    is_part = place.parent.name in ("bin", "Scripts", "libexec")
    # The folder of many installations, such as a home, is more than one program needs.
    return installation if is_part and not folder.is_relative_to(installation) else place.parent
