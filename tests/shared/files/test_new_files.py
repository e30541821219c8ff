"""New files appear whole, all or none, and never in place of anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import CommandFailed
from shared.files.atomic_io import write_new_files


def test_files_that_are_not_there_are_written(tmp_path: Path) -> None:
    files = {tmp_path / "a": "one\n", tmp_path / "b": "zwei ü\n"}
    assert write_new_files(files) == tuple(files)
    assert {each: each.read_text("utf-8") for each in tmp_path.iterdir()} == files


def test_what_is_at_a_path_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    files = {tmp_path / each: "new" for each in ("file", "folder", "link", "free")}
    assert write_new_files(files) == (tmp_path / "free",)
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "folder").is_dir()
    assert (tmp_path / "link").readlink() == Path("nowhere")
    assert not (tmp_path / "nowhere").exists()
    assert len(list(tmp_path.iterdir())) == 4


def test_where_one_is_refused_none_is_left(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    files = {tmp_path / each: "new" for each in ("kept", "first", "missing/second")}
    with pytest.raises(CommandFailed, match=r"missing/second.*nothing was written"):
        write_new_files(files)
    assert list(tmp_path.iterdir()) == [tmp_path / "kept"]
    assert (tmp_path / "kept").read_text() == "mine"
