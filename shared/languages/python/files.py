"""Tells the purpose of a Python file from its path."""

from __future__ import annotations

import functools
import posixpath
import re
from typing import Final

NAME: Final = "Python"

ROOTS: Final = ("", "src/")
"""The folders in which imports are looked up: the root of the repo, and that of a `src` layout."""

_TEST_NAME = re.compile(r"test_.*|.*_test|conftest|tests?")
# These Python files are run, or found by their place. Nobody imports them for their names.
_WITHOUT_NAMES = frozenset({"__init__.py", "__main__.py", "setup.py"})


# Many rules ask about the same few paths.
@functools.lru_cache(maxsize=4096)
def is_test_file(path: str) -> bool:
    """Return whether a Python file holds tests, or code that only tests use."""
    folder, name = posixpath.split(path)
    in_tests = any(part in {"test", "tests"} for part in folder.split("/"))
    return in_tests or _TEST_NAME.fullmatch(name.removesuffix(".py")) is not None


@functools.lru_cache(maxsize=4096)
def has_names_to_declare(path: str) -> bool:
    """Return whether `path` is a Python file whose names other files import."""
    is_python = path.endswith(".py") and posixpath.basename(path) not in _WITHOUT_NAMES
    return is_python and not is_test_file(path)
