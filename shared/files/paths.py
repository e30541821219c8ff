"""Checks the relative paths that models write, and folds paths as file systems do.

This module is pure: it never looks at a disk.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Final

# The script that verifies a whole project, where the project has it.
VERIFY_SCRIPT: Final = "scripts/verify.sh"

# A path of this form needs no normalising and no refusing. Nearly every path has this form.
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*+(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*+)*+")
_GLOB = re.compile(r"[*?\[]")
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

# Unicode's default-ignorable code points: HFS+ drops some of them when it compares names, and
# no honest path has a component that becomes `.git` when they are dropped.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_GIT_NAMES = frozenset({".git", "git~1"})


class PathProblem(ValueError):
    """Say that a path breaks the grammar; the message says why and can follow the path itself."""


def check_path(text: str) -> str:
    """Return `text` as a normalised path inside the repo (`./a`, `src/../a` and `src//a` pass).

    Raises `PathProblem` for a path that is empty, absolute or `.`, leads outside by `..`, ends in
    a slash, or holds a backslash, a drive letter, a NUL, a control character or a surrogate.
    """
    if _PLAIN.fullmatch(text):
        return text
    if problem := _refusal(text):
        raise PathProblem(problem)
    normal = posixpath.normpath(text)
    if normal == ".":
        raise PathProblem("names the root of the repo, not a file")
    if normal == ".." or normal.startswith("../"):
        raise PathProblem("leads outside the repo by `..`")
    if _DRIVE.match(normal):
        raise PathProblem("has a drive letter: give it relative to the root of the repo")
    return normal


def can_be_named(text: str) -> bool:
    """Return whether `text` is a normalised path inside the repo, so that an order can name it."""
    try:
        return check_path(text) == text
    except PathProblem:
        return False


def _refusal(text: str) -> str | None:
    if not text:
        return "is empty"
    if "\0" in text:
        return "holds a NUL"
    if _CONTROL.search(text):
        return "holds a control character"
    if _SURROGATE.search(text):
        return "holds a lone surrogate, which no file name can"
    if "\\" in text:
        return "has a backslash: separate folders by `/`"
    if text.startswith("/"):
        return "is absolute: give it relative to the root of the repo"
    if text.endswith("/"):
        return "ends in a slash: name a file, not a folder"
    return None


def glob_characters(path: str) -> str:
    """Return those of `*`, `?` and `[` that the path holds, each once; empty if it has none."""
    return "".join(sorted(set(_GLOB.findall(path)))) if _GLOB.search(path) else ""


def fold_path(path: str) -> str:
    """Return a form of `path` that is equal for two paths that some file system takes for one.

    Letter case and Unicode normal form are folded (the canonical caseless match of Unicode), as
    macOS and Windows do.
    """
    if path.isascii():
        return path.lower()
    decomposed = unicodedata.normalize("NFD", path)
    return unicodedata.normalize("NFC", decomposed.casefold())


def is_git_path(path: str) -> bool:
    """Return whether any component of `path` could reach a `.git` directory on some file system.

    The check sees through letter case, the short name `git~1`, ignorable code points,
    compatibility forms, trailing dots and spaces, NTFS streams (`.git::$INDEX_ALLOCATION`) and
    backslashes.
    """
    if path.isascii() and "git" not in path.lower():
        return False
    return any(_folds_into_git(part) for part in re.split(r"[/\\]", path))


def _folds_into_git(component: str) -> bool:
    name = component
    if not name.isascii():
        name = unicodedata.normalize("NFKC", _IGNORABLE.sub("", name))
        name = _IGNORABLE.sub("", name)
    stem = name.split(":", 1)[0].rstrip(". ")
    return stem.casefold() in _GIT_NAMES


def path_inside(path: str) -> str:
    """Return the normal form of a path within the repo, and the empty string for any other path."""
    try:
        return check_path(path)
    except PathProblem:
        return ""
