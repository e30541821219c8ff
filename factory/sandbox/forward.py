"""Starts an agent inside its sandbox, and leads a port of the loopback to the relay's socket.

It runs as a program of its own (`python -I -S forward.py`), with the standard library only, beside
`agent.json`, which says what to start, and `relay`, the socket. The input and output of an agent
that is spoken to are another socket, `stdio`. It ends with the agent, and with it everything that
the agent has started.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import Final, TypedDict

PORT: Final = 8181
NOT_STARTED: Final = "llmch cannot start the agent"
_CONNECTIONS = 64  # at once; further ones wait
_CHUNK = 65536


class Start(TypedDict):
    """Describe what to start: its words, and the variables that are set or, by null, removed."""

    argv: list[str]
    environment: dict[str, str | None]
    is_spoken_to: bool


def main(folder: str) -> int:
    """Return the agent's exit code, or 127 where it could not be started."""
    with open(f"{folder}/agent.json", encoding="utf-8") as file:  # noqa: PTH123  # slow to import
        start: Start = json.load(file)
    listener = socket.create_server(("127.0.0.1", PORT), backlog=128)
    threading.Thread(target=_serve, args=(listener, f"{folder}/relay"), daemon=True).start()
    given = {**os.environ, **start["environment"]}
    variables = {name: value for name, value in given.items() if value is not None}
    argv = start["argv"]
    line = socket.socket(socket.AF_UNIX)
    streams: list[tuple[object, ...]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if start["is_spoken_to"]:
        line.connect(f"{folder}/stdio")
        streams = [(os.POSIX_SPAWN_DUP2, line.fileno(), each) for each in (0, 1)]
    os.environ["PATH"] = variables["PATH"]  # by which the program is looked for
    try:
        agent = os.posix_spawnp(argv[0], argv, variables, file_actions=streams)
    except OSError as error:
        os.write(2, f"{NOT_STARTED}: {argv[0]}: {error.strerror}\n".encode())
        return 127
    line.close()  # so that llmch sees when the agent hangs up
    code = os.waitstatus_to_exitcode(os.waitpid(agent, 0)[1])
    return code if code >= 0 else 128 - code


def _serve(listener: socket.socket, relay: str) -> None:
    slots = threading.Semaphore(_CONNECTIONS)
    while True:
        slots.acquire()
        client, _ = listener.accept()
        threading.Thread(target=_lead, args=(client, relay, slots), daemon=True).start()


def _lead(client: socket.socket, relay: str, slots: threading.Semaphore) -> None:
    try:
        with suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:
            server.connect(relay)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join()
    finally:
        slots.release()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[0].rpartition("/")[0]))
