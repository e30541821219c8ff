"""Commits of workers that lie about parent, tree, files or words are refused before they land."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from factory.fleet.worker_clones import inspect_commit
from factory.orders.order_commit import CommitTerms
from factory.orders.read_orders import NOT_EXEMPT, LoadedOrder
from factory.orders.task import OrderTask, Passed
from shared.errors import CommandFailed
from shared.git import commits, trees
from shared.git.client import Git
from shared.git.repos import Identity
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import commit_all, git, writing

TERMS = CommitTerms(Identity("Ada", "ada@example.org"), "1700000000 +0000")
TEST = {"path": "tests/test_one.py", "content": "def test_one() -> None: ...\n"}


def task_of(folder: Path) -> OrderTask:
    document = writing("1.txt", acceptance_files=[TEST], removed_files=["README.md"])
    return OrderTask(
        LoadedOrder(parse_document(WorkOrder, document), None), NOT_EXEMPT, "", TERMS, folder
    )


def commit_with(repo: Path, task: OrderTask, files: dict[str, str | None]) -> tuple[str, Passed]:
    """Return the parent, and the commit that a worker says it made of these files."""
    parent = git(repo, "rev-parse", "HEAD")
    for path, content in files.items():
        if content is None:
            (repo / path).unlink()
    there = {path: content for path, content in files.items() if content is not None}
    ours = Git(repo)
    tree = trees.tree_of(ours, commit_all(repo, there))
    git(repo, "reset", "--quiet", "--hard", parent)
    commit = commits.write(ours, tree, parent, task.commit_facts("done"))
    return parent, Passed(commit, tree, ("1.txt",), "done")


GOOD: dict[str, str | None] = {"1.txt": "1\n", TEST["path"]: TEST["content"], "README.md": None}


def refusal(repo: Path, task: OrderTask, parent: str, passed: Passed) -> str:
    with pytest.raises(CommandFailed) as refused:
        inspect_commit(Git(repo), task, parent, passed)
    assert "is refused" in refused.value.message
    return refused.value.message


def test_the_commit_of_an_honest_worker_may_land(repo: Path, tmp_path: Path) -> None:
    task = task_of(tmp_path)
    parent, passed = commit_with(repo, task, GOOD)
    inspect_commit(Git(repo), task, parent, passed)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({**GOOD, "src/app.py": "stolen\n"}, "does not allow: src/app.py"),
        ({**GOOD, TEST["path"]: "pass\n"}, "is not the plan's test"),
        ({"1.txt": "1\n", "README.md": None}, "does not have the plan's test"),
        ({"1.txt": "1\n", TEST["path"]: TEST["content"]}, "still has 'README.md'"),
    ],
)
def test_a_tree_with_other_files_is_refused(
    repo: Path, tmp_path: Path, files: dict[str, str | None], said: str
) -> None:
    task = task_of(tmp_path)
    parent, passed = commit_with(repo, task, files)
    assert said in refusal(repo, task, parent, passed)


def test_a_link_in_the_place_of_a_file_is_refused(repo: Path, tmp_path: Path) -> None:
    task = task_of(tmp_path)
    others = {path: content for path, content in GOOD.items() if path != "1.txt"}
    parent, passed = commit_with(repo, task, others)
    tree = git(repo, "rev-parse", f"{passed.commit}^{{tree}}")
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"/etc/passwd")
    listed = git(repo, "ls-tree", tree) + f"\n120000 blob {blob}\t1.txt\n"
    linked = git(repo, "mktree", stdin=listed.encode())
    commit = commits.write(Git(repo), linked, parent, task.commit_facts("done"))
    assert "1.txt is not a plain file" in refusal(
        repo, task, parent, replace(passed, commit=commit, tree=linked)
    )


def test_another_parent_and_other_words_are_refused(repo: Path, tmp_path: Path) -> None:
    task = task_of(tmp_path)
    parent, passed = commit_with(repo, task, GOOD)
    later = commit_all(repo, {"more.txt": "more\n"})
    assert "not the commit of this order" in refusal(repo, task, later, passed)
    assert "not the commit of this order" in refusal(
        repo, task, parent, replace(passed, summary="else")
    )


def test_a_commit_that_nobody_has_is_refused(repo: Path, tmp_path: Path) -> None:
    task = task_of(tmp_path)
    parent, passed = commit_with(repo, task, GOOD)
    gone = replace(passed, commit="1" * 40)
    assert "is not on the remote" in refusal(repo, task, parent, gone)
