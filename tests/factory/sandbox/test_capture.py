"""What is kept of output of any length."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.sandbox import supervision
from factory.sandbox.policy import Captured
from factory.sandbox.supervision import HEAD_BYTES, LOG_BYTES, TAIL_BYTES, Capture


def captured(log: Path, *pieces: bytes) -> Captured:
    with Capture(log) as stream:
        for piece in pieces:
            stream.add(piece)
        return stream.captured()


def test_output_that_fits_is_kept_whole(tmp_path: Path) -> None:
    text = b"x" * (HEAD_BYTES + TAIL_BYTES)
    kept = captured(tmp_path / "log", text)
    assert (kept.text.encode(), kept.total_bytes, kept.truncated) == (text, len(text), False)


def test_of_longer_output_head_and_tail_are_kept_and_the_cut_is_counted(tmp_path: Path) -> None:
    kept = captured(tmp_path / "log", b"h" * HEAD_BYTES, b"m" * 1000, b"t" * TAIL_BYTES)
    assert kept.truncated
    assert kept.text == "h" * HEAD_BYTES + "\n[... 1000 bytes cut ...]\n" + "t" * TAIL_BYTES
    assert kept.log.stat().st_size == HEAD_BYTES + 1000 + TAIL_BYTES


def test_a_log_is_bounded_and_ends_with_the_tail(tmp_path: Path) -> None:
    piece = bytes(range(256)) * 4096
    kept = captured(tmp_path / "log", *[piece] * 20, b"the last words")
    log = kept.log.read_bytes()
    assert len(log) <= LOG_BYTES + TAIL_BYTES + 100
    assert log.startswith(piece)
    assert log.endswith(b"the last words")
    assert b"bytes cut" in log


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_however_it_comes_in_pieces_the_same_is_kept(pieces: list[bytes]) -> None:
    small = {"HEAD_BYTES": 16, "TAIL_BYTES": 24, "LOG_BYTES": 64}
    whole = b"".join(pieces)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for name, size in small.items():
            patch.setattr(supervision, name, size)
        kept = captured(Path(folder, "log"), *pieces)
        log = kept.log.read_bytes()
    cut = len(whole) - 40
    if cut <= 0:
        assert kept.text == whole.decode("utf-8", "replace")
    else:
        mark = b"\n[... %d bytes cut ...]\n" % cut
        assert kept.text == (whole[:16] + mark + whole[-24:]).decode("utf-8", "replace")
    assert (kept.total_bytes, kept.truncated) == (len(whole), cut > 0)
    assert log[:64] == whole[:64]
    assert log.endswith(whole[64:][-24:])
