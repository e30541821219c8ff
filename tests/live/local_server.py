"""Runs the real model server on loopback for as long as somebody needs it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live.weights import Weights, cache_folder, model_file, server_program

_START_SECONDS = 180.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.25
_NICENESS = 10
# Two threads, so that figures of different machines stay comparable; a context that holds the
# longest prompt of the examples; a bound on replies, for a small model may never stop by itself.
_OPTIONS = ("-q", "q4_k", "--gpu", "off", "-t", "2", "--ctx", "8192", "-s", "1")
_LIMIT = ("--max-tokens", "1024")


class NotStarted(Exception):
    """The server ended, or does not answer; its log says why."""


@contextmanager
def serving(weights: Weights, log: Path) -> Iterator[str]:
    """Serve `weights` and yield the base URL for clients; the process is gone afterwards.

    Downloads what is not in the cache yet. The server's output goes to `log`.
    """
    cache = cache_folder()
    program, model = server_program(cache), model_file(weights, cache)
    port = _free_port()
    address = ("-p", str(port), "--host", "127.0.0.1")
    command = (str(program), "-m", str(model), *address, *_OPTIONS, *_LIMIT)
    with log.open("wb") as output:
        process = subprocess.Popen(
            # The server goes down with us, also where we are killed and can end nothing ourselves.
            ["setpriv", "--pdeathsig", "KILL", "nice", "-n", str(_NICENESS), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(log.parent)},
        )
    try:
        url = f"http://127.0.0.1:{port}/v1"
        _wait_until_it_answers(process, url, log)
        yield url
    finally:
        _end(process)


def _wait_until_it_answers(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NotStarted(f"the server ended with {process.returncode}; see {log}")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(_POLL_SECONDS)
    raise NotStarted(f"the server does not answer within {_START_SECONDS:.0f} s; see {log}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
