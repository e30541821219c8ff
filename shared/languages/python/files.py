"""What a file is for, as far as its path tells."""

from __future__ import annotations

import functools
import posixpath
import re

_TEST_NAME = re.compile(r"test_.*|.*_test|conftest|tests?")
# Python files that are run or found by their place, not imported for their names.
_WITHOUT_NAMES = frozenset({"__init__.py", "__main__.py", "setup.py"})


# Asked of the same few paths by many rules.
@functools.lru_cache(maxsize=4096)
def is_test_file(path: str) -> bool:
    """Say whether a Python file holds tests or what only tests use."""
    folder, name = posixpath.split(path)
    in_tests = any(part in {"test", "tests"} for part in folder.split("/"))
    return in_tests or _TEST_NAME.fullmatch(name.removesuffix(".py")) is not None


@functools.lru_cache(maxsize=4096)
def has_names_to_declare(path: str) -> bool:
    """Say whether others import the names of the Python file at `path`, so that they matter."""
    is_python = path.endswith(".py") and posixpath.basename(path) not in _WITHOUT_NAMES
    return is_python and not is_test_file(path)
