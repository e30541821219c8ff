"""A build cache that begins with its seed in each attempt, whatever commands did to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.sandbox import lent_folders
from factory.sandbox.lent_folders import SeededCache, keep_files

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


def content_of(folder: Path) -> dict[str, str]:
    files = (each for each in folder.rglob("*") if not each.is_dir() or each.is_symlink())
    return {str(each.relative_to(folder)): each.read_text() for each in files}


def content(folder: Path) -> dict[str, str]:
    found = content_of(folder)
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


def test_a_seed_may_have_folders_in_folders_and_programs_and_all_copies_have_one_time(
    tmp_path: Path, seed: Path
) -> None:
    (seed / "debug/build/x").mkdir(parents=True)
    (seed / "debug/build/x/script").write_text("#!/bin/sh\n")
    (seed / "debug/build/x/script").chmod(0o755)
    cache = SeededCache(tmp_path / "cache", seed, trims=False)
    for _ in range(2):
        cache.restore(tmp_path / "aside")
        assert os.access(tmp_path / "cache/debug/build/x/script", os.X_OK)
        (tmp_path / "cache/debug/build/x/script").write_text("forged\n")
        (tmp_path / "cache/debug/build/y").mkdir()
    cache.restore(tmp_path / "aside")
    files = [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]
    assert len({each.stat().st_mtime_ns for each in files}) == 1
    assert not (tmp_path / "cache/debug/build/y").exists()
    assert not (tmp_path / "cache/trim.txt").exists()


def test_of_a_cache_regular_files_are_kept_and_nothing_of_one_that_is_too_large(
    tmp_path: Path, seed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = seed / "/".join("d" * 20)
    deep.mkdir(parents=True)
    (deep / "file").touch()
    (seed / "link").symlink_to("/etc/passwd")
    os.mkfifo(seed / "fifo")
    assert keep_files(seed, tmp_path / "kept")
    assert content_of(tmp_path / "kept") == FILES
    monkeypatch.setattr(lent_folders, "_MOST_BYTES", 10)
    assert not keep_files(seed, tmp_path / "small")
    assert not (tmp_path / "small").exists()
