"""Has the system refuse one of a run's writes, or all from one on; nothing of ours is replaced.

Stands between Python and the system: whatever opens a file to write, writes, syncs, renames or
makes a folder is counted, and refused where it was told to. Reading, removing, pipes and sockets
are left alone, and so is git, which has processes of its own.
"""

from __future__ import annotations

import builtins
import io
import os
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass
class Faults:
    """Refuses the operation number `at` (from 1; none for 0), or all from there with `lasting`."""

    at: int
    errno: int
    lasting: bool
    account: Path
    """Where each operation is told, so that a first run says what there is to refuse."""
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def pass_or_refuse(self, what: str) -> None:
        with self.lock:
            self.count += 1
            refused = 0 < self.at <= self.count if self.lasting else self.count == self.at
        TELL(self.account, f"{self.count} {what}{' refused' if refused else ''}")
        if refused:
            raise OSError(self.errno, os.strerror(self.errno))


def bind_tell() -> Callable[[Path, str], None]:
    """Return what appends a line to a file, past whatever is put in the way later."""
    system_open, system_write, system_close = os.open, os.write, os.close

    def tell(path: Path, line: str) -> None:
        descriptor = system_open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        system_write(descriptor, f"{line}\n".encode())
        system_close(descriptor)

    return tell


TELL = bind_tell()


def plant(faults: Mapping[str, Any]) -> None:
    """Put the faults in the way of this process, for good."""
    guard = Faults(faults["at"], faults["errno"], faults["lasting"], Path(faults["account"]))
    _guard_calls(guard)
    _guard_files(guard)


def _guard_calls(guard: Faults) -> None:
    system_open, system_write = os.open, os.write

    def guarded_open(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & _WRITING and str(path) != os.devnull:
            guard.pass_or_refuse(f"open {_name(path)}")
        return system_open(path, flags, *rest, **named)

    def guarded_write(descriptor: int, data: Any) -> int:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            guard.pass_or_refuse("write")
        return system_write(descriptor, data)

    def guarded(name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            guard.pass_or_refuse(f"{name} {_name(arguments[0])}")
            return original(*arguments, **named)

        return call

    os.open, os.write = guarded_open, guarded_write
    for name in ("replace", "rename", "mkdir", "fsync"):
        setattr(os, name, guarded(name))


def _guard_files(guard: Faults) -> None:
    system_open = io.open

    class GuardedFile(io.FileIO):
        def write(self, data: Any) -> Any:
            guard.pass_or_refuse(f"write {_name(self.name)}")
            return super().write(data)

    def guarded_open(
        file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **named: Any
    ) -> Any:
        if not set(mode) & set("wax+") or str(file) == os.devnull:
            return system_open(file, mode, buffering, *rest, **named)
        if not isinstance(file, int):
            guard.pass_or_refuse(f"open {_name(file)}")
        raw = GuardedFile(file, mode.replace("b", "").replace("t", ""), named.get("closefd", True))
        if buffering == 0:
            return raw
        buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding="utf-8", newline="")

    io.open = builtins.open = guarded_open


def _name(file: Any) -> str:
    return f"descriptor {file}" if isinstance(file, int) else Path(os.fspath(file)).name
