"""Writes files so that each is there whole or not at all.

A write goes to a temporary file in the same folder. The file is synced and then renamed to its
final name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from shared.errors import CommandFailed, EnvironmentFault
from shared.files.secret_values import redact, secret_values

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAFT = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


def render_json(value: Any) -> str:
    """Return `value` as the indented JSON text, with a final newline, that all artifacts use."""
    from pydantic_core import PydanticSerializationError, to_json

    # pydantic takes a tenth of the time of `json`, which indents in Python. Both write the same
    # text, except for the exponents of tiny numbers. Only lone surrogates need `json`.
    try:
        text = to_json(value, indent=2, inf_nan_mode="constants").decode()
    except PydanticSerializationError:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    return text + "\n"


def write_bytes(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Put `data` at `path` atomically; with `sync`, not even a power loss leaves a torn file.

    Raises `CommandFailed`, which names the path, where the disk refuses. Nothing is left behind.
    """
    temporary = _draft_of(path)
    try:
        descriptor = os.open(temporary, _NEW_FILE, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise write_refused(path, error) from error


def write_text(path: Path, text: str, *, sync: bool = True) -> None:
    """Put `text` at `path` as UTF-8; a lone surrogate is written as its escape, never refused.

    The values of the environment's secrets are masked, so that no record keeps one.
    """
    text = redact(text, secret_values(os.environ))
    write_bytes(path, text.encode("utf-8", "backslashreplace"), sync=sync)


def write_json(path: Path, value: Any, *, sync: bool = True) -> None:
    write_text(path, render_json(value), sync=sync)


_MOST_KEPT_BYTES = 8_000_000


def keep(file: Path, data: bytes, most: int) -> None:
    """Keep `data` in a cache of `most` files, beside the newest; what cannot be kept is not.

    The folder is the person's alone, because a cache can quote code.
    """
    if len(data) > _MOST_KEPT_BYTES:
        return
    with suppress(OSError, CommandFailed):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        digest = hashlib.sha256(data).hexdigest().encode()
        write_bytes(file, digest + b"\n" + data, sync=False)
        kept = sorted(file.parent.iterdir(), key=lambda each: each.lstat().st_mtime_ns)
        for each in kept[:-most]:
            each.unlink(missing_ok=True)


def read_kept(file: Path) -> bytes | None:
    """Return what was kept in a file; `None` where nothing was, or it is damaged."""
    try:
        with file.open("rb") as opened:
            digest, _, data = opened.read(_MOST_KEPT_BYTES + 100).partition(b"\n")
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest().encode() == digest else None


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put a new folder of flat files in place with one rename, synced once as a whole.

    `folder` must not exist yet. All files are first written to a temporary folder beside it, so
    nobody ever sees half of them. Raises `CommandFailed` if the disk refuses.
    """
    staging = _draft_of(folder)
    try:
        staging.mkdir()
        for name, data in files.items():
            (staging / name).write_bytes(data)
        _sync_all(staging, files)
        staging.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise write_refused(folder, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def remove_drafts(folder: Path) -> None:
    """Remove the temporary files that a killed process left below `folder`.

    No other process may write there meanwhile. Where the system refuses to remove a file, the
    rest stays; no error is raised.
    """
    with suppress(OSError):
        for draft in folder.rglob(".*.tmp"):
            if _DRAFT.fullmatch(draft.name) and not draft.is_dir():
                draft.unlink()


def replace_files(folder: Path, files: Mapping[str, bytes], gone: Collection[str] = ()) -> None:
    """Put `files` into `folder` and remove `gone` from it, all together or not at all.

    Raises `CommandFailed` if the disk refuses; then everything is as it was before. Only a
    crash during the last renames can leave a part done. The old files are then in a hidden folder
    inside `folder`.
    """
    staging = _draft_of(folder / "files")  # of another name than one that a killed process left
    new, old = staging / "new", staging / "old"
    try:
        with ExitStack() as undo:
            undo.callback(_discard, staging, new, old)
            new.mkdir(parents=True)
            old.mkdir()
            for name, data in files.items():
                (new / name).write_bytes(data)
            _sync_all(new, files)
            for name in (*files, *gone):
                place = folder / name
                if place.exists() or place.is_symlink():
                    place.rename(old / name)
                    undo.callback((old / name).rename, place)
                if name in files:
                    (new / name).rename(place)
                    undo.callback(place.unlink)
            sync_folder(folder)
            undo.pop_all()
    except OSError as error:
        raise write_refused(folder, error) from error
    shutil.rmtree(staging, ignore_errors=True)


def _discard(staging: Path, new: Path, old: Path) -> None:
    """Remove the staging folder, except old files that could not be put back in their place."""
    shutil.rmtree(new, ignore_errors=True)
    with suppress(OSError):
        old.rmdir()
        staging.rmdir()


def sync_folder(folder: Path) -> None:
    """Make renames within `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> Path:
    """Create `folder` and its parents, and return `folder`.

    Raises `CommandFailed` if the disk refuses.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_refused(folder, error) from error
    return folder


def is_disk_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


_ELSEWHERE = "free space or make the folder writable, or choose another with --artifacts-dir"


def write_refused(
    path: Path, error: OSError, outcome: str = "", hint: str = _ELSEWHERE
) -> CommandFailed:
    """Return the error that names the path, the system's reason, and the `outcome`."""
    refused = EnvironmentFault if is_disk_full(error) else CommandFailed
    return refused(f"cannot write {path}: {error.strerror or error}{outcome}", hint)


def _draft_of(path: Path) -> Path:
    # Nobody can foresee the name, so no other file has it or gets it first.
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")


def _sync_all(folder: Path, names: Mapping[str, bytes]) -> None:
    # One syncfs waits for the device once; an fsync of each file would wait once per file.
    if not _syncfs(folder):
        for name in names:
            with (folder / name).open("rb") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def _syncfs(folder: Path) -> bool:
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        call = libc.syncfs
    except (ImportError, OSError, AttributeError):
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return bool(call(descriptor) == 0)
    finally:
        os.close(descriptor)


_LOOK_EVERY_SECONDS = 0.01
# A holder needs milliseconds. One that was stopped must not stop all others.
_PATIENCE_SECONDS = 10.0


@contextlib.contextmanager
def exclusively(lock: Path) -> Iterator[None]:
    """Hold the file `lock` while the block runs; it is made where it does not exist.

    The block also runs where the file cannot be made or stays held for ten seconds: what it guards
    has to be whole even then.
    """
    with contextlib.ExitStack() as opened:
        with contextlib.suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            opened.callback(os.close, descriptor)
            _wait_for(descriptor)
        yield


def _wait_for(descriptor: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_EVERY_SECONDS)
    return None


def write_new_files(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write each of `files` at whose path there is nothing, and return the paths written.

    Anything at a path, also a link that leads nowhere, stays as it is. Raises `CommandFailed`
    if the system refuses a file; then no file was written.
    """
    written = []
    with ExitStack() as undo:
        for path, text in files.items():
            try:
                is_new = _write_new(path, text.encode())
            except OSError as error:
                hint = "check that the folder is there, is writable, and has room"
                raise write_refused(path, error, "; nothing was written", hint) from error
            if is_new:
                written.append(path)
                undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()
    return tuple(written)


def _write_new(path: Path, data: bytes) -> bool:
    """Write a file in one step; return whether it was written."""
    if os.path.lexists(path):
        return False
    draft = _draft_of(path)
    try:
        with os.fdopen(os.open(draft, _NEW_FILE, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # somebody else was faster
            os.link(draft, path)  # unlike a rename, never replaces a file
            return True
        return False
    finally:
        draft.unlink(missing_ok=True)
