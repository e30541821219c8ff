from __future__ import annotations

import os
from pathlib import Path

import pytest

from shared.files.text_sources import MAX_SOURCE_BYTES, RepoSources


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("x = 1\n")
    (root / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.py").write_text("secret = 1\n")
    return root


def test_a_listed_file_is_read_when_it_is_asked_for(repo: Path) -> None:
    sources = RepoSources(repo, ["pkg/a.py", "bom.py", "gone.py"])
    assert sources["pkg/a.py"] == sources["bom.py"] == "x = 1\n"
    assert sorted(sources) == ["bom.py", "pkg/a.py"]
    assert len(sources) == 2
    assert "gone.py" not in sources
    assert sources.get("gone.py") is None


def test_a_file_that_is_not_listed_is_not_there(repo: Path) -> None:
    assert "pkg/a.py" not in RepoSources(repo, ["bom.py"])


def test_what_was_read_once_stays_as_it_was(repo: Path) -> None:
    sources = RepoSources(repo, ["pkg/a.py"])
    assert sources["pkg/a.py"] == "x = 1\n"
    (repo / "pkg" / "a.py").write_text("x = 2\n")
    assert sources["pkg/a.py"] == "x = 1\n"


def test_no_link_is_followed_and_nothing_odd_is_read(repo: Path) -> None:
    (repo / "link.py").symlink_to(repo.parent / "secret" / "key.py")
    (repo / "folder").symlink_to(repo.parent / "secret")
    os.mkfifo(repo / "pipe.py")
    (repo / "latin.py").write_bytes("# é\n".encode("latin-1"))
    (repo / "huge.py").write_text("#" * (MAX_SOURCE_BYTES + 1))
    odd = ["link.py", "folder/key.py", "pipe.py", "latin.py", "huge.py", "pkg", "a" * 300, "x\0"]
    assert list(RepoSources(repo, odd)) == []
