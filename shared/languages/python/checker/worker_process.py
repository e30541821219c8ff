"""Starts the process that runs `worker`, asks it, and ends it."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shared.languages.capabilities.checking import CheckerFailed
from shared.process import ToolFailed, ToolMissing, start_service

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROGRAM: Final = Path(__file__).with_name("worker.py")
# The user's environment must not change the findings, nor their order: a fixed hash seed keeps it.
_ENVIRONMENT: Final = {"LANG": "C.UTF-8", "PATH": os.defpath, "PYTHONHASHSEED": "0"}
_CHUNK: Final = 1 << 16


class WorkerProcess:
    """Represent a running worker. `ask` raises `CheckerFailed` where the worker is gone."""

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
        except (ToolMissing, ToolFailed) as error:
            self._close_pipes()
            raise CheckerFailed(f"the type checker did not start: {error}") from error
        finally:
            os.close(worker_in)
            os.close(worker_out)

    def ask(self, request: Mapping[str, Any], deadline_seconds: float) -> Any:
        """Return the reply to one request.

        Raises `CheckerFailed` where no reply comes within `deadline_seconds` or the worker ends.
        The worker is ended after any failure.
        """
        line = json.dumps(request).encode() + b"\n"
        ends = time.monotonic() + deadline_seconds
        try:
            self._send(line)
            return json.loads(self._receive(ends))
        except (OSError, ValueError) as error:
            self.close()
            raise CheckerFailed(f"the type checker broke off: {error}") from error
        except (
            BaseException
        ):  # Ctrl-C included: otherwise a late reply would answer the next request
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
        """End the worker. Calling this again is harmless."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for each in (self._requests, self._replies):
            if each >= 0:
                os.close(each)
        self._requests = self._replies = -1
