"""A host to attack: something to lose outside, a workspace inside, and a sandbox between."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from factory.sandbox.policy import Backend, Guarantee
from tests import processes

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[2]
KEY = "sk-the-key-of-the-driver"


class User(StrEnum):
    ROOT = "root"
    ORDINARY = "ordinary"


class Driver:
    """The running `sandbox_driver.py` of a user."""

    def __init__(self, user: User, python: Path, sources: Path) -> None:
        nobody = pwd.getpwnam("nobody")
        other = user is User.ORDINARY and os.geteuid() == 0
        self.identity: dict[str, Any] = (
            {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if other else {}
        )
        self.uid = nobody.pw_uid if other else os.geteuid()
        self.python = python
        process = processes.start(
            [python, sources / "sandbox_driver.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={"PYTHONPATH": str(sources), "PATH": os.defpath, "OPENAI_API_KEY": KEY},
            text=True,
            start_new_session=True,
            **self.identity,
        )
        assert process.stdin and process.stdout
        self.process, self.requests, self.replies = process, process.stdin, process.stdout
        self.sources = sources
        processes.lasting.add(process.pid)

    def send(self, request: dict[str, Any]) -> None:
        self.requests.write(json.dumps(request, default=str) + "\n")
        self.requests.flush()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.send(request)
        line = self.replies.readline()
        assert line, "the driver died"
        reply: dict[str, Any] = json.loads(line)
        return reply

    def close(self) -> None:
        """End it; one that a test has killed is only reaped."""
        with contextlib.suppress(BrokenPipeError):
            self.requests.close()
        self.replies.close()
        self.process.wait()


@contextlib.contextmanager
def sources_for_everyone() -> Iterator[Path]:
    """A copy of llmch's sources that any user can read."""
    folder = Path(tempfile.mkdtemp(prefix="llmch-sources-"))
    folder.chmod(0o755)
    for package in ("factory", "shared"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPO / package, folder / package, ignore=ignored)
    shutil.copy(HERE / "sandbox_driver.py", folder)
    yield folder
    shutil.rmtree(folder)


@cache
def python_for(user: User) -> Path | None:
    """An interpreter that the user may execute: our own, else the system's."""
    if user is User.ROOT or os.geteuid() != 0:
        return Path(sys.executable)
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError):
            done = subprocess.run(
                [candidate, "-c", check], cwd="/", user="nobody", group="nogroup", extra_groups=[]
            )
            if done.returncode == 0:
                return Path(candidate)
    return None


class Arena:
    """`outside` must stay as it is; commands run in `workspace`."""

    def __init__(self, driver: Driver, backend: Backend) -> None:
        self.driver = driver
        self.backend = backend
        self.base = Path(tempfile.mkdtemp(prefix="llmch-arena-"))
        for name in ("outside", "workspace", "private", "logs"):
            (self.base / name).mkdir()
        self.outside = self.base / "outside"
        self.workspace = self.base / "workspace"
        self.private = self.base / "private"
        (self.outside / "secret").write_text("the-secret-outside\n")
        (self.outside / "folder").mkdir()
        self.opened: dict[str, Any] = {}
        self.runs = 0
        self.own()

    def own(self) -> None:
        """Give everything made so far to the driver's user."""
        for path in (self.base, *self.base.rglob("*")):
            os.chown(path, self.driver.uid, -1, follow_symlinks=False)

    def open(self, **fields: Any) -> dict[str, Any]:
        policy = {
            "workspace": self.workspace,
            "private": self.private,
            "python": self.driver.python,
            **fields,
        }
        self.own()
        self.opened = self.driver.ask({"backend": self.backend, "policy": policy})
        return self.opened

    def request(self, argv: list[str], timeout: float = 120) -> dict[str, Any]:
        if not self.opened:
            self.open()
        self.runs += 1
        log = self.base / "logs" / f"run{self.runs}"
        return {"sandbox": self.opened["sandbox"], "argv": argv, "timeout": timeout, "log": log}

    def run(self, *argv: str, timeout: float = 120) -> SimpleNamespace:
        reply = self.driver.ask(self.request(list(argv), timeout))
        for stream in ("stdout", "stderr"):
            reply[stream] = SimpleNamespace(**reply[stream])
        return SimpleNamespace(**reply)

    def python(self, code: str, *arguments: object, timeout: float = 120) -> SimpleNamespace:
        return self.run("python", "-c", code, *map(str, arguments), timeout=timeout)

    def holds(self, guarantee: Guarantee) -> bool:
        if not self.opened:
            self.open()
        return bool(self.opened["guarantees"][guarantee])

    def check(self, guarantee: Guarantee, harmed: bool) -> None:
        """No harm where the guarantee holds; where it does not, the record says so."""
        if self.holds(guarantee):
            assert not harmed, f"{guarantee} was promised"
        else:
            assert guarantee in self.opened["describe"].partition("does not hold: ")[2]
        if self.backend is Backend.OFF:
            assert harmed, "the attack does not work at all"

    @contextlib.contextmanager
    def bystander(self) -> Iterator[subprocess.Popen[bytes]]:
        """Another process of the same user, for as long as the block runs."""
        with processes.start(["sleep", "600"], cwd="/", **self.driver.identity) as process:
            try:
                yield process
            finally:
                process.kill()

    def close(self) -> None:
        shutil.rmtree(self.base)


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder: type, mode, times, content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted((folder, *folder.rglob("*"))):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (facts.st_mode, facts.st_uid, facts.st_mtime_ns, content)
    return found


@contextlib.contextmanager
def opened_arena(backend: Backend, user: User, driver: Driver) -> Iterator[Arena]:
    """An arena whose sandbox is open; skips the test where the backend is missing."""
    arena = Arena(driver, backend)
    try:
        refused = arena.open().get("refused")
        if refused:
            pytest.skip(f"{backend} as {user}: {refused}")
        yield arena
    finally:
        arena.close()


def processes_with(marker: str) -> list[int]:
    """The host's living processes that have `marker` on their command line."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
                if marker.encode() in words:
                    found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether `condition` came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
