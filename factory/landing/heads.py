"""Reads a repo's HEAD files, so that git need not be started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_ON_A_BRANCH = b"ref: refs/heads/"
_STAND_IN = b".invalid"  # the name in HEAD if refs are not kept in files (reftable)
_LONGEST_HEAD = 4096


def surely_not_checked_out(branch: str, common_dir: Path) -> bool:
    """Return whether the HEAD files of all working trees say that none is on `branch`.

    The result is false if a working tree is on `branch`, and also in any case of doubt;
    `Git.checkouts` then gives the certain answer.
    """
    # Some file systems treat names that differ only in case as the same name.
    wanted = branch.encode("utf-8", "surrogateescape").lower()
    try:
        return all(_is_on_another(_read(head), wanted) for head in _heads(common_dir))
    except OSError:
        return False


def _heads(common_dir: Path) -> Iterator[Path]:
    yield common_dir / "HEAD"
    linked = common_dir / "worktrees"
    if linked.is_dir():
        for folder in linked.iterdir():
            yield folder / "HEAD"


def _read(head: Path) -> bytes:
    """Return the content of a HEAD file; b"" if it is a link, as in repos of very old gits."""
    if head.is_symlink():
        return b""
    with head.open("rb") as file:
        return file.read(_LONGEST_HEAD).strip()


def _is_on_another(head: bytes, branch: bytes) -> bool:
    if not head.startswith(_ON_A_BRANCH):
        return len(head) in (40, 64) and head.isalnum()  # detached, at a commit's id
    found = head.removeprefix(_ON_A_BRANCH).lower()
    return found not in (branch, _STAND_IN)
