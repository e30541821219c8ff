"""Prints the test files that the imports of changed files reach: `python -m tests.changed BASE`.

The imports of a conftest.py do not count: a test that uses a fixture imports the fixture's type.
A string that is the name of a module counts as an import, because some modules are loaded by name.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FLOORS = ("llmch", "planner", "factory", "shared", "benchmarks", "tests")
_ALWAYS = ("tests/test_architecture.py", "tests/test_documentation.py")


def main(base: str) -> int:
    reached = reach(changed_files(base), sources())
    sys.stdout.write("\n".join(sorted({*_ALWAYS, *filter(_is_test, reached)})) + "\n")
    return 0


def changed_files(base: str) -> set[str]:
    """Return the files that differ from the commit where `base` and HEAD parted, new ones too."""
    parted = _git("merge-base", base, "HEAD").strip()
    named = _git("diff", "--name-only", "-z", parted)
    new = _git("ls-files", "--others", "--exclude-standard", "-z")
    return set(filter(None, (named + new).split("\0")))


def sources() -> dict[str, str]:
    """Return the text of each Python file, by its path."""
    paths = (path for floor in _FLOORS for path in (ROOT / floor).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def reach(changed: Iterable[str], texts: Mapping[str, str]) -> set[str]:
    """Return the changed files and each that imports one of them, over any number of steps.

    Data count as the Python files of their folder. So does a conftest.py, with those below it.
    """
    users: dict[str, set[str]] = {}
    known = frozenset(texts)
    for path, text in texts.items():
        if not path.endswith("conftest.py"):
            for name in _names(text):
                for used in _files_of(name, known):
                    users.setdefault(used, set()).add(path)
    left, found = list(_starts(changed, texts)), set[str]()
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left.extend(users.get(path, ()))
    return found


def _starts(changed: Iterable[str], texts: Mapping[str, str]) -> Iterator[str]:
    for path in changed:
        yield path
        folder = path.rpartition("/")[0]
        if path.endswith("/conftest.py"):
            yield from (each for each in texts if each.startswith(f"{folder}/"))
        elif not path.endswith(".py"):
            yield from (each for each in texts if each.rpartition("/")[0] == folder)


def _names(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{each.name}" for each in names)
            case ast.Constant(value=str(value)) if value.partition(".")[0] in _FLOORS:
                yield value


@cache
def _files_of(name: str, known: frozenset[str]) -> tuple[str, ...]:
    path = name.replace(".", "/")
    return tuple(each for each in (f"{path}.py", f"{path}/__init__.py") if each in known)


def _is_test(path: str) -> bool:
    """Return whether it is a file of tests that is there: a removed one is not."""
    return path.rpartition("/")[2].startswith("test_") and (ROOT / path).is_file()


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
