"""Reads the texts of manifests. Pure, and never raises: a manifest may hold anything."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shared.files import toml_text
from shared.projects.base import RepoFiles

Table = Mapping[str, object]

_MOST: Final = 200  # scripts or dependencies that are kept of one manifest
_LONGEST: Final = 300  # characters of a name or a command that are kept


def is_tracked(files: RepoFiles, path: str) -> bool:
    """Return whether there is a file at `path`, readable or not."""
    at = bisect_left(files.paths, path)
    return at < len(files.paths) and files.paths[at] == path


def first_tracked(files: RepoFiles, paths: Iterable[str]) -> str:
    """Return the first of `paths` at which there is a file, or ""."""
    return next((path for path in paths if is_tracked(files, path)), "")


def parse_json(text: str | None) -> Table | None:
    """Return the object in a JSON text; `None` where there is no text or no object."""
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def parse_toml(text: str | None) -> Table | None:
    """Return the tables of a TOML text; `None` where there is no text or it is not TOML."""
    if text is None:
        return None
    try:
        return toml_text.parse_toml(text)
    except (ValueError, RecursionError):
        return None


def table(parent: Table, *keys: str) -> Table:
    """Return the table that `keys` lead to; an empty one where there is none."""
    for key in keys:
        found = parent.get(key)
        parent = found if isinstance(found, dict) else {}
    return parent


def text_at(parent: Table, key: str) -> str:
    """Return the text at `key` as one printable line; "" where there is none."""
    found = parent.get(key)
    return one_line(found) if isinstance(found, str) else ""


def texts_at(parent: Table, key: str) -> Iterator[str]:
    """Yield the texts of the list at `key`, each as one printable line."""
    found = parent.get(key)
    yield from (one_line(each) for each in _listed(found) if isinstance(each, str))


def pairs_at(parent: Table, key: str) -> Iterator[tuple[str, str]]:
    """Yield the names in the table at `key` that have a text, with the text."""
    for name, value in table(parent, key).items():
        if isinstance(value, str):
            yield one_line(name), one_line(value)


def bounded(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repetition, empty ones, and what exceeds the bound."""
    return tuple(dict.fromkeys(filter(None, names)))[:_MOST]


def one_line(text: str) -> str:
    """Return a text as one line of bounded length that is safe to show on a terminal."""
    words = " ".join(text[: 2 * _LONGEST].split())
    shown = "".join(each for each in words if each.isprintable())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def unreadable(path: str) -> str:
    """Return the note on a manifest that cannot be read."""
    return f"{path} cannot be read, so nothing is run for it: `--verify CMD` names a command"


def _listed(value: object) -> list[object]:
    return value[:_MOST] if isinstance(value, list) else []
