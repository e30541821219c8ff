"""A file is there whole or not at all, and a refusal of the disk leaves what was there."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.errors import CommandFailed
from shared.files.atomic_io import (
    make_folder,
    remove_drafts,
    render_json,
    replace_files,
    write_bytes,
    write_folder,
    write_json,
    write_text,
)
from tests.harness import as_ordinary_user


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow beyond ten bytes: for root as well."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_is_written_is_what_was_given(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a", b"\0\r\n\xff")
    write_text(tmp_path / "b", "ü\r\n", sync=False)
    assert (tmp_path / "a").read_bytes() == b"\0\r\n\xff"
    assert (tmp_path / "b").read_bytes() == "ü\r\n".encode()


def test_json_is_readable_and_ends_in_a_line_end(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"name": "ü", "list": [1, None]})
    text = (tmp_path / "a.json").read_text("utf-8")
    assert text == render_json(json.loads(text))
    assert '"name": "ü"' in text
    assert text.endswith("}\n")


def test_half_a_character_is_kept_as_its_escape(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"name": "\ud800"})
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == {"name": "\ud800"}


def test_a_file_is_replaced_and_never_changed_in_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "other")
    write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "other").read_text() == "old"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "a").symlink_to("victim")
    write_text(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "a").is_symlink()


def test_files_are_made_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_those_who_write_one_file_at_once_do_not_meet(tmp_path: Path) -> None:
    texts = [str(number) * 10_000 for number in range(8)]
    with ThreadPoolExecutor(len(texts)) as pool:
        for _ in range(10):
            list(pool.map(lambda text: write_text(tmp_path / "a", text, sync=False), texts))
            assert (tmp_path / "a").read_text() in texts


DIES_BEFORE_ITS_RENAME = """
import os, signal, sys
from pathlib import Path
from shared.files.atomic_io import write_bytes
os.replace = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
write_bytes(Path(sys.argv[1]), b"whole")
"""


def test_what_a_killed_writer_left_can_be_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/.mine.tmp").write_text("precious")
    (tmp_path / "link").symlink_to("deep")
    writer = [sys.executable, "-c", DIES_BEFORE_ITS_RENAME, str(tmp_path / "deep/a")]
    assert subprocess.run(writer, check=False).returncode == -signal.SIGKILL
    assert len(list((tmp_path / "deep").iterdir())) == 2
    remove_drafts(tmp_path)
    assert [each.name for each in (tmp_path / "deep").iterdir()] == [".mine.tmp"]


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_keeps_the_old_content_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(CommandFailed, match=r"cannot write .*/a: File too large") as refused:
        write_text(tmp_path / "a", "longer than ten bytes")
    assert "free space" in refused.value.hint
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_no_half_folder(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"cannot write .*/plan"):
        write_folder(tmp_path / "plan", {"short": b"x", "long": b"longer than ten bytes"})
    assert list(tmp_path.iterdir()) == []


def into_missing_folder(folder: Path) -> None:
    write_text(folder / "none/a", "x")


def onto_folder(folder: Path) -> None:
    (folder / "a").mkdir()
    write_text(folder / "a", "x")


def folder_onto_folder(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a/mine").touch()
    write_folder(folder / "a", {"b": b"x"})


def folder_below_file(folder: Path) -> None:
    (folder / "a").touch()
    make_folder(folder / "a/b/c")


@pytest.mark.parametrize(
    "act", [into_missing_folder, onto_folder, folder_onto_folder, folder_below_file]
)
def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, act: Callable[[Path], None]
) -> None:
    with pytest.raises(CommandFailed, match=r"cannot write .*/(none/)?a"):
        act(tmp_path)
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    with as_ordinary_user(tmp_path):
        (tmp_path / "locked").mkdir(mode=0o500)
        for act in (
            lambda: write_text(tmp_path / "locked/a", "x"),
            lambda: write_folder(tmp_path / "locked/a", {"b": b"x"}),
            lambda: make_folder(tmp_path / "locked/a/b"),
        ):
            with pytest.raises(CommandFailed, match=r"locked/a.*: Permission denied"):
                act()
        assert list((tmp_path / "locked").iterdir()) == []


def test_a_folder_comes_whole(tmp_path: Path) -> None:
    write_folder(tmp_path / "plan", {"a": b"1", "b": b"2"})
    assert {each.name: each.read_bytes() for each in (tmp_path / "plan").iterdir()} == {
        "a": b"1",
        "b": b"2",
    }
    assert [each.name for each in tmp_path.iterdir()] == ["plan"]


def test_files_are_replaced_together(tmp_path: Path) -> None:
    for name in ("a", "b", "mine"):
        (tmp_path / name).write_text("old")
    replace_files(tmp_path, {"a": b"new", "c": b"new"}, ["b"])
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "a": "new",
        "c": "new",
        "mine": "old",
    }


@pytest.mark.skipif(
    Path("/dev/shm").stat().st_dev == Path("/tmp").stat().st_dev, reason="needs two file systems"
)
def test_a_refusal_half_way_puts_everything_back(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_text("old")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        # No file can be renamed onto another file system.
        (Path(elsewhere) / "far").write_text("old")
        (folder / "link").symlink_to(elsewhere)
        with pytest.raises(CommandFailed, match="cannot write"):
            replace_files(folder, {"a": b"new", "c": b"new"}, ["b", "link/far"])
        assert (Path(elsewhere) / "far").read_text() == "old"
    assert {each.name: each.read_text() for each in folder.iterdir() if each.name != "link"} == {
        "a": "old",
        "b": "old",
    }


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_replaces_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(CommandFailed, match="File too large"):
        replace_files(tmp_path, {"b": b"n", "a": b"x" * 100}, ["a"])
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


def test_making_a_folder_that_is_there_is_fine(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "a/b") == tmp_path / "a/b"
    assert make_folder(tmp_path / "a/b") == tmp_path / "a/b"


def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "a", "x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    for name in (f".{os.getpid()}.tmp", ".files.0123456789abcdef.tmp"):
        (tmp_path / name / "old").mkdir(parents=True)
        (tmp_path / name / "old" / "a").write_bytes(b"theirs")
    (tmp_path / ".b.0123456789abcdef.tmp").write_bytes(b"torn")
    replace_files(tmp_path, {"a": b"new"})
    remove_drafts(tmp_path)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert not (tmp_path / ".b.0123456789abcdef.tmp").exists()
    assert len([*tmp_path.rglob("old/a")]) == 2, "old files of a person are kept"
