"""Starts an agent inside its sandbox, and leads a port of the loopback to the relay's socket.

It runs as a program of its own (`python -I -S forward`), beside `start`, which says what to start,
and `relay`, the socket. A socket `stdio`, where there is one, is the agent's input and output. It
ends with the agent, and with it everything that the agent has started.
It imports no module in Python but `os`: those would take three times as long as Python itself.
"""

from __future__ import annotations

import _socket
import _thread
import os
import sys
import time

PORT = 8181
NOT_STARTED = "llmch cannot start the agent"
_CHUNK = 65536
_PAUSE_SECONDS = 0.05


def start_of(words: list[str], variables: dict[str, str | None]) -> bytes:
    """Return the content of `start`; the variables are set, or removed where they are `None`.

    Neither a word nor a variable can hold a NUL: what follows one is left out.
    """
    argv = [each.partition("\0")[0] for each in words]
    changes = [name if value is None else f"{name}={value}" for name, value in variables.items()]
    parts = [str(len(argv)), *argv, *(each.partition("\0")[0] for each in changes)]
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def main(folder: str) -> int:
    """Return the agent's exit code, or 127 where it could not be started."""
    with open(f"{folder}/start", "rb") as file:  # noqa: PTH123  # pathlib is slow to import
        count, *words = (os.fsdecode(each) for each in file.read().split(b"\0"))
    argv, changes = words[: int(count)], words[int(count) :]
    variables = dict(os.environ)
    for change in changes:
        name, is_set, value = change.partition("=")
        variables.pop(name, None)
        if is_set:
            variables[name] = value
    listener = _socket.socket()
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(128)
    _thread.start_new_thread(_serve, (listener, f"{folder}/relay"))
    line = _socket.socket(_socket.AF_UNIX)
    streams: list[tuple[object, ...]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if os.path.exists(f"{folder}/stdio"):  # noqa: PTH110  # pathlib is slow to import
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


def _serve(listener: _socket.socket, relay: str) -> None:
    while True:
        try:
            # `accept` is made of it in Python.
            client = _socket.socket(fileno=listener._accept()[0])  # type: ignore[attr-defined]
            _thread.start_new_thread(_lead, (client, relay))
        except (OSError, RuntimeError):  # the agent has used up what it may have
            time.sleep(_PAUSE_SECONDS)


def _lead(client: _socket.socket, relay: str) -> None:
    try:
        server = _socket.socket(_socket.AF_UNIX)
        server.connect(relay)
        ended = _thread.allocate_lock()
        ended.acquire()
        _thread.start_new_thread(_copy, (server, client, ended))
        _copy(client, server)
        ended.acquire()
        server.close()
    except (OSError, RuntimeError):
        pass
    client.close()


def _copy(
    source: _socket.socket, target: _socket.socket, ended: _thread.LockType | None = None
) -> None:
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(_socket.SHUT_WR)
    except OSError:
        pass
    if ended:
        ended.release()


if __name__ == "__main__":
    sys.exit(main(sys.argv[0].rpartition("/")[0]))
