"""Reads the text files that a person names: once, within bounds, with a clear refusal."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InvalidInput

MEGABYTE = 1_000_000

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class TextInput:
    """Hold a file's text, without a BOM and with `\\n` as its only line end.

    The same text checked out with other line ends is the same input: it makes the same prompt,
    and so finds the same recorded replies. `sha256` is the hash of the bytes on the disk, so that
    anyone can check it with `sha256sum`.
    """

    text: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FileStart:
    """Hold the first bytes of a file, and the size of the whole file in bytes."""

    data: bytes
    size: int


def read_text_input(path: Path, what: str, max_bytes: int = MEGABYTE) -> TextInput:
    """Return the text of the file that messages call `what` ("spec", "template").

    Raises `InvalidInput` where the file is missing, not a regular file, unreadable, over
    `max_bytes`, or not UTF-8 text. A FIFO or a device is refused without waiting for it.
    """
    start = read_regular_file(path, what, max_bytes + 1)
    data = start.data
    if len(data) > max_bytes:
        raise _too_large(f"{what} {path}", start.size, max_bytes)
    return TextInput(_decode(data, f"{what} {path}"), hashlib.sha256(data).hexdigest())


def read_regular_file(path: Path, what: str, limit: int, *, skipped: int = 0) -> FileStart:
    """Return the first `limit` bytes of the file that messages call `what`.

    With `skipped`, so many bytes before them are left out. Raises `InvalidInput` where the file is
    missing, not a regular file, or unreadable.
    """
    named = f"{what} {path}"
    try:
        # With O_NONBLOCK, opening a FIFO does not wait for a writer that may never come.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise InvalidInput(f"{named} does not exist", f"give the path of the {what}") from error
    except (OSError, ValueError) as error:
        raise _unreadable(named, error) from error
    try:
        status = os.fstat(descriptor)
        _require_regular(status.st_mode, named, what)
        if skipped:
            os.lseek(descriptor, skipped, os.SEEK_SET)
        data = _read_up_to(descriptor, limit)
    except OSError as error:
        raise _unreadable(named, error) from error
    finally:
        os.close(descriptor)
    return FileStart(data, max(len(data), status.st_size))


def _read_up_to(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (piece := os.read(descriptor, count - len(data))):
        data += piece
    return bytes(data)


def _require_regular(mode: int, named: str, what: str) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{named} is a directory", f"give the path of the {what} itself")
    kind = "a FIFO" if stat.S_ISFIFO(mode) else "a device"
    raise InvalidInput(
        f"{named} is {kind}, not a regular file", "save its content to a file and give that"
    )


def _decode(data: bytes, named: str) -> str:
    if data.startswith(_UTF16_BOMS):
        raise InvalidInput(
            f"{named} is UTF-16, not UTF-8: byte 0x{data[0]:02x} at offset 0",
            "save it as UTF-8",
        )
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + (len(_BOM) if data.startswith(_BOM) else 0)
        raise InvalidInput(
            f"{named} is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}",
            "save it as UTF-8",
        ) from error
    if "\0" in text:
        raise InvalidInput(
            f"{named} is not text: NUL byte at offset {data.index(0)}", "save it as UTF-8 text"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _too_large(named: str, size: int, max_bytes: int) -> InvalidInput:
    return InvalidInput(
        f"{named} is over the limit of {max_bytes:,} bytes: it has {size:,}",
        "shorten it, or split the work",
    )


def _unreadable(named: str, error: OSError | ValueError) -> InvalidInput:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return InvalidInput(
        f"{named} cannot be read: {reason}", "check the path and your permission to read it"
    )
