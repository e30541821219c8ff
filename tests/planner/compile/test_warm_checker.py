"""What judges the code of a change starts while the model is asked, and ends with the planning."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.plan.plan_edits import Change
from shared.llm.model_client import Request
from tests import processes
from tests.harness import commit_all
from tests.planner.planning import Planner


@pytest.mark.parametrize(
    ("files", "named", "number"),
    [
        ({"shop.py": "PRICE = 3\n"}, ("shop.py",), 1),
        ({"shop.py": "PRICE = 3\n", "main.go": "package main\n"}, ("main.go",), 0),
        ({"shop.py": "PRICE = 3\n"}, (), 1),
    ],
)
def test_the_checker_of_a_change_starts_before_the_model_is_asked(
    planner: Planner,
    repo: Path,
    no_process_left: None,
    files: dict[str, str],
    named: tuple[str, ...],
    number: int,
) -> None:
    commit_all(repo, files)
    before = processes.children()
    begun: list[int] = []

    def reply(request: Request) -> str:
        begun.append(len(processes.children() - before))
        return "[]"

    change = Change("Raise the price", named, ())
    planner.plan(reply, change=change, repo=repo, max_attempts=1)
    assert begun == [number]
