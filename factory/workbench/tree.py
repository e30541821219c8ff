"""Reads and writes files below one folder, following no link; renders changes as a patch.

Each folder of a path is opened relative to the folder before. So the folder that was checked is
the one that is used, even if something replaces it by a link in between.

A patch is a record for people. Nothing is decided by it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from factory.orders.documents import WriteProposal
from factory.proposal.scope import FileKind, FileState
from factory.record.runs_on_record import AttemptOnRecord
from shared.errors import PreflightRefused
from shared.files.paths import PathProblem, check_path, fold_path, is_git_path
from shared.git import refs, trees
from shared.git.client import Git
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK, because opening a FIFO would otherwise wait for a writer that never comes.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_REFUSALS = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO)
_NEW_FILE_MODE = 0o666  # the kernel takes the umask off, as for any program


class NotReadable(Exception):
    """Report that a path is not a regular file that can be read without following a link.

    `kind` says what is there instead.
    """

    def __init__(self, kind: FileKind) -> None:
        super().__init__(str(kind))
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Tree:
    """Read and write the files below `root`, by relative normalised paths.

    `submodules` are folders that belong to repos of their own. `linked` are folders of the user's
    checkout that the sandbox shows. Nothing in these folders belongs to this tree.
    """

    root: Path
    submodules: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()

    def state_of(self, path: str) -> FileState:
        """Return the kind and the hash of the file at `path` now."""
        try:
            return FileState(FileKind.FILE, sha256_bytes(self.read(path)))
        except NotReadable as refused:
            return FileState(refused.kind, EMPTY_SHA256)

    def read(self, path: str, most: int = -1) -> bytes:
        """Return the bytes of a regular file, or its first `most` bytes.

        Raises `NotReadable` saying what is there instead.
        """
        with self._parent_of(path) as (folder, name), _refusals_reported():
            kind = _kind_at(folder, name)
            if kind is not FileKind.FILE:
                raise NotReadable(kind)
            with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # swapped since
                    raise NotReadable(FileKind.OTHER)
                return file.read(most)

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path`, whole or not at all. A file that is replaced keeps its mode.

        Raises `OSError` if the disk refuses, and `NotReadable` if no file can be at `path`. The
        data is not synced, because the tree is thrown away after a crash.
        """
        with self._parent_of(path, create=True) as (folder, name):
            mode = _mode_to_keep(folder, name)
            temporary = f".llmch-{os.getpid()}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, _NEW_FILE_MODE, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def remove(self, path: str) -> None:
        """Remove the file or link at `path`, and the folders that hold nothing any more.

        Does nothing if nothing is there. Raises `NotReadable` if something else is there, and
        `OSError` if the disk refuses.
        """
        try:
            with self._parent_of(path) as (folder, name), _refusals_reported():
                kind = _kind_at(folder, name)
                if kind not in (FileKind.FILE, FileKind.LINK):
                    raise NotReadable(kind)
                os.unlink(name, dir_fd=folder)
        except NotReadable as refused:
            if refused.kind in (FileKind.ABSENT, FileKind.BEHIND_FILE):
                return
            raise
        above = path.rpartition("/")[0]
        while above:
            try:
                with self._parent_of(above) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:  # it holds something
                return
            above = above.rpartition("/")[0]

    def kind_of(self, path: str) -> FileKind:
        """Return the kind of file at `path`, without reading it."""
        try:
            with self._parent_of(path) as (folder, name), _refusals_reported():
                return _kind_at(folder, name)
        except NotReadable as refused:
            return refused.kind

    def exists(self, path: str) -> bool:
        """Return whether `path` is a regular file."""
        return self.kind_of(path) is FileKind.FILE

    def lookalike_of(self, path: str) -> str:
        """Return an existing path that some file systems would take for `path`, else "".

        Such a path differs from `path` only by case or Unicode form. If `path` itself exists, this
        file system keeps the names apart, and "" is returned.
        """
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            try:
                with self._parent_of(part) as (folder, name), _refusals_reported():
                    if _kind_at(folder, name) is FileKind.ABSENT:
                        alike = _lookalike_in(folder, name)
                        return "/".join((*parts[: depth - 1], alike)) if alike else ""
            except NotReadable:
                return ""
        return ""

    @contextlib.contextmanager
    def _parent_of(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        *folders, name = path.split("/")
        for depth in range(1, len(folders) + 1):
            above = "/".join(folders[:depth])
            if above in self.submodules:
                raise NotReadable(FileKind.IN_SUBMODULE)
            if above in self.linked:
                raise NotReadable(FileKind.IN_LINKED)
        current = os.open(self.root, _FOLDER)
        try:
            for folder in folders:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=current)
                below = _open_folder(current, folder)
                os.close(current)
                current = below
            yield current, name
        finally:
            os.close(current)


