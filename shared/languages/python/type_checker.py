"""Runs mypy in a process of its own that stays warm."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import select
import shutil
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Self

from shared.files import atomic_io
from shared.languages.language_tools import CheckerFailed, Diagnostic
from shared.languages.python.python_code import ROOTS
from shared.processes import pinned_tools
from shared.processes.process import ProgramMissing, ToolFailed, start_service

_PROGRAM: Final = Path(__file__).with_name("checker_worker.py")
# The user's environment must not change the findings, nor their order: a fixed hash seed keeps it.
_ENVIRONMENT: Final = {"LANG": "C.UTF-8", "PATH": os.defpath, "PYTHONHASHSEED": "0"}
_CHUNK: Final = 1 << 16


class WorkerProcess:
    """Represent a running worker. `ask` raises `CheckerFailed` if the worker is gone."""

    def __init__(self, folder: Path) -> None:
        """Start a worker whose current folder is `folder`, or raise `CheckerFailed`."""
        worker_in, self._requests = os.pipe()
        self._replies, worker_out = os.pipe()
        try:
            self._process = start_service(
                [sys.executable, "-P", "-s", str(_PROGRAM), str(worker_in), str(worker_out)],
                cwd=folder,
                env=_ENVIRONMENT,
                pass_fds=(worker_in, worker_out),
            )
        except (ProgramMissing, ToolFailed) as error:
            self._close_pipes()
            raise CheckerFailed(f"the type checker did not start: {error}") from error
        finally:
            os.close(worker_in)
            os.close(worker_out)

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a short request, and do not wait: `ask` reads the reply."""
        self._send(json.dumps(request).encode() + b"\n")

    def ask(self, request: Mapping[str, Any] | None, deadline_seconds: float) -> Any:
        """Return the reply to one request, or to the one that was sent.

        Raises `CheckerFailed` if no reply comes within `deadline_seconds` or the worker ends.
        The worker is ended after any failure.
        """
        line = json.dumps(request).encode() + b"\n" if request is not None else b""
        ends = time.monotonic() + deadline_seconds
        try:
            self._send(line)
            return json.loads(self._receive(ends))
        except (OSError, ValueError) as error:
            self.close()
            raise CheckerFailed(f"the type checker broke off: {error}") from error
        except BaseException:  # Ctrl-C, too: else a late reply would answer the next request
            self.close()
            raise

    def _send(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._requests, line) :]

    def _receive(self, ends: float) -> bytes:
        received = bytearray()
        while not received.endswith(b"\n"):
            left = ends - time.monotonic()
            if left <= 0 or not select.select([self._replies], [], [], left)[0]:
                raise CheckerFailed("the type checker took too long")
            chunk = os.read(self._replies, _CHUNK)
            if not chunk:
                raise CheckerFailed(f"the type checker died ({self._process.wait()})")
            received += chunk
        return bytes(received)

    def abort(self) -> None:
        """End the worker from another thread. A call of `ask` under way then fails."""
        self._process.kill()

    def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for each in (self._requests, self._replies):
            if each >= 0:
                os.close(each)
        self._requests = self._replies = -1


# A first question takes about three seconds on two cores. A loaded machine may take ten times that.
DEADLINE_SECONDS: Final = 120.0

_NOTHING: Final = "nothing.py"
FILES: Final = "llmch_view/"
"""The folder of the project's files inside the checker's folder, with a trailing slash."""

# All paths are relative: where a file has another absolute path than before, mypy's cache reports
# the file's errors under the old path.
_FLAGS: Final = (
    "--config-file=",
    "--no-site-packages",
    "--python-version=3.11",
    "--platform=linux",
    "--follow-imports=silent",
    "--explicit-package-bases",
    "--namespace-packages",
    "--check-untyped-defs",
    "--allow-redefinition",
    "--no-strict-optional",
    "--disable-error-code=var-annotated",
    "--disable-error-code=import-untyped",
    "--show-column-numbers",
    "--no-error-summary",
    "--output=json",
    "--hide-error-context",
)
_FOUND_NOTHING, _FOUND_ERRORS = 0, 1


