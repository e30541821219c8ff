"""Keeps which trees passed their verification, so that an equal tree is not verified again.

Only success is kept. A failure is looked at again each time, because the user may have fixed its
cause outside of the repo.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MOST_KEPT: Final = 200
_LARGEST_FILE: Final = 64 * 1024  # bytes; 200 keys take 14,000
# O_NONBLOCK, because opening a FIFO would otherwise wait for a writer that never comes.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class KeptBases:
    """Keep the keys of verified trees in a repo's git folder. Only the holder of the lock writes.

    What else stands in the file, or in its place, counts as nothing and is replaced.
    """

    path: Path

    @classmethod
    def of(cls, common_dir: Path) -> KeptBases:
        """Return the keys that the repo with this git folder keeps."""
        return cls(common_dir / "llmch" / "verified.json")

    def __contains__(self, key: str) -> bool:
        return key in self._read()

    def add(self, key: str) -> None:
        """Keep a key, and forget the oldest keys. A disk that refuses is no error.

        A file that a crash leaves torn counts as nothing, so it need not be written atomically.
        """
        keys = [*(each for each in self._read() if each != key), key][-_MOST_KEPT:]
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(exist_ok=True)
            self.path.unlink(missing_ok=True)
            with os.fdopen(os.open(self.path, _WRITE, 0o644), "w") as file:
                json.dump({"verified": keys}, file)

    def _read(self) -> list[str]:
        try:
            with os.fdopen(os.open(self.path, _READ), "rb") as file:
                document = json.loads(file.read(_LARGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return []
        listed = document.get("verified") if isinstance(document, dict) else None
        keys = listed if isinstance(listed, list) else []
        return [each for each in keys if isinstance(each, str) and _KEY.fullmatch(each)]
