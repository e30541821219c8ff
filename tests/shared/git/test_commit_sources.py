"""The texts of a commit's files, read from git without a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.files.text_sources import MAX_SOURCE_BYTES
from shared.git.client import Git, GitFailed
from shared.git.trees import CommitSources
from tests.harness import commit_all, git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def sources_of(repo: Path, commit: str = "HEAD") -> CommitSources:
    return CommitSources(Git(repo), commit)


def test_the_files_are_those_of_the_commit_and_not_of_the_checkout(repo: Path) -> None:
    first = commit_all(repo, {"a.txt": "one\n", "pkg/b.txt": "b\n"})
    commit_all(repo, {"a.txt": "two\n", "c.txt": "c\n"})
    (repo / "a.txt").write_text("three\n")
    sources = sources_of(repo, first)
    assert dict(sources) == {"a.txt": "one\n", "pkg/b.txt": "b\n"}
    assert sources.paths == ("a.txt", "pkg/b.txt")
    assert sources.text("c.txt") is None
    assert "c.txt" not in sources


def test_what_is_not_a_plain_text_is_listed_and_has_no_text(repo: Path) -> None:
    (repo / "link").symlink_to("a.txt")
    commit_all(
        repo,
        {
            "a.txt": b"\xef\xbb\xbfwith a mark\n",
            "latin.txt": b"caf\xe9",
            "large.txt": "x" * (MAX_SOURCE_BYTES + 1),
            "whole.txt": "x" * MAX_SOURCE_BYTES,
        },
    )
    sub = f"160000,{git(repo, 'rev-parse', 'HEAD')},sub"
    git(repo, "update-index", "--add", "--cacheinfo", sub)
    git(repo, "commit", "--quiet", "--message=sub")
    sources = sources_of(repo)
    assert sources.paths == ("a.txt", "large.txt", "latin.txt", "link", "sub", "whole.txt")
    assert [*sources] == ["a.txt", "whole.txt"]
    assert sources["a.txt"] == "with a mark\n"


def test_odd_names_are_kept_apart(repo: Path) -> None:
    names = ("a b.txt", "tab\there", "line\nbreak", "é.txt", "-x", '"quoted"')
    commit_all(repo, {name: f"text of {name}" for name in names})
    assert dict(sources_of(repo)) == {name: f"text of {name}" for name in names}


def test_many_files_are_read_at_once_and_equal_ones_too(repo: Path) -> None:
    commit_all(repo, {f"f{i}.txt": str(i % 3) for i in range(300)})
    sources = sources_of(repo)
    sources.load([*sources.paths, "not there"])
    git(repo, "update-ref", "-d", "HEAD")
    (repo / ".git" / "objects").rename(repo / "objects")  # nothing is asked of git any more
    assert [sources[f"f{i}.txt"] for i in range(6)] == ["0", "1", "2", "0", "1", "2"]


def test_a_commit_that_is_not_there_is_an_error(repo: Path) -> None:
    commit_all(repo, {"a.txt": ""})
    with pytest.raises(GitFailed):
        sources_of(repo, "0" * 40)
