"""Reads the manifests of Python projects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import (
    Table,
    bounded,
    first_tracked,
    one_line,
    pairs_at,
    parse_toml,
    table,
    text_at,
    texts_at,
)

COMPILE: Final = "python -m compileall -q ."
PYTEST: Final = "python -m pytest -q"
COMMANDS: Final = (COMPILE, "python -m pip --version", PYTEST)
"""The commands that verify a Python project: all of it compiles, and its tests pass."""

_PYPROJECT: Final = "pyproject.toml"
_MANIFESTS: Final = (_PYPROJECT, "setup.cfg", "setup.py", "requirements.txt", "Pipfile")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_TABLES: Final = ("project", "build-system", "dependency-groups")
_TOOLS: Final = ("poetry", "pdm", "hatch", "flit", "setuptools", "uv", "pytest")
# A file that only pytest reads, and the heading that says so in a file that others read as well.
_PYTEST_FILES: Final = {
    "pytest.ini": "[pytest]",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
# These install packages from the network before they run a test, which commands cannot do.
_RUNNERS: Final = {
    "tox.ini": "tox",
    "noxfile.py": "nox",
    "manage.py": "python manage.py test",
}


class Python:
    """Read what the files of a Python project say."""

    name = "Python"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project, which may also be known by nothing but its tests."""
        text = files.text(_PYPROJECT)
        document = parse_toml(text)
        tested = _tests_of(files, document or {})
        manifest = _manifest_of(files, document)
        if not manifest and not tested:
            return None
        facts = document or {}
        broken = manifest == _PYPROJECT and document is None
        return Project(
            tool=self.name,
            manifest=manifest or tested,
            name=text_at(table(facts, "project"), "name")
            or text_at(table(facts, "tool", "poetry"), "name"),
            scripts=dict(pairs_at(table(facts, "project"), "scripts")),
            dependencies=bounded(_dependencies_of(files, facts)),
            verify=tuple(VerifyCommand(each, tested) for each in COMMANDS) if tested else (),
            notes=tuple(_notes(files, tested=bool(tested), broken=broken)),
        )


def _manifest_of(files: RepoFiles, pyproject: Table | None) -> str:
    """Return the file that makes this a Python project; "" where there is none.

    Many projects of other languages have a `pyproject.toml` for a linter alone.
    """
    found = first_tracked(files, _MANIFESTS)
    if found != _PYPROJECT or pyproject is None:
        return found
    own = any(each in pyproject for each in _TABLES)
    if own or any(each in table(pyproject, "tool") for each in _TOOLS):
        return found
    return first_tracked(files, _MANIFESTS[1:])


def _tests_of(files: RepoFiles, pyproject: Table) -> str:
    """Return the place that shows that there are tests, "" where there are none."""
    if table(pyproject, "tool", "pytest"):
        return f"{_PYPROJECT}: tool.pytest"
    for path, heading in _PYTEST_FILES.items():
        if path == "pytest.ini" and first_tracked(files, (path,)):
            return path
        if heading in (files.text(path) or ""):
            return f"{path}: {heading}"
    names = (path for path in files.paths if "test" in path)
    return one_line(next((path for path in names if _TEST_FILE.search(path)), ""))


def _dependencies_of(files: RepoFiles, pyproject: Table) -> Iterator[str]:
    yield from texts_at(table(pyproject, "project"), "dependencies")
    for name, version in pairs_at(table(pyproject, "tool", "poetry"), "dependencies"):
        yield f"{name} {version}"
    for line in (files.text("requirements.txt") or "").splitlines()[:1000]:
        requirement = line.partition(" #")[0].strip()
        if requirement and not requirement.startswith(("#", "-")):
            yield one_line(requirement)


def _notes(files: RepoFiles, *, tested: bool, broken: bool) -> Iterator[str]:
    if broken:
        yield f"{_PYPROJECT} cannot be read as TOML: what it says is not known"
    if tested:
        return
    other = first_tracked(files, _RUNNERS)
    if other:
        command = _RUNNERS[other]
        yield f"{other} is not run: `--verify '{command}'` runs it, if commands find what it needs"
    else:
        yield "the Python project has no tests that pytest finds"