class FileBlocked(CheckerFailed):
    """Raised when one file keeps the checker from judging any file.

    `path` is the path of that file as it was given, and `reason` is what mypy says about it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the type checker stops at {path}: {reason}")
        self.path = path
        self.reason = reason


_LOOK_EVERY_SECONDS: Final = 0.05
_MOST_KEPT: Final = 4  # versions of mypy and Python that are used in turn


class TypeChecker:
    """Check types in a process that starts with the first question and lives until `close`.

    The process keeps its cache between questions. Threads take turns; closing the checker ends a
    question that another thread is waiting for.
    """

    def __init__(self, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """Allow `deadline_seconds` for each question."""
        self._deadline = deadline_seconds
        self._folder: Path | None = None
        self._worker: WorkerProcess | None = None
        self._written: dict[str, str] = {}
        self._known: dict[bytes, tuple[Diagnostic, ...]] = {}
        self._begun: Path | None = None
        self._is_settled = False
        self._turn = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    def begin(self) -> None:
        """Start the process. Nobody waits; what goes wrong fails the first question."""
        with contextlib.suppress(CheckerFailed, OSError), self._turn:
            if not self._closed:
                self._start()

    def check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str] = ("",)
    ) -> tuple[Diagnostic, ...]:
        """Return the complaints about `targets`, which are among `files`; all paths are relative.

        `roots` are the folders, each with its trailing slash, in which imports are looked up.
        Raises `FileBlocked` if a single file stops the checker, and `CheckerFailed` if the
        answer is missing for another reason. After a failure of the process, the next question
        starts a new one. A question that was answered is not asked again: of a plan that is
        revised, most orders stay as they are.
        """
        if not targets:
            return ()
        with self._turn:
            if self._closed:
                raise CheckerFailed("the type checker was ended with the run")
            return self._check(files, targets, roots)

    def _check(
        self, files: Mapping[str, str], targets: Sequence[str], roots: Sequence[str]
    ) -> tuple[Diagnostic, ...]:
        asked = hashlib.sha256(
            repr((sorted(files.items()), targets, roots)).encode("utf-8", "replace")
        ).digest()
        if (known := self._known.get(asked)) is not None:
            return known
        try:
            worker = self._start()
            self._settle(worker)
            self._give_library(roots)
            self._write(files)
            reply = worker.ask(_request(targets, roots), self._deadline)
        except OSError as error:
            self._end()
            raise CheckerFailed(f"the type checker's files cannot be written: {error}") from error
        except BaseException:
            self._end()
            raise
        self._known[asked] = _read_reply(reply)
        return self._known[asked]

    def abort(self) -> None:
        """End the process from another thread. A question that is being answered fails."""
        if (worker := self._worker) is not None:
            worker.abort()

    def close(self) -> None:
        """End the process for good, and remove its files."""
        self._closed = True
        while not self._turn.acquire(timeout=_LOOK_EVERY_SECONDS):
            self.abort()
        try:
            self._end()
        finally:
            self._turn.release()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._worker = self._folder = self._begun = None
        self._written.clear()
        self._known.clear()

    def _start(self) -> WorkerProcess:
        if self._worker is None:
            self._folder = Path(tempfile.mkdtemp(prefix="llmch-types-"))
            kept, is_there = _kept_file(), self._give_library(ROOTS)
            self._worker = WorkerProcess(self._folder)
            self._write({_NOTHING: ""})
            self._worker.send(_request([_NOTHING], ROOTS))
            self._begun = None if is_there else kept
            self._is_settled = False
        return self._worker

    def _give_library(self, roots: Sequence[str]) -> bool:
        """Begin the cache of these roots with the standard library, where that was kept."""
        assert self._folder is not None, "the worker runs in it"
        kept, cache = _kept_file(), self._folder / _cache_of(roots)
        if kept is None or cache.exists():
            return False
        return _unpack(atomic_io.read_kept(kept), cache)

    def _settle(self, worker: WorkerProcess) -> None:
        """Have the empty question answered, and keep what mypy read for it.

        That is the standard library's stubs, the longest part of a first question. What is kept
        was made before any code in question was in the folder.
        """
        if self._is_settled:
            return
        worker.ask(None, self._deadline)
        self._is_settled = True
        if self._begun is not None and self._folder is not None:
            atomic_io.keep(self._begun, _packed(self._folder / _cache_of(ROOTS)), _MOST_KEPT)

    def _write(self, files: Mapping[str, str]) -> None:
        """Make the folder hold exactly `files`, touching only what differs."""
        assert self._folder is not None, "the worker runs in it"
        root = self._folder / FILES
        for path in [each for each in self._written if each not in files]:
            (root / path).unlink()
            del self._written[path]
            _remove_empty_folders((root / path).parent, root)
        for path, text in files.items():
            if self._written.get(path) != text:
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                data = text.encode("utf-8", "replace")
                target.write_bytes(data)
                # Other contents get another time: mypy takes a file for unchanged if it has the
                # same size and the same second as before.
                seconds = int.from_bytes(hashlib.sha256(data).digest()[:4], "big") // 2
                os.utime(target, (0, seconds))
                self._written[path] = text


def _kept_file() -> Path | None:
    """Return the file in the person's cache for what this mypy makes of the standard library."""
    try:
        facts = (version("mypy"), sys.prefix, sys.version, _FLAGS)
        name = hashlib.sha256(repr(facts).encode()).hexdigest()
        return pinned_tools.cache_folder() / "types" / name
    except (RuntimeError, PackageNotFoundError):  # nobody has a home folder here
        return None


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for each in sorted(folder.rglob("*")):
            archive.write(each, each.relative_to(folder))
    return packed.getvalue()


