"""Reads texts that others wrote: files that a person names, and files of trees."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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

    Raises `InvalidInput` if the file is missing, not a regular file, unreadable, over
    `max_bytes`, or not UTF-8 text. A FIFO or a device is refused without waiting for it.
    """
    start = read_regular_file(path, what, max_bytes + 1)
    data = start.data
    if len(data) > max_bytes:
        raise _too_large(f"{what} {path}", start.size, max_bytes)
    return TextInput(_decode(data, f"{what} {path}"), hashlib.sha256(data).hexdigest())


def read_regular_file(path: Path, what: str, limit: int, *, skipped: int = 0) -> FileStart:
    """Return the first `limit` bytes of the file that messages call `what`.

    With `skipped`, so many bytes before them are left out. Raises `InvalidInput` if the file is
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


def read_plain(path: Path, limit: int | None = None) -> bytes:
    """Return what a file of our own holds, at most `limit` bytes of it.

    Raises `OSError` if there is none. A link, a FIFO or a device in its place is refused without
    waiting for it: whoever can write the folder could make a command hang, or fill its memory.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        size = status.st_size
        return _read_up_to(descriptor, size if limit is None else min(size, limit))
    finally:
        os.close(descriptor)


_HEAD_BYTES: Final = 2_000  # what llmch writes shows within these what it is


def place_for_output(flag: str, path: Path, example: str, mark: str) -> Path:
    """Return where a file may be written: a new one, or one of the same kind as is there already.

    Each file of the kind has `mark` in its head, and `example` could be the name of one. Raises
    `InvalidInput`, which names `flag`, if anything else is there, or nothing can be written.
    """
    path = path.absolute()
    if path.is_dir():
        raise InvalidInput(
            f"{flag} {path} is a directory", f"name a file in it: {flag} {path / example}"
        )
    if not path.parent.is_dir():
        raise InvalidInput(
            f"{flag} {path}: the folder {path.parent} is not there", "create it, or name another"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InvalidInput(
            f"{flag} {path}: the folder {path.parent} cannot be written", "name another folder"
        )
    if os.path.lexists(path):
        head = read_regular_file(path, f"file of {flag}", _HEAD_BYTES).data
        if head.strip() not in (b"", b"[]") and mark.encode() not in head:
            raise InvalidInput(
                f"{flag} {path} would overwrite a file that was not written by llmch",
                "name another file, or remove this one",
            )
    return path


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
            f"{named} is UTF-16, not UTF-8: byte 0x{data[0]:02x} at offset 0", "save it as UTF-8"
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


PLACE = re.compile(r"\{\{([A-Z_]+)\}\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return `template` with each `{{NAME}}` replaced for which `values` has a value.

    The text is replaced in one pass: a value that itself contains `{{NAME}}` stays as it is.
    """
    return PLACE.sub(lambda place: values.get(place[1], place[0]), template)


MAX_SOURCE_BYTES = 200_000


class TreeSources(Mapping[str, str]):
    """Map paths to texts, which are read on demand; a file that cannot be read is absent.

    Links and the files behind them are absent. So are files that are not regular, exceed
    `MAX_SOURCE_BYTES`, or are not UTF-8.
    """

    def __init__(self, files: Collection[str]) -> None:
        self._files = frozenset(files)
        self._paths = tuple(sorted(self._files))
        self._texts: dict[str, str | None] = {}

    def __getitem__(self, path: str) -> str:
        text = self.text(path)
        if text is None:
            raise KeyError(path)
        return text

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.text(path) is not None

    def __iter__(self) -> Iterator[str]:
        return (path for path in self._paths if self.text(path) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def paths(self) -> Sequence[str]:
        return self._paths

    def text(self, path: str) -> str | None:
        """Return the text of an offered file, `None` if it cannot be read."""
        if path not in self._files:
            return None
        if path not in self._texts:
            self.load([path])
        return self._texts[path]

    def load(self, paths: Iterable[str]) -> None:
        """Read those of `paths` that are offered, all at once where that is quicker."""
        wanted = [path for path in paths if path in self._files and path not in self._texts]
        if wanted:
            self._texts |= self._read_all(wanted)

    @abstractmethod
    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        """Return the text of each of `paths`, `None` if it cannot be read."""


MAX_DEPTH: Final = 40  # folders above a file that is read


class RepoSources(TreeSources):
    """Map paths to the texts of a checkout's files, as they are on the disk."""

    def __init__(self, root: Path, files: Collection[str] = ()) -> None:
        super().__init__(files)
        self._root = root
        self._folders: dict[str, bool] = {"": True}

    def read(self, path: str) -> str | None:
        """Return the text of a file below the root, `None` if it cannot be read."""
        if path.count("/") > MAX_DEPTH or not self._behind_no_link(path):
            return None
        return _read(self._root / path)

    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        return {path: self.read(path) for path in paths}

    def _behind_no_link(self, path: str) -> bool:
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count])
            if folder not in self._folders:
                try:
                    mode = (self._root / folder).lstat().st_mode
                    self._folders[folder] = stat.S_ISDIR(mode)
                except (OSError, ValueError):
                    self._folders[folder] = False
            if not self._folders[folder]:
                return False
        return True


def _read(file: Path) -> str | None:
    try:
        data = read_plain(file, MAX_SOURCE_BYTES + 1)
        return None if len(data) > MAX_SOURCE_BYTES else data.decode("utf-8-sig")
    except (OSError, ValueError):
        return None
