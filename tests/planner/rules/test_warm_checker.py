"""The type checker in a compilation: started where it is needed, once, and never left behind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.llm.model_client import Request
from tests.harness import commit_all
from tests.planner.planning import Planner
from tests.planner.plans import creating, order, plan

STUB = {"path": "words.py", "stub": "def pick(seed: int) -> str: ..."}
RIGHT = 'python -c "from words import pick; assert pick(1) == pick(1)"'
WRONG = 'python -c "from words import pick; assert pick() == pick(1)"'


def declaring(command: str) -> dict[str, Any]:
    return plan(creating(1, "words.py", interfaces=[STUB], acceptance_commands=[command]))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return what tells the folders of all checkers that run: each works in one of its own."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return lambda: [each.name for each in scratch.glob("llmch-types-*")]


def test_all_attempts_of_a_compilation_ask_one_checker(
    planner: Planner, folders: Callable[[], list[str]]
) -> None:
    seen: list[list[str]] = []

    def replying(command: str) -> Callable[[Request], str]:
        def reply(_: Request) -> str:
            seen.append(folders())
            return json.dumps(declaring(command))

        return reply

    result = planner.plan(replying(WRONG), replying(WRONG.replace("1", "2")), replying(RIGHT))
    assert (result.ok, result.attempts) == (True, 3)
    before, second, third = seen
    assert (before, len(second)) == ([], 1)
    assert second == third, "one and the same checker"
    assert folders() == []


def test_a_plan_without_python_commands_starts_none(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder that is not there would end a checker before its first question.
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    result = planner.plan(plan(creating(1, "words.py", interfaces=[STUB])))
    assert (result.ok, result.report.errors) == (True, ())


def test_a_checker_that_cannot_start_is_never_taken_for_a_good_plan(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    result = planner.plan(declaring(RIGHT), max_attempts=1)
    assert not result.ok
    assert [each.code for each in result.report.errors] == ["E299"]


def test_commands_are_judged_on_the_sources_of_the_repo(planner: Planner, repo: Path) -> None:
    (repo / "words.py").write_text("def pick(seed: int) -> str:\n    return 'crane'\n")
    commit_all(repo)
    wrong, right = (
        plan(order(acceptance_commands=[WRONG])),
        plan(order(acceptance_commands=[RIGHT])),
    )
    result = planner.plan(wrong, right, repo=repo)
    assert (result.ok, result.attempts) == (True, 2)
    assert "pick" in planner.text("compile/prompt_attempt_2.txt")
    assert "[E212] WO-01 acceptance_commands[0]" in planner.text("compile/prompt_attempt_2.txt")
