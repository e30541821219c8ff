"""Output of any length in bounded memory and bounded files."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from factory.sandbox.outcome import Captured

# What is kept in memory of each stream: far more than an excerpt needs, and a traceback of any
# sensible test run fits whole.
HEAD_BYTES = 32 * 1024
TAIL_BYTES = 32 * 1024
# What the log keeps of each stream before the mark and the tail.
LOG_BYTES = 8 * 1024 * 1024


class Capture:
    """Takes one stream's bytes as they come; `captured` says at the end what was kept."""

    def __init__(self, log: Path) -> None:
        self._log = log
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
        """What was kept, once the stream has ended; completes the log."""
        cut = self.total_bytes - len(self._head) - len(self._tail)
        if self.total_bytes > LOG_BYTES:
            tail = self._tail[-(self.total_bytes - LOG_BYTES) :]
            self._file.write(_mark(self.total_bytes - LOG_BYTES - len(tail)) + tail)
        kept = self._head + (_mark(cut) if cut else b"") + self._tail
        return Captured(kept.decode("utf-8", "replace"), self.total_bytes, cut > 0, self._log)


def _mark(cut: int) -> bytes:
    return b"\n[... %d bytes cut ...]\n" % cut if cut else b""


def log_files(log: Path) -> tuple[Path, Path]:
    """Where the two streams of a command with this `log` stem go."""
    return log.with_name(f"{log.name}.stdout.log"), log.with_name(f"{log.name}.stderr.log")