def _open_folder(parent: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        raise NotReadable(FileKind.ABSENT) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            link = _kind_at(parent, name) is FileKind.LINK
            raise NotReadable(FileKind.BEHIND_LINK if link else FileKind.BEHIND_FILE) from None
        if error.errno in _REFUSALS:
            raise NotReadable(FileKind.UNREADABLE) from None
        raise


@contextlib.contextmanager
def _refusals_reported() -> Iterator[None]:
    """Raise `NotReadable` for a name too long for the disk, or a folder that a command locked."""
    try:
        yield
    except OSError as error:
        if error.errno in _REFUSALS:
            raise NotReadable(FileKind.UNREADABLE) from None
        raise


def _kind_at(folder: int, name: str) -> FileKind:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return FileKind.ABSENT
    if stat.S_ISREG(mode):
        return FileKind.FILE
    if stat.S_ISLNK(mode):
        return FileKind.LINK
    return FileKind.FOLDER if stat.S_ISDIR(mode) else FileKind.OTHER


def _lookalike_in(folder: int, name: str) -> str:
    wanted = fold_path(name)
    return next((each for each in sorted(os.listdir(folder)) if fold_path(each) == wanted), "")


def _mode_to_keep(folder: int, name: str) -> int | None:
    kind = _kind_at(folder, name)
    if kind is FileKind.ABSENT:
        return None
    if kind is not FileKind.FILE:
        raise NotReadable(kind)
    return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


_MOST_FILES = 200
"""The most files of an unwritten proposal that are compared; an order names far fewer."""
# Git names both sides of a new file by the folder that has it. No line of content begins like this.
_NEW_FILE = re.compile(rb'^(diff --git "?)b/', re.MULTILINE)
_FILE_MODES = {"100644": 0o644, "100755": 0o755}


def patch_of_proposal(
    git: Git, baseline: str, proposal: WriteProposal, tree: str = "", *, removed: Sequence[str] = ()
) -> bytes:
    """Return the patch from the commit `baseline` to the proposal's files.

    `removed` are files that the order removes beside them. `tree` is the tree that git made of all
    that, if it made one. Without it, the files are compared with those of the baseline outside of
    any repo. A file that cannot be compared is named on a line of its own, above the patch. Raises
    `GitFailed` if git cannot read the baseline.
    """
    if tree:
        return trees.between(git, baseline, tree)
    writes = {each.path: each.content.encode() for each in proposal.writes}
    problems = {path: _problem_with(path) for path in (*writes, *removed)}
    compared = [path for path in problems if not problems[path]]
    problems |= dict.fromkeys(compared[_MOST_FILES:], f"is beyond the first {_MOST_FILES} files")
    compared = compared[:_MOST_FILES]
    before = trees.entries_of(git, baseline, compared) if compared else {}
    contents = trees.blobs(
        git, [each.object_id for each in before.values() if each.mode in _FILE_MODES]
    )
    with tempfile.TemporaryDirectory(prefix="llmch-patch-") as name:
        folder = Path(name)
        for side in ("a", "b"):
            (folder / side).mkdir()
        for path in compared:
            mode = _FILE_MODES.get(before[path].mode if path in before else "", 0o644)
            old = contents.get(before[path].object_id) if path in before else None
            try:
                if path in writes:
                    _put(folder / "b" / path, writes[path], mode)
                if old is not None:  # after the write, which may be refused
                    _put(folder / "a" / path, old, mode)
            except OSError as error:
                problems[path] = error.strerror or str(error)
        patch = trees.of_folders(git.at(folder), "a", "b")
    return "".join(_left_out(problems)).encode() + _NEW_FILE.sub(rb"\1a/", patch)


def patch_of_attempt(git: Git, attempt: AttemptOnRecord) -> bytes:
    """Return what an attempt on record changed; empty if it proposed nothing.

    The patch on record is taken if it exists. Raises `PreflightRefused` if it does not exist
    and the commit that the attempt began from is gone.
    """
    if (patch := attempt.patch) is not None:
        return patch
    if attempt.proposal is None:
        return b""
    baseline = baseline_of(git, attempt)
    judged = attempt.proposal.model_copy(update={"writes": attempt.writes})
    return patch_of_proposal(git, baseline, judged, removed=attempt.removed)


def baseline_of(git: Git, attempt: AttemptOnRecord) -> str:
    """Return the commit that an attempt began from.

    Raises `PreflightRefused` if the record does not name it or the repo does not have it.
    """
    if attempt.baseline and refs.commit_of(git, attempt.baseline):
        return attempt.baseline
    named = f"the commit {attempt.baseline[:12]}" if attempt.baseline else "the commit"
    why = "is not in this repo any more" if attempt.baseline else "is not on record"
    raise PreflightRefused(
        f"{named} that {attempt.describe()} began from {why}",
        f"the files that it proposed are whole in {attempt.folder / 'proposed_writes.json'}",
    )


def _put(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _problem_with(path: str) -> str:
    """Return why no file can have this path in a folder; "" if one can."""
    try:
        normal = check_path(path)
    except PathProblem as problem:
        return str(problem)
    if is_git_path(path):
        return "belongs to git"
    return "" if normal == path else "is not normalised"


def _left_out(problems: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each file that is missing in the patch; `git apply` skips these lines."""
    for path, problem in problems.items():
        if problem:
            yield f"# {path!a} is not in this patch: it {problem}\n"
