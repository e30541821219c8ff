"""Reads the edit tasks: a real file with a fault put in or a part taken out, and what to do.

The files come from packages that the development environment installs from
`requirements-dev.lock`, so they are pinned and checked by hash; nothing of them is in this repo.
Each package's licence stands
in its task file. The authored solution of a task is the file as its package has it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from benchmarks.model.tasks import Kind, Task, order_of
from shared.errors import LlmchError

CHECK = "check_change.py"
COMMAND = f"python -m pytest -q {CHECK}"
_FOLDER = Path(__file__).parent / "edits"


class SourceMissing(LlmchError):
    """Say that a package is not installed, or that its file is not as a task expects it."""


@dataclass(frozen=True, slots=True)
class _Change:
    right: str
    broken: str

    def put_into(self, text: str, where: str) -> str:
        """Return the text with the right lines replaced by the broken ones."""
        if text.count(self.right) != 1:
            raise SourceMissing(
                f"{where}: its lines occur {text.count(self.right)} times, not once"
            )
        return text.replace(self.right, self.broken)


def read_edit_tasks(folder: Path = _FOLDER) -> list[Task]:
    """Return the tasks of all files of the folder.

    Raises `SourceMissing` where a source is not installed or not as a task expects it.
    """
    return [task for file in sorted(folder.glob("*.toml")) for task in _tasks_of(file)]


def source_versions(folder: Path = _FOLDER) -> list[str]:
    """Return the packages that the tasks come from, with licence and installed version, sorted."""
    named = {tomllib.loads(file.read_text("utf-8"))["package"] for file in folder.glob("*.toml")}
    return sorted(f"{each} {metadata.version(each.partition(' ')[0])}" for each in named)


def _tasks_of(file: Path) -> Iterator[Task]:
    document = tomllib.loads(file.read_text("utf-8"))
    path, source = str(document["path"]), _source(document["source"])
    others = {where: _source(name) for where, name in document.get("also", {}).items()}
    others |= {f"{folder}/__init__.py": "" for folder in document.get("folders", ())}
    for given in document["task"]:
        yield _task(f"{file.stem}/{given['name']}", path, source, others, given)


def _task(
    name: str, path: str, source: str, others: Mapping[str, str], given: Mapping[str, Any]
) -> Task:
    broken = source
    for change in given["change"]:
        broken = _change(change).put_into(broken, name)
    order = order_of(str(given["title"]), f"In {path}: {given['intent']}", path, COMMAND)
    files = {**others, path: broken, CHECK: str(given["check"])}
    return Task(f"{name} {Kind.EDIT}", Kind.EDIT, files, order, {path: source})


def _change(given: Mapping[str, str]) -> _Change:
    """Return the change; where lines are replaced, the last one may go on in the file."""
    right, broken = given["right"], given["broken"]
    if not broken:
        return _Change(right, broken)
    return _Change(right.removesuffix("\n"), broken.removesuffix("\n"))


def _source(name: str) -> str:
    package, _, rest = name.partition("/")
    found = util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SourceMissing(f"{package} is not installed; `make check` installs it")
    return (Path(found.submodule_search_locations[0]) / rest).read_text("utf-8")
