"""Reads the public problems: one Python function each, given as a signature and a docstring.

They are HumanEval's (Chen et al., "Evaluating Large Language Models Trained on Code", 2021; MIT).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.model.tasks import Kind, Task, order_of

PATH = "solution.py"
CHECK = "check_solution.py"
COMMAND = f"python -m pytest -q {CHECK}"
# Every fourteenth problem is kept for others to judge by, so it must not be measured on here.
HELD_BACK = 14


def read_problems(file: Path) -> list[Task]:
    """Return two tasks for each problem of the file that is not held back."""
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    return [task for row in rows if _number(row) % HELD_BACK for task in _tasks_of(row)]


def _number(row: dict[str, Any]) -> int:
    return int(str(row["task_id"]).rpartition("/")[2])


def _tasks_of(row: dict[str, Any]) -> Iterator[Task]:
    name, function, stub = str(row["task_id"]), str(row["entry_point"]), str(row["prompt"])
    check = {CHECK: _check(function, str(row["test"]))}
    solution = {PATH: stub + str(row["canonical_solution"])}
    yield Task(
        f"{name} {Kind.FUNCTION}",
        Kind.FUNCTION,
        check,
        order_of(
            f"Write {function}",
            f"Write the Python function `{function}` in {PATH}. Its signature and docstring are:",
            PATH,
            COMMAND,
            notes=stub.strip("\n"),
            postconditions=[{"kind": "file_exists", "path": PATH}],
        ),
        solution,
        stub,
    )
    yield Task(
        f"{name} {Kind.STUB}",
        Kind.STUB,
        check | {PATH: stub},
        order_of(
            f"Complete {function}",
            f"Complete the Python function `{function}` in {PATH}, as its docstring says.",
            PATH,
            COMMAND,
        ),
        solution,
        stub,
    )


def _check(function: str, test: str) -> str:
    """Return the tests, as a file that pytest collects only where a command names it."""
    return f"from solution import *\n{test}\n\ndef test_{function}():\n    check({function})\n"
