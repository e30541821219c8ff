"""Keeps which trees passed their verification, so that an equal tree is not verified again.

Only success is kept. A failure is looked at again each time, because the user may have fixed its
cause outside of the repo.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from factory.judging.verification import Check
from factory.orders.options import RunOptions
from factory.sandbox.visible.interpreter import Interpreter, interpreter_of
from factory.workbench.workbench import Workbench
from shared.work_order.hashing import sha256_bytes

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


def base_key(tree: str, checks: Sequence[Check], bench: Workbench, options: RunOptions) -> str:
    """Return the hash of all that a verification's outcome depends on, as far as llmch knows it.

    That is the tree, the commands, the sandbox with its settings, the interpreter with the packages
    beside it, the linked folders, and the time limit.
    """
    settings, sandbox = options.settings, bench.sandbox
    document = {
        "tree": tree,
        "commands": [each.text for each in checks],
        "backend": [sandbox.backend, sandbox.version],
        "guarantees": {str(name): held for name, held in sandbox.guarantees.items()},
        "limits": asdict(sandbox.limits),
        "net": settings.sandbox.net,
        "paths": [list(map(str, each)) for each in (settings.sandbox.read, settings.sandbox.write)],
        "variables": {name: os.environ.get(name) for name in settings.sandbox.env},
        "python": _describe(interpreter_of(bench.python)),
        "linked": [(each.path, str(each.source), _changed(each.source)) for each in bench.linked],
        "timeout_seconds": settings.timeout_seconds,
    }
    return sha256_bytes(json.dumps(document, sort_keys=True).encode())


def _describe(python: Interpreter) -> list[object]:
    """Return which interpreter it is; an installation or a removal changes a folder's time."""
    packages = [
        folder
        for prefix in python.prefixes
        for folder in sorted(prefix.glob("lib/python3*/*-packages"))
    ]
    places = [python.executable, *packages]
    return [python.tag, *([str(each), _changed(each)] for each in places)]


def _changed(path: Path) -> int:
    """Return when a path last changed, in nanoseconds; 0 where nothing is there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
