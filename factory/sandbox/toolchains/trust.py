"""Says whether a folder of the user's PATH may be shown to commands and searched for programs."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def reason_against(folder: Path, home: Path, repo: Path | None) -> str:
    """Return why programs in `folder`, an absolute path, cannot be trusted; "" where they can.

    Whoever can put a program into the folder, or replace the folder, decides what verifies an
    order. So nobody but root and the user may be able to, and the repo may not either.
    """
    try:
        real = folder.resolve(strict=True)
        if home.resolve().is_relative_to(real):
            return "it is your home folder" if real == home.resolve() else "it holds your home"
        if repo and (real.is_relative_to(repo.resolve()) or folder.is_relative_to(repo)):
            return "it is inside the repo"
        return _open_to_all(folder) or _open_to_all(real)
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        return getattr(error, "strerror", None) or str(error)


def _open_to_all(folder: Path) -> str:
    facts = folder.stat()
    if facts.st_mode & stat.S_IWOTH:
        return "everybody may write to it"
    owner = facts.st_uid
    for above in folder.parents:
        facts = above.stat()
        if facts.st_mode & stat.S_IWOTH:
            if not facts.st_mode & stat.S_ISVTX:
                return f"everybody may write to {above}"
            if owner not in (0, os.geteuid()):
                return f"another user made it in {above}, where everybody may write"
        owner = facts.st_uid
    return ""
