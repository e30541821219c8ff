"""Reads paths: absolute ones, and folders inside the target repo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

from shared.files.paths import PathProblem, check_path, is_git_path
from shared.settings.values.given import Given
from shared.settings.values.texts import read_texts
from shared.settings.values.words import read_text

Links: TypeAlias = tuple[str, ...] | Literal["auto"]


def read_path(given: Given) -> Path:
    """Return an absolute path; `~` is the home folder."""
    return _absolute(read_text(given), given)


def read_paths(given: Given) -> tuple[Path, ...]:
    """Return absolute paths from a list, or from a text with the separator of `PATH`."""
    return tuple(_absolute(each, given) for each in read_texts(given, os.pathsep))


def read_folders(given: Given) -> tuple[str, ...]:
    """Return folders inside the target repo, as normalised relative paths."""
    folders = []
    for text in read_texts(given, ","):
        try:
            folder = check_path(text.rstrip("/"))
        except PathProblem:
            folder = ""
        if not folder or is_git_path(folder):
            raise given.refused("folders inside the repo, such as .venv")
        folders.append(folder)
    return tuple(folders)


def read_links(given: Given) -> Links:
    """Return folders inside the target repo, or `auto`; `none` stands for no folder."""
    if given.value == "auto":
        return "auto"
    return () if given.value == "none" else read_folders(given)


def _absolute(text: str, given: Given) -> Path:
    try:
        return given.folder / Path(text).expanduser()
    except RuntimeError:  # `~name` names a user that does not exist
        raise given.refused("a path") from None
