"""Only what changed is run again: what a command did not read cannot have changed how it ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factory.drift import kept_answers, run_commands
from factory.drift.kept_answers import KeptAnswers
from factory.judging import run_checks
from factory.preflight import find_repo
from factory.workbench.leftovers import ReadWatch
from shared.files import atomic_io
from tests.factory.drift.landed_shop import CONFTEST, drift_of, states
from tests.harness import commit_all, git

PROVEN = {"R1": "proven", "R2": "proven", "R3": "proven", "R4": "unproven"}
Commands = Callable[[], list[str]]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Returns the tests that commands were run for since it was last asked."""
    seen: list[str] = []
    run = run_checks.run_to_its_end

    def noted(check: Any, *words: Any, **named: Any) -> Any:
        seen.append(check.argv[-1].removeprefix("tests/test_").removesuffix(".py"))
        return run(check, *words, **named)

    monkeypatch.setattr(run_commands, "run_to_its_end", noted)

    def taken() -> list[str]:
        found, seen[:] = sorted(set(seen)), []
        return found

    return taken


@pytest.mark.rest
def test_a_file_that_no_command_read_costs_no_run(shop: Path, commands: Commands) -> None:
    assert states(drift_of(shop)) == PROVEN
    assert commands() == ["greeting", "shop"]
    assert states(drift_of(shop)) == PROVEN and commands() == []
    commit_all(shop, {"README.md": "# Another\n"})
    assert states(drift_of(shop)) == PROVEN and commands() == []
    commit_all(shop, {"word.txt": "Bye\n"})  # the code reads it
    assert states(drift_of(shop)) == {**PROVEN, "R2": "broken"}
    assert commands() == ["greeting"]
    git(shop, "revert", "--no-edit", "HEAD")
    assert states(drift_of(shop)) == PROVEN and commands() == []


@pytest.mark.rest
def test_what_is_found_by_listing_costs_a_run(shop: Path, commands: Commands) -> None:
    drift_of(shop)
    commands()
    commit_all(shop, {"sitecustomize.py": "import shop\nshop.price = lambda n: 0\n"})
    drift_of(shop)
    assert commands() == ["greeting", "shop"]


@pytest.mark.rest
def test_other_choices_for_commands_cost_a_run(shop: Path, commands: Commands) -> None:
    drift_of(shop)
    commands()
    drift_of(shop, timeout_seconds=77.0)
    assert commands() == ["greeting", "shop"]


@pytest.mark.rest
def test_where_reads_are_not_noted_all_files_count(
    shop: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that is mounted with noatime."""
    monkeypatch.setattr(kept_answers, "_notes_reads", lambda file: False)
    drift_of(shop)
    commands()
    commit_all(shop, {"README.md": "# Another\n"})
    drift_of(shop)
    assert commands() == ["greeting", "shop"]


def test_a_file_whose_time_is_set_back_after_the_read_counts_as_read(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in (".git", "read", "hidden", "left"):
        (tree / name).write_text(name)
    read = kept_answers.watch_reads(tree, ["read", "hidden", "left"], tree / ".git")
    (tree / "read").read_text()
    (tree / "hidden").read_text()
    os.utime(tree / "hidden", ns=(0, (tree / "hidden").stat().st_mtime_ns))
    assert read() in (frozenset({"read", "hidden"}), None)  # none where reads are not noted


@pytest.mark.skipif(ReadWatch.of(Path(__file__)) is None, reason="reads are not noted here")
def test_only_a_command_of_this_tree_has_asked_git(repo: Path) -> None:
    """Whoever makes a working tree reads the HEAD of each other one."""
    for name in ("one", "two"):
        git(repo, "worktree", "add", "--quiet", "--detach", f"../{name}")
    one = repo.parent / "one"
    read = kept_answers.watch_reads(one, ["README.md"], one / ".git")
    git(repo, "worktree", "add", "--quiet", "--detach", "../three")
    git(repo, "worktree", "list")
    git(repo, "worktree", "remove", "../two")
    assert read() == frozenset()
    read = kept_answers.watch_reads(one, ["README.md"], one / ".git")
    git(one, "rev-parse", "HEAD")
    assert read() is None


@pytest.mark.rest
def test_a_command_that_asks_git_runs_at_each_commit(shop: Path, commands: Commands) -> None:
    asks = "\n\nimport subprocess\n\nsubprocess.run(['git', 'log', '-1'], check=True)\n"
    commit_all(shop, {"tests/conftest.py": CONFTEST + asks})
    assert states(drift_of(shop)) == PROVEN
    commands()
    commit_all(shop, {"README.md": "# Another\n"})
    assert states(drift_of(shop)) == PROVEN
    assert commands() == ["greeting", "shop"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2}', '{"version": 1, "runs": {"a": 1}}', "\0" * 100,
     '{"version": 1, "trees": {"a": {"quick": "", "outside": [], "environment": "", "drift": 1}}}'],
)  # fmt: skip
def test_a_file_of_another_form_counts_as_nothing(shop: Path, text: str) -> None:
    kept = KeptAnswers.of(find_repo(shop).common_dir)
    kept.path.parent.mkdir(parents=True)
    kept.path.write_text(text)
    assert kept.tree("a") is None and kept.run("a", {}, "") is None
    atomic_io.keep(kept.path, text.encode(), 5)
    again = KeptAnswers.of(find_repo(shop).common_dir)
    assert again.tree("a") is None and again.run("a", {}, "") is None


def test_the_answers_are_not_in_the_repo(shop: Path) -> None:
    """A stranger's repository would bring them along."""
    place = find_repo(shop)
    assert not KeptAnswers.of(place.common_dir).path.is_relative_to(place.common_dir)
