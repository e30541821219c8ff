"""Says what a file of JavaScript or TypeScript is for, by its path."""

from __future__ import annotations

import re
from typing import Final

SCRIPT_SUFFIXES: Final = (".js", ".mjs", ".cjs", ".jsx")
TYPED_SUFFIXES: Final = (".ts", ".mts", ".cts", ".tsx")
SUFFIXES: Final = (*SCRIPT_SUFFIXES, *TYPED_SUFFIXES)
# Where a module may stand: as written, with one of these endings, or as the index of a folder.
ENDINGS: Final = (*TYPED_SUFFIXES, ".d.ts", ".d.mts", ".d.cts", *SCRIPT_SUFFIXES, ".json", ".node")

_DECLARATION = re.compile(r"\.d\.[mc]?ts$")
_DECLARED_AS: Final = {
    ".mjs": ".d.mts", ".mts": ".d.mts", ".cjs": ".d.cts", ".cts": ".d.cts",
}  # fmt: skip
_TEST_NAME = re.compile(r"(?:^|[./_-])(?:test|spec)s?\.[^/]*$|(?:^|/)test-[^/]*$|_test\.[^/]*$")
_TEST_FOLDER = re.compile(r"(?:^|/)(?:test|tests|__tests__|spec)/")


def suffix_of(path: str) -> str:
    """Return the last suffix of a path, dot included; empty where the name has none."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return dot + suffix if stem else ""


def is_code(path: str) -> bool:
    """Return whether the path is that of a source file, declarations included."""
    return suffix_of(path) in SUFFIXES


def is_typed(path: str) -> bool:
    """Return whether a file is TypeScript, so that its code may have annotations."""
    return suffix_of(path) in TYPED_SUFFIXES


def is_declaration(path: str) -> bool:
    """Return whether a file holds declarations only, as `score.d.ts` does."""
    return _DECLARATION.search(path) is not None


def declaration_path(path: str) -> str:
    """Return where the compiler looks for the declarations of a file: `a.mjs` has `a.d.mts`."""
    if is_declaration(path):
        return path
    suffix = suffix_of(path)
    return path.removesuffix(suffix) + _DECLARED_AS.get(suffix, ".d.ts")


def is_test_file(path: str) -> bool:
    """Return whether test runners take a file for tests by its name or folder."""
    if not is_code(path) or is_declaration(path):
        return False
    return bool(_TEST_NAME.search(path) or _TEST_FOLDER.search(path))


def question_path(*, typed: bool) -> str:
    """Return the path under which the code of a command is judged, in the root folder."""
    return "llmch-command.ts" if typed else "llmch-command.js"
