"""Runs the commands of a test on a file with each of some changes, each run in its own process.

The text of this file is the code of a `python -c` in the sandbox, after that of the launcher. So it
imports nothing of llmch, and runs on Python 3.8 and later. To start an interpreter and to import a
test runner takes longer than most tests. Both are done once here: each run is a fork.

This process runs no code of the project. What became of a run is its exit status, which the kernel
tells; how many were killed becomes the exit code of this process, which no run can choose, nor can
one look into this process. After each run, all that it started is killed. A run that left anything
behind where others would find it is the last one: what follows it is tried in another sandbox.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # to import `typing` takes longer than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    Facts = dict[str, tuple[int, ...]]

DUMPABLE, SUBREAPER = 4, 36  # of prctl(2)
SHARED = "/dev/shm"  # noqa: S108
NOT_POSSIBLE = 3  # an exit code that says nothing of any run


class Runs:
    """Try each change of a batch; `launch` is the launcher's `main`."""

    def __init__(self, batch: dict[str, Any], launch: Callable[[], NoReturn]) -> None:
        self.commands: list[list[str]] = batch["commands"]
        self.path: str = batch["path"]
        self.changes: list[tuple[int, int, str]] = batch["changes"]
        self.seconds: float = batch["seconds"]
        self.beside = {os.path.abspath(each) for each in batch["beside"]}  # noqa: PTH100
        self.launch = launch
        folder = os.getcwd()  # noqa: PTH109  # pathlib is slow to import
        self.import_safely(folder, batch["imports"])
        self.places = [folder, os.environ.get("TMPDIR", folder)]
        if not os.listdir(SHARED):  # the sandbox's own, not the machine's  # noqa: PTH208
            self.places.append(SHARED)
        import ctypes
        import gc

        gc.freeze()  # pytest collects garbage at its end; what all runs share is no garbage of one
        self.prctl = ctypes.CDLL(None).prctl
        if self.prctl(DUMPABLE, 0, 0, 0, 0) or self.prctl(SUBREAPER, 1, 0, 0, 0):
            sys.exit(NOT_POSSIBLE)

    def import_safely(self, folder: str, names: list[str]) -> None:
        """Import what the runs need anyway, and nothing of the project."""
        path, before = sys.path[:], set(sys.modules)
        sys.path[:] = [
            each for each in path if each and not (each + os.sep).startswith(folder + os.sep)
        ]
        import ctypes  # noqa: F401
        import importlib
        import signal

        for name in (*names, *(plugins() if "pytest" in names else ())):
            try:
                module = importlib.import_module(name)
                for each in getattr(module, "default_plugins", ()):
                    importlib.import_module(f"_pytest.{each}")
            except Exception:  # noqa: S112  # the run will say so, if it needs the module
                continue
        for name in sys.modules.keys() - before:  # or pytest warns that it cannot rewrite them
            said = sys.modules[name].__doc__ or ""
            sys.modules[name].__doc__ = f"{said} PYTEST_DONT_REWRITE"
        sys.path[:] = path
        self.signal = signal

    def try_all(self) -> list[bool]:
        """Return which of the changes made a command fail, up to the first that left a trace."""
        with open(self.path, "rb") as file:  # noqa: PTH123
            before = file.read()
        text = before.decode()
        killed: list[bool] = []
        for start, end, instead in self.changes:
            self.write((text[:start] + instead + text[end:]).encode())
            facts = self.facts()
            killed.append(not all(map(self.passes, self.commands)))
            self.clear(facts)
            if facts != self.facts():
                break
            self.write(before)
        return killed

    def write(self, content: bytes) -> None:
        """Exchange the file's content, in a file of its own: it may be executable."""
        with open(self.path, "r+b") as file:  # noqa: PTH123
            file.write(content)
            file.truncate()

    def passes(self, command: list[str]) -> bool:
        """Return whether a command comes to a successful end of its own."""
        own_end = 32 + os.urandom(1)[0] % 32
        self.signal.pthread_sigmask(self.signal.SIG_BLOCK, [self.signal.SIGCHLD])
        child = os.fork()
        if not child:
            self.become(command, own_end)
        import time

        ends, status = time.monotonic() + self.seconds, None
        while status is None and (left := ends - time.monotonic()) > 0:
            done, found = os.waitpid(child, os.WNOHANG)
            if done:
                status = found
            else:
                self.signal.sigtimedwait([self.signal.SIGCHLD], left)
        self.end_all()
        return status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == own_end

    def become(self, command: list[str], own_end: int) -> NoReturn:
        """Run a command as its interpreter would; this process ends with it."""
        self.signal.pthread_sigmask(self.signal.SIG_UNBLOCK, [self.signal.SIGCHLD])
        self.prctl(DUMPABLE, 1, 0, 0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        os.closerange(3, 64)
        sys.argv[:] = ["-c", str(own_end), *command]
        self.launch()

    def end_all(self) -> None:
        """Kill all that a run has started: whatever has no parent any more is a child of this."""
        while True:
            try:
                done, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not done:
                for each in self.children():
                    os.kill(each, self.signal.SIGKILL)
                self.signal.sigtimedwait([self.signal.SIGCHLD], 0.05)

    def children(self) -> Iterable[int]:
        own = os.getpid()
        with open(f"/proc/{own}/task/{own}/children") as file:  # noqa: PTH123
            return [int(each) for each in file.read().split()]

    def clear(self, facts: Facts) -> None:
        """Remove what was made since: what is in a folder comes after it, and goes before it."""
        for path in sorted(self.facts().keys() - facts.keys(), reverse=True):
            try:
                os.unlink(path)  # noqa: PTH108
            except OSError:
                try:
                    os.rmdir(path)  # noqa: PTH106
                except OSError:
                    return

    def facts(self) -> Facts:
        """Return what tells whether anything was left in the tree or in a temporary folder."""
        found: Facts = {}
        folders = list(self.places)
        while folders:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue
            for entry in entries:
                if entry.path in self.beside:
                    continue
                about = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    if os.statvfs(entry.path).f_flag & os.ST_RDONLY:
                        continue  # the interpreter's own, where it is shown below a place
                    folders.append(entry.path)
                    found[entry.path] = (about.st_ino, about.st_mode)
                else:
                    found[entry.path] = (about.st_ino, about.st_mode, about.st_ctime_ns)
        return found


def plugins() -> list[str]:
    """Return the modules of the plugins that pytest loads by itself, and what these load later."""
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return []
    from importlib import metadata

    unwanted = os.environ.get("PYTEST_ADDOPTS", "").split()
    points: Any = metadata.entry_points()
    found = points.select(group="pytest11") if hasattr(points, "select") else points["pytest11"]
    names = [each.value for each in found if f"no:{each.name}" not in unwanted]
    names = [each.partition(":")[0] for each in names]
    return [*names, "hypothesis"] if "_hypothesis_pytestplugin" in names else names


def main(launch: Callable[[], NoReturn]) -> NoReturn:
    """Try the batch that the arguments describe, and say by the exit code what became of it."""
    import json

    batch = json.loads(sys.argv[1])
    sys.exit(batch["first"] + as_bits(Runs(batch, launch).try_all()))


def as_bits(killed: list[bool]) -> int:
    """Return a number that has a bit for each outcome, after a first bit that is set."""
    return int("1" + "".join("01"[each] for each in killed), 2)
