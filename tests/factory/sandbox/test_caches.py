"""A build cache that begins with its seed in each attempt, whatever commands did to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.sandbox.lent_folders import SeededCache

FILES = {"README": "a cache\n", "0a/0a1-a": "action\n", "0a/0a2-d": "object\n", "ff/ff1-d": "x\n"}


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "seed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "seed" / name).write_text(text)
    (tmp_path / "aside").mkdir()
    return tmp_path / "seed"


@pytest.fixture
def cache(tmp_path: Path, seed: Path) -> SeededCache:
    cache = SeededCache(tmp_path / "cache", seed)
    cache.restore(tmp_path / "aside")
    return cache


def content(folder: Path) -> dict[str, str]:
    files = (each for each in folder.rglob("*") if not each.is_dir() or each.is_symlink())
    found = {str(each.relative_to(folder)): each.read_text() for each in files}
    assert found.pop("trim.txt", "").isdigit() or not found
    return found


def test_it_begins_with_the_seed_as_copies(tmp_path: Path, seed: Path, cache: SeededCache) -> None:
    assert content(tmp_path / "cache") == FILES
    (tmp_path / "cache/README").write_text("mine")
    assert (seed / "README").read_text() == FILES["README"]


def forge(folder: Path) -> None:
    """Change an entry to one of equal size, and set its times back."""
    path = folder / "0a/0a2-d"
    facts = path.stat()
    path.write_text("objekt\n")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def replace_folder(folder: Path) -> None:
    (folder / "0a").rename(folder / "elsewhere")
    (folder / "0a").symlink_to("/etc")


def lock(folder: Path) -> None:
    (folder / "ff/ff1-d").write_text("y\n")
    (folder / "ff").chmod(0)


def turn_into_folder(folder: Path) -> None:
    (folder / "README").unlink()
    (folder / "README").mkdir()


def turn_into_link(folder: Path) -> None:
    (folder / "trim.txt").unlink()
    (folder / "trim.txt").symlink_to(folder.parent / "outside")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: None,
    "a forged entry": forge,
    "a new entry": lambda folder: (folder / "0a/0a9-a").write_text("forged"),
    "a new folder": lambda folder: (folder / "1b").mkdir(),
    "an entry in a folder in a folder": lambda folder: (folder / "0a/deep").mkdir(),
    "a removed entry": lambda folder: (folder / "0a/0a1-a").unlink(),
    "a link in place of a folder": replace_folder,
    "a locked folder": lock,
    "a folder in place of an entry": turn_into_folder,
    "a link in place of the time of the last search": turn_into_link,
    "a FIFO": lambda folder: os.mkfifo(folder / "0a/0a9-d"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_next_attempt_sees_the_seed_again(
    tmp_path: Path, cache: SeededCache, damage: str
) -> None:
    DAMAGE[damage](tmp_path / "cache")
    cache.restore(tmp_path / "aside")
    assert content(tmp_path / "cache") == FILES
    assert not (tmp_path / "outside").exists()


def test_what_nobody_touched_is_not_copied_again(tmp_path: Path, cache: SeededCache) -> None:
    before = (tmp_path / "cache/0a/0a2-d").stat()
    forged = (tmp_path / "cache/ff/ff1-d").stat()
    (tmp_path / "cache/ff/ff1-d").write_text("z\n")
    cache.restore(tmp_path / "aside")
    assert (tmp_path / "cache/0a/0a2-d").stat().st_ctime_ns == before.st_ctime_ns
    assert (tmp_path / "cache/ff/ff1-d").stat().st_ctime_ns != forged.st_ctime_ns


def test_without_a_seed_it_begins_empty(tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    cache = SeededCache(tmp_path / "cache", None)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/entry").write_text("forged")
    cache.restore(tmp_path / "aside")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_seed_that_went_away_leaves_its_copies(
    tmp_path: Path, seed: Path, cache: SeededCache
) -> None:
    seed.rename(tmp_path / "gone")
    forge(tmp_path / "cache")
    cache.restore(tmp_path / "aside")
    left = {name: text for name, text in FILES.items() if name != "0a/0a2-d"}
    assert content(tmp_path / "cache") == left
