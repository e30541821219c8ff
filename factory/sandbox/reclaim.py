"""Takes folders back from commands, which may have left any content and any mode."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path


def put_aside(folder: Path, aside: Path) -> None:
    """Move a folder that a command has filled into the folder `aside`, under a new name."""
    regain(folder)
    folder.rename(Path(tempfile.mkdtemp(dir=aside)) / folder.name)


def regain(folder: Path) -> None:
    """Give a folder's owner back the rights that a command may have removed."""
    mode = folder.stat().st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(mode | stat.S_IRWXU)
