"""Captures output of any length in bounded memory and bounded files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeAlias

from factory.sandbox.outcome import Captured

# Bytes of each stream that are kept in memory: far more than an excerpt needs, and enough for the
# whole traceback of any sensible test run.
HEAD_BYTES = 32 * 1024
TAIL_BYTES = 32 * 1024
# Bytes of each stream that the log keeps before the mark and the tail.
LOG_BYTES = 8 * 1024 * 1024

Show: TypeAlias = Callable[[bytes], None]
"""Takes each piece of a command's output, of either stream, as it comes."""


class Capture:
    """Take one stream's bytes as they come; `captured` returns at the end what was kept.

    `show` is given each piece as well, as it comes.
    """

    def __init__(self, log: Path, show: Show | None = None) -> None:
        self._log = log
        self._show = show
        self._file: BinaryIO = log.open("wb")
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        if self._show is not None:
            self._show(data)
        room = LOG_BYTES - self.total_bytes
        if room > 0:
            self._file.write(data[:room])
        self.total_bytes += len(data)
        missing = HEAD_BYTES - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        self._tail += data[-TAIL_BYTES:]
        del self._tail[:-TAIL_BYTES]

    def captured(self) -> Captured:
        """Complete the log of a stream that has ended, and return what was kept."""
        cut = self.total_bytes - len(self._head) - len(self._tail)
        if self.total_bytes > LOG_BYTES:
            tail = self._tail[-(self.total_bytes - LOG_BYTES) :]
            self._file.write(_mark(self.total_bytes - LOG_BYTES - len(tail)) + tail)
        kept = self._head + (_mark(cut) if cut else b"") + self._tail
        return Captured(kept.decode("utf-8", "replace"), self.total_bytes, cut > 0, self._log)


def _mark(cut: int) -> bytes:
    return b"\n[... %d bytes cut ...]\n" % cut if cut else b""


def log_files(log: Path) -> tuple[Path, Path]:
    """Return the files for a command's stdout and stderr, whose names begin with that of `log`."""
    return log.with_name(f"{log.name}.stdout.log"), log.with_name(f"{log.name}.stderr.log")
