"""Defines a stream that can be written to even when nobody reads it any longer."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import stat
from typing import TextIO

from llmch.console.line import GLYPHS


class Stream:
    """Write text, without buffering, to a stream that may be closed, full or of a poor encoding.

    Writing never raises: a reader that went away (`| head -1`) ends the output and not the run,
    and characters that the encoding lacks are escaped. `failure` says why output was lost.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._gone = stream is None
        self.encoding = _encoding_of(stream)
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write and flush the text."""
        if self._stream is None or self._gone:
            return len(text)
        safe = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        try:
            self._stream.write(safe)
            self._stream.flush()
        except BlockingIOError as error:  # a non-blocking pipe is full because its reader is slow
            self.failure = error
        except OSError as error:
            self._lose(error)
        except ValueError as error:  # "I/O operation on closed file"
            self._lose(OSError(errno.EBADF, str(error)))
        return len(text)

    def flush(self) -> None:
        """Do nothing: every write is flushed."""

    def isatty(self) -> bool:
        """Return whether this stream is a terminal."""
        if self._stream is None or self._gone:
            return False
        try:
            return self._stream.isatty()
        except ValueError:
            return False

    @property
    def is_file(self) -> bool:
        """Return whether all that is written goes to a file, so that nothing reads it meanwhile."""
        try:
            return stat.S_ISREG(os.fstat(self.fileno()).st_mode)
        except (OSError, ValueError):
            return False

    def fileno(self) -> int:
        """Return the file descriptor. Raises `OSError` where there is none, as any stream does."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's columns and lines; 80 and 24 where the system does not know."""
        try:
            columns, lines = os.get_terminal_size(self.fileno())
        except (OSError, ValueError):
            columns, lines = 0, 0
        return columns or 80, lines or 24

    @property
    def shows_glyphs(self) -> bool:
        """Return whether the encoding has the marks of lines."""
        try:
            "".join(GLYPHS.values()).encode(self.encoding)
        except UnicodeError:
            return False
        return True

    def _lose(self, error: OSError) -> None:
        self._gone = True
        self.failure = error
        # Python would write the buffered text again at exit, and complain.
        with contextlib.suppress(OSError, ValueError):
            descriptor = self.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _encoding_of(stream: TextIO | None) -> str:
    name = getattr(stream, "encoding", None) or "utf-8"
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "ascii"
