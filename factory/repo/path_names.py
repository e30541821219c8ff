"""Renders paths for messages. Pure."""

from __future__ import annotations

from collections.abc import Collection

_SHOWN = 5


def printable(path: str) -> str:
    """Return `path`, with escapes and in quotes if it contains an unprintable character."""
    return path if path.isprintable() else repr(path)


def name_paths(paths: Collection[str]) -> str:
    """Return the first few of `paths` separated by commas, and the number of the others."""
    shown = ", ".join(printable(path) for path in list(paths)[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else shown
