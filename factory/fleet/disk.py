"""Says whether a worker's disk has room for steps."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOM_BYTES: Final = 64 << 20
_PART: Final = 20


@dataclass(frozen=True, slots=True)
class Disk:
    """Watch the disk of a folder."""

    folder: Path

    def complaint(self) -> str:
        """Return what is wrong in words; "" while there is room.

        There is room while 64 MiB are free, or a twentieth of a small disk.
        """
        try:
            usage = shutil.disk_usage(self.folder)
        except OSError as error:
            return f"its disk cannot be asked: {error.strerror}"
        if usage.free < min(_ROOM_BYTES, usage.total // _PART):
            return f"its disk is full: {usage.free / 1e6:.1f} MB are free below {self.folder}"
        return ""
