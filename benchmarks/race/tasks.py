"""Reads the tasks of a race. No task is part of this repository: folders and files are named.

Three forms are read:

- a file of JSON lines as HumanEval's (`task_id`, `prompt`, `entry_point`, `test`), gzipped or not;
- a folder as Exercism's tracks and the polyglot benchmark have it
  (`LANGUAGE/exercises/practice/NAME`, with `.meta/config.json` and `.docs`);
- a folder of changes in repositories: each `NAME/task.toml` has `text`, `repo`, `commit`, `targets`
  and `command`, and `NAME/hidden` holds the tests.
"""

from __future__ import annotations

import gzip
import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from shared.errors import InvalidInput

_STUB: Final = "solution.py"
_CHECK: Final = "check_solution.py"
_COMMANDS: Final = {
    "python": "python -m pytest -q {tests}",
    "go": "go test ./...",
    "rust": "cargo test --offline -- --include-ignored",
}
"""How hidden tests of an exercise run, by the name of its language's folder."""


@dataclass(frozen=True, slots=True)
class Task:
    """Hold what is asked for, the files to begin with, and the tests that nobody is shown.

    The files are those of `commit` in `repo`, or `files`. `targets` are the files that the text is
    about. `command` runs the hidden tests once they are in their places.
    """

    name: str
    kind: str
    text: str
    targets: tuple[str, ...]
    hidden: Mapping[str, str]
    command: str
    files: Mapping[str, str] = field(default_factory=dict)
    repo: Path | None = None
    commit: str = ""


def read_tasks(paths: Sequence[Path]) -> list[Task]:
    """Return the tasks at the given paths, in an order that is always the same.

    The order follows the hash of the name, so that a smaller sample is as hard as a larger one,
    and is a part of it. Raises `InvalidInput` where there are none.
    """
    found = [task for each in paths for task in _tasks_at(each)]
    if len({each.name for each in found}) < len(found):
        raise InvalidInput("two tasks have the same name", "name each folder of tasks once")
    return sorted(found, key=lambda each: sha256(each.name.encode()).digest())


def _tasks_at(path: Path) -> list[Task]:
    found = list(_functions(path)) if path.is_file() else [*_exercises(path), *_changes(path)]
    if not found:
        raise InvalidInput(
            f"{path} has no task that the race can read",
            "name a file as HumanEval's, a folder as Exercism's, or one with NAME/task.toml",
        )
    return found


def _functions(file: Path) -> Iterator[Task]:
    data = file.read_bytes()
    lines = gzip.decompress(data) if file.suffix == ".gz" else data
    for row in map(json.loads, lines.splitlines()):
        name, function = str(row["task_id"]), str(row["entry_point"])
        test = f"from solution import *\n{row['test']}\n\ndef test_all():\n    check({function})\n"
        yield Task(
            name=name,
            kind="function",
            text=f"Complete the function `{function}` in {_STUB}, as its docstring says.",
            targets=(_STUB,),
            hidden={_CHECK: test},
            command=f"python -m pytest -q {_CHECK}",
            files={_STUB: str(row["prompt"])},
        )


def _exercises(root: Path) -> Iterator[Task]:
    for config in sorted(root.glob("*/exercises/practice/*/.meta/config.json")):
        folder = config.parents[1]
        language = folder.relative_to(root).parts[0]
        if language in _COMMANDS:
            yield _exercise(folder, language, json.loads(config.read_text("utf-8"))["files"])


def _exercise(folder: Path, language: str, files: Mapping[str, Sequence[str]]) -> Task:
    tests = {each: (folder / each).read_text("utf-8") for each in files["test"]}
    said = [folder / ".docs" / name for name in ("instructions.md", "instructions.append.md")]
    text = "\n".join(each.read_text("utf-8").strip() for each in said if each.is_file())
    names = ", ".join(files["solution"])
    begin = {
        str(each.relative_to(folder)): each.read_text("utf-8")
        for each in sorted(folder.rglob("*"))
        if each.is_file() and not _is_apart(each.relative_to(folder), tests)
    }
    return Task(
        name=f"{language}/{folder.name}",
        kind=f"exercise ({language})",
        text=f"{text}\n\nWrite this in {names}. Keep the names that are there.",
        targets=tuple(files["solution"]),
        hidden=tests,
        command=_COMMANDS[language].format(tests=shlex.join(tests)),
        files=begin,
    )


def _is_apart(path: Path, tests: Mapping[str, str]) -> bool:
    return path.parts[0].startswith(".") or str(path) in tests


def _changes(root: Path) -> Iterator[Task]:
    for file in sorted(root.glob("*/task.toml")):
        given: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
        hidden = file.parent / "hidden"
        yield Task(
            name=file.parent.name,
            kind="change",
            text=given["text"],
            targets=tuple(given["targets"]),
            hidden={
                str(each.relative_to(hidden)): each.read_text("utf-8")
                for each in sorted(hidden.rglob("*"))
                if each.is_file()
            },
            command=given["command"],
            repo=(file.parent / given["repo"]).resolve(),
            commit=given["commit"],
        )
