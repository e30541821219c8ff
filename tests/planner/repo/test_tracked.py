"""Which files of a repo a plan begins with, and what verifies them."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.repo.planned_repo import open_tree
from shared.errors import InvalidInput
from shared.events.events import Event, Noted
from tests.harness import commit_all, git

PACKAGE = '{"name": "shop", "scripts": {"test": "node --test"}}'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder, {"a.txt": "main\n"})
    git(folder, "switch", "--quiet", "--create", "work")
    commit_all(folder, {"a.txt": "work\n", "package.json": PACKAGE})
    git(folder, "switch", "--quiet", "main")
    return folder


def texts_of(
    repo: Path,
    branch: str | None,
    events: list[Event] | None = None,
    start: str | None = None,
) -> dict[str, str]:
    heard = events if events is not None else []
    return dict(open_tree(repo, branch, (), heard.append, start).files)


def test_without_a_branch_the_checkout_is_read(repo: Path) -> None:
    (repo / "a.txt").write_text("changed\n")
    (repo / "untracked.txt").write_text("")
    assert texts_of(repo, None) == {"a.txt": "changed\n"}


def test_a_branch_is_read_where_it_stands_and_the_checkout_is_left_alone(repo: Path) -> None:
    events: list[Event] = []
    assert texts_of(repo, "work", events)["a.txt"] == "work\n"
    assert events == []
    assert (repo / "a.txt").read_text() == "main\n"


def test_a_branch_that_is_checked_out_counts_as_committed(repo: Path) -> None:
    (repo / "a.txt").write_text("changed\n")
    assert texts_of(repo, "main") == {"a.txt": "main\n"}


@pytest.mark.parametrize("name", ["new", "HEAD", "-x", "../work", "wor*", "@{-1}", "a b", ""])
def test_a_branch_that_does_not_exist_is_reported_and_the_checkout_read(
    repo: Path, name: str
) -> None:
    events: list[Event] = []
    assert texts_of(repo, name, events) == {"a.txt": "main\n"}
    (noted,) = [each for each in events if isinstance(each, Noted)]
    assert noted.message == (
        f"branch {name!r} does not exist yet: the files of the checkout are read"
    )


def test_a_plan_that_starts_at_a_commit_reads_its_files(repo: Path) -> None:
    start = git(repo, "rev-parse", "work")
    assert texts_of(repo, None, start=start[:12])["a.txt"] == "work\n"
    events: list[Event] = []
    assert texts_of(repo, "new", events, start)["a.txt"] == "work\n"
    (noted,) = [each for each in events if isinstance(each, Noted)]
    assert noted.message.endswith(f"the files of {start} are read")


def test_a_branch_that_exists_goes_before_the_commit_to_start_from(repo: Path) -> None:
    assert texts_of(repo, "main", start="work") == {"a.txt": "main\n"}


@pytest.mark.parametrize("start", ["0" * 40, "nowhere", "--all", ""])
def test_a_start_that_names_no_commit_is_refused(repo: Path, start: str) -> None:
    with pytest.raises(InvalidInput, match="does not name a commit"):
        texts_of(repo, None, start=start)


def test_a_folder_without_a_repo_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        texts_of(tmp_path, None)


def test_the_files_of_the_branch_say_what_verifies_it(repo: Path) -> None:
    def commands(branch: str | None, *verify: str) -> list[str]:
        tree = open_tree(repo, branch, verify, lambda event: None)
        return [each.text for each in tree.verification]

    assert commands("work") == ["npm test"]
    assert commands(None) == []  # nothing says so: an order may write the script
    assert commands(None, "make check") == ["make check"]
    git(repo, "switch", "--quiet", "work")
    commit_all(repo, {"scripts/verify.sh": "npm test\n"})
    assert commands("work") == []  # the script does, as it always did
