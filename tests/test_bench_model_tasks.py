"""Each edit task fails as it is given, passes with its solution, and is of the size it claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.model.asked import judge_reply, passes
from benchmarks.model.edit_tasks import SourceMissing, read_edit_tasks, source_versions
from benchmarks.model.first_prompts import FIRST_PROMPTS, focus_of_task, shown_files
from benchmarks.model.tasks import Task
from factory.proposal.shown_code import focus_of
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder

TASKS = {task.name: task for task in read_edit_tasks()}


@pytest.mark.rest
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_fails_as_given_and_passes_as_solved(task: Task) -> None:
    assert not passes(task, {})
    assert passes(task, task.solution)


@pytest.mark.rest
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_is_a_valid_order_for_a_file_of_60_to_300_lines(task: Task) -> None:
    order = parse_document(WorkOrder, task.order)
    assert order.allowed_files == (task.path,)
    assert 60 <= len(task.files[task.path].splitlines()) <= 300
    assert task.files[task.path] != task.solution[task.path]


@pytest.mark.rest
def test_a_task_whose_definition_is_named_is_solved_by_this_definition_alone() -> None:
    task = TASKS["convertors/negative edit"]
    focus = focus_of_task(task)
    assert focus is not None
    assert focus.name == "IntegerConvertor.to_string"
    assert focus.code in FIRST_PROMPTS["factory"].render(task)
    assert task.files[task.path] not in FIRST_PROMPTS["factory"].render(task)
    assert task.files[task.path] in FIRST_PROMPTS["whole"].render(task)
    solution = focus_of(
        parse_document(WorkOrder, task.order), shown_files(replace(task, files=task.solution))
    )
    assert solution is not None
    assert judge_reply(f"```python\n{solution.code}\n```\n", "factory", task) == ""
    assert judge_reply(f"```python\n{focus.code}\n```\n", "factory", task) == "format"


def test_there_are_enough_tasks_and_their_sources_are_known() -> None:
    assert len(TASKS) >= 24
    assert all("(MIT)" in each or "(BSD-" in each for each in source_versions())


@pytest.mark.parametrize(
    ("source", "right", "words"),
    [
        ("no_such_package/a.py", "a", "no_such_package is not installed"),
        ("rich/filesize.py", "a line that is not there", "lines occur 0 times, not once"),
        ("rich/filesize.py", "size", "times, not once"),
    ],
)
def test_a_source_that_changed_or_is_not_there_is_named(
    tmp_path: Path, source: str, right: str, words: str
) -> None:
    (tmp_path / "it.toml").write_text(
        f"""
        source = "{source}"
        package = "rich (MIT)"
        path = "a.py"
        [[task]]
        name = "one"
        title = "One"
        intent = "One."
        check = ""
        change = [{{ right = "{right}", broken = "" }}]
        """
    )
    with pytest.raises(SourceMissing, match=words):
        read_edit_tasks(tmp_path)
