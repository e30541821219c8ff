"""Carries the files of a folder through the queue, and writes them into another folder."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from shared.files.atomic_io import make_folder, write_bytes

# The database is no place for larger files, such as the log of a command that never stops.
_MOST_BYTES_OF_A_FILE: Final = 1024 * 1024
_MOST_BYTES: Final = 32 * 1024 * 1024
# These hold paths of the folder that they were written in.
_RECORDS: Final = frozenset((".json", ".jsonl"))


def pack(folder: Path) -> Mapping[str, str]:
    """Return the files below a folder by their path in it, in base64; large ones are left out.

    Files of up to 1 MiB are carried, until they are 32 MiB together.
    """
    return dict(_packed(folder))


def _packed(folder: Path) -> Iterator[tuple[str, str]]:
    room = _MOST_BYTES
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        size = path.stat().st_size
        if size <= min(_MOST_BYTES_OF_A_FILE, room):
            room -= size
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            yield str(path.relative_to(folder)), content


def unpack(files: Mapping[str, str], folder: Path, was: str = "") -> None:
    """Write carried files into a folder; in records, this folder takes the place of `was`.

    A path that leads out of the folder is passed over. Raises `ValueError` for what is not base64,
    and for a path that is to be a file and a folder.
    """
    names = frozenset(map(PurePosixPath, files))
    for path, content in files.items():
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            continue
        if not names.isdisjoint(parts.parents):
            raise ValueError(f"{path!r} is below a file")
        target = folder / parts
        make_folder(target.parent)
        data = base64.b64decode(content)
        if was and target.suffix in _RECORDS:
            data = data.replace(_in_json(was), _in_json(str(folder)))
        write_bytes(target, data, sync=False)


def _in_json(path: str) -> bytes:
    return json.dumps(path)[1:-1].encode()
