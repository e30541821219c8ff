"""The kernel's word on what was touched in a tree: only its silence is believed."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factory.workbench.leftovers import TreeWatch


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src/deep").mkdir(parents=True)
    for path in ("a.txt", "src/b.txt", "src/deep/c.txt"):
        (root / path).write_text("x" * 5000)
    return root


@pytest.fixture
def watch(tree: Path) -> Iterator[TreeWatch]:
    watch = TreeWatch.of(tree)
    if watch is None:
        pytest.skip("inotify has no watch to give")
    assert watch.begin(["src", "src/deep"])
    yield watch
    watch.close()


def write(root: Path) -> None:
    (root / "src/b.txt").write_text("y" * 5000)


def write_in_memory(root: Path) -> None:
    with (root / "src/deep/c.txt").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0:1] = b"y"


def write_and_set_the_time_back(root: Path) -> None:
    path = root / "a.txt"
    before = path.stat()
    path.write_text("y" * 5000)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def change_the_mode(root: Path) -> None:
    (root / "src/deep/c.txt").chmod(0o755)


def link(root: Path) -> None:
    (root / "src/deep/link").hardlink_to(root / "a.txt")


def rename_over(root: Path) -> None:
    (root.parent / "other").write_text("y")
    (root.parent / "other").rename(root / "a.txt")


def remove(root: Path) -> None:
    (root / "src/b.txt").unlink()


def exchange_a_folder(root: Path) -> None:
    (root / "src").rename(root.parent / "gone")
    (root / "src").symlink_to(root.parent / "gone")


def make_a_folder(root: Path) -> None:
    (root / "src/new").mkdir()


DEEDS: list[Callable[[Path], None]] = [
    write,
    write_in_memory,
    write_and_set_the_time_back,
    change_the_mode,
    link,
    rename_over,
    remove,
    exchange_a_folder,
    make_a_folder,
]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda each: each.__name__)
def test_whatever_is_done_in_a_watched_tree_is_heard(
    deed: Callable[[Path], None], tree: Path, watch: TreeWatch
) -> None:
    deed(tree)
    assert not watch.is_silent()
    assert not watch.is_silent()  # until somebody has looked


def test_reading_is_not_heard(tree: Path, watch: TreeWatch) -> None:
    assert (tree / "src/b.txt").read_text()
    assert {each.name for each in (tree / "src").iterdir()} == {"b.txt", "deep"}
    assert watch.is_silent()


def test_a_folder_that_was_exchanged_is_watched_again(tree: Path, watch: TreeWatch) -> None:
    exchange_a_folder(tree)
    (tree / "src").unlink()
    (tree.parent / "gone").rename(tree.parent / "older")
    (tree / "src/deep").mkdir(parents=True)
    assert watch.begin(["src", "src/deep"])
    assert watch.is_silent()
    (tree / "src/deep/new").touch()
    assert not watch.is_silent()


def test_more_than_the_kernel_remembers_is_heard(tree: Path, watch: TreeWatch) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(most // 4 + 10):
        (tree / f"{number % 7}").touch()
        (tree / f"{number % 7}").unlink()
    assert not watch.is_silent()
    assert watch.begin(["src", "src/deep"])
    write(tree)
    assert not watch.is_silent()


def test_a_link_in_place_of_a_folder_is_not_followed(tree: Path, watch: TreeWatch) -> None:
    (tree / "link").symlink_to("src")
    assert not watch.begin(["link"])
