"""One process at a time reads a small file and writes it again; nobody waits for ever."""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.files import atomic_io
from shared.files.atomic_io import exclusively


def test_what_is_read_and_written_exclusively_is_never_lost(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def add(_: int) -> None:
        with exclusively(tmp_path / "lock"):
            counter.write_text(str(int(counter.read_text()) + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(100)))
    assert counter.read_text() == "100"


def test_a_lock_that_stays_held_or_cannot_be_made_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_io, "_PATIENCE_SECONDS", 0.0)
    done = []
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for place in (tmp_path / "lock", tmp_path / "none" / "lock"):
            with exclusively(place):
                done.append(place)
    assert len(done) == 2
