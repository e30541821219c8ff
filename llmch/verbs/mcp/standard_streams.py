"""Takes standard input and output for the protocol alone.

Whatever else of this process writes to standard output, or reads standard input, gets standard
error and nothing. Reading and writing can be cancelled, so a client that neither writes nor reads
cannot keep the server from ending.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel

_CHUNK = 1 << 16
_MOST_LINE = 8 * 1024 * 1024  # bytes; no request is near it


@contextlib.contextmanager
def standard_streams(gone: Callable[[], None]) -> Iterator[tuple[Any, Any]]:
    """Give standard input and output as the protocol's library reads and writes them.

    `gone` is called where nobody reads standard output any longer.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing, blocks = os.open(os.devnull, os.O_RDONLY), os.get_blocking(outgoing)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield _Lines(incoming), _Output(outgoing, gone)
    finally:
        os.set_blocking(outgoing, blocks)  # others may write to the same pipe
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
        os.close(incoming)
        os.close(outgoing)


class _Lines:
    """Iterate over the lines of a descriptor; a blank one stands for one that is too long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waits = _can_wait(descriptor)
        self._rest = bytearray()
        self._skips = False

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        while (end := self._rest.find(b"\n")) < 0:
            await self._read()
        line = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        skipped, self._skips = self._skips, False
        return "\n" if skipped else line.decode("utf-8", "replace")

    async def _read(self) -> None:
        if self._waits:
            await anyio.wait_readable(self._descriptor)
        else:
            await anyio.lowlevel.checkpoint()
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError as error:  # the terminal has gone
            raise StopAsyncIteration from error
        if not chunk:
            raise StopAsyncIteration
        self._rest += chunk
        if len(self._rest) > _MOST_LINE and b"\n" not in chunk:
            self._rest.clear()
            self._skips = True


class _Output:
    """Write text to a descriptor, waiting where it is full."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gone = gone
        self._waits = _can_wait(descriptor) and not os.isatty(descriptor)
        if self._waits:
            os.set_blocking(descriptor, False)

    async def write(self, text: str) -> None:
        """Write the text. Where nobody reads it any longer, the server is told to end."""
        left = memoryview(text.encode("utf-8", "replace"))
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            except OSError:
                self._gone()
                return

    async def flush(self) -> None:
        """Do nothing: every write is flushed."""


def _can_wait(descriptor: int) -> bool:
    """Return whether the system can be asked to wait for the descriptor, as for no file."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