def _unpack(kept: bytes | None, folder: Path) -> bool:
    """Return whether anything was there to unpack."""
    if kept is None:
        return False
    with zipfile.ZipFile(io.BytesIO(kept)) as archive:
        archive.extractall(folder)
    return True


def _remove_empty_folders(folder: Path, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _request(targets: Sequence[str], roots: Sequence[str]) -> dict[str, Any]:
    search = ":".join((FILES + root).rstrip("/") for root in roots)
    cache = _cache_of(roots)
    paths = [FILES + each for each in targets]
    return {"path": search, "arguments": [*_FLAGS, f"--cache-dir={cache}", "--", *paths]}


def _cache_of(roots: Sequence[str]) -> str:
    """Return the folder of cached results: they belong to one way of finding modules."""
    return "cache" + "".join(f"-{each.strip('/')}" for each in roots)


def _read_reply(reply: Any) -> tuple[Diagnostic, ...]:
    try:
        status, errors = reply["status"], reply["stderr"]
        found = tuple(_diagnostic(json.loads(line)) for line in reply["stdout"].splitlines())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckerFailed(f"the type checker's answer cannot be read: {error!r}") from error
    if status in (_FOUND_NOTHING, _FOUND_ERRORS):
        return tuple(each for each in found if each.code != "note")
    if found:
        raise FileBlocked(found[-1].path, found[-1].message)
    raise CheckerFailed(f"the type checker failed: {errors.strip()[-500:] or status}")


def _diagnostic(entry: Any) -> Diagnostic:
    return Diagnostic(
        path=entry["file"].removeprefix(FILES),
        line=entry["line"],
        column=entry["column"],
        end_line=entry["end_line"],
        end_column=entry["end_column"],
        code="note" if entry["severity"] != "error" else entry["code"] or "",
        message=entry["message"],
        hint=entry["hint"] or "",
    )
