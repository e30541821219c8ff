"""How things are named in messages. Pure."""

from __future__ import annotations

from collections.abc import Collection

_SHOWN = 5


def printable(path: str) -> str:
    """Return `path`, or its spelling with escapes where it has what no line should hold."""
    return path if path.isprintable() else repr(path)


def name_paths(paths: Collection[str]) -> str:
    """Return the first few of `paths` as a list in words, and how many there are besides."""
    shown = ", ".join(printable(path) for path in list(paths)[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else shown
