"""Starts the process of a call, hears what it says, and ends it when nobody wants its answer."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

import llmch
from llmch.verbs.mcp.messages import Answered, Progressed, Spent, decode
from shared.errors import CommandFailed
from shared.process import Service, ToolFailed, ToolMissing, start_service

Hear = Callable[[Progressed], Awaitable[None]]

# A verb that is interrupted kills its commands and writes what happened, which takes a moment; on
# a loaded machine, several.
_PATIENCE_SECONDS = 60.0
_CHUNK = 1 << 16
# The folder of the current program, and not the current folder, is where its modules come from.
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from llmch.verbs.mcp.call import main; main(sys.argv[2:])"
)


class NoAnswer(CommandFailed):
    """Say that the process of a call ended without a word, as where somebody killed it."""


class Calling:
    """Run one verb in a process of its own.

    `spent` is what its model took, as far as it said. `is_ending` says that the verb is over or
    was interrupted.
    """

    def __init__(self, words: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> None:
        self._words = words
        self._cwd = cwd
        self._environ = environ
        self._answered: Answered | None = None
        self.spent = Spent(0, 0.0)
        self.is_ending = False

    async def answer(self, hear: Hear) -> Answered:
        """Return the verb's answer; `hear` is told of progress.

        Where this is cancelled, the verb is interrupted as by Ctrl-C, and has ended when this
        returns. Raises `CommandFailed` where there is no answer.
        """
        service, hold, said = _start(self._words, self._cwd, self._environ)
        lines = _Lines(said)
        try:
            await self._listen(lines, hear)
        finally:
            self.is_ending = True
            os.close(hold)
            with anyio.CancelScope(shield=True):
                await self._end(service, lines)
            os.close(said)
        if self._answered is None:
            raise NoAnswer(
                f"the process of the call ended without an answer (exit code {service.returncode})",
                "`status` shows how far a run came; the same call goes on from there",
            )
        return self._answered

    async def _listen(self, lines: _Lines, hear: Hear) -> None:
        """Take each message until the process ends."""
        while (line := await lines.next()) is not None:
            match decode(line):
                case Progressed() as progressed:
                    await hear(progressed)
                case Spent() as spent:
                    self.spent = spent
                case Answered() as answered:
                    self._answered = answered

    async def _end(self, service: Service, lines: _Lines) -> None:
        """Wait for the end of the process, and kill it where it does not end."""
        with anyio.move_on_after(_PATIENCE_SECONDS) as patience:
            await self._listen(lines, _ignore)
        if patience.cancelled_caught:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGKILL)
        await anyio.to_thread.run_sync(service.wait)


async def _ignore(progressed: Progressed) -> None:
    """Take progress that nobody waits for any longer."""


def _start(words: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> tuple[Service, int, int]:
    """Return the process, the end of a pipe that holds it, and the end of one to hear it by."""
    held, hold = os.pipe()
    said, saying = os.pipe()
    errors = os.dup(2)
    root = Path(llmch.__file__).parents[1]
    given = (held, saying, errors)
    argv = [sys.executable, "-P", "-c", _START, str(root), *map(str, given), *words]
    try:
        service = start_service(argv, cwd=cwd, env=environ, pass_fds=given)
    except (ToolMissing, ToolFailed) as error:
        os.close(hold)
        os.close(said)
        raise CommandFailed(f"the call could not be started: {error}", "try again") from error
    finally:
        for each in given:
            os.close(each)
    os.set_blocking(said, False)
    return service, hold, said


class _Lines:
    """Read whole lines from a descriptor; a reading that was cancelled can be taken up again."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = bytearray()

    async def next(self) -> bytes | None:
        """Return the next line, or `None` where there is none left."""
        while (end := self._rest.find(b"\n")) < 0:
            await anyio.wait_readable(self._descriptor)
            with contextlib.suppress(BlockingIOError):
                chunk = os.read(self._descriptor, _CHUNK)
                if not chunk:
                    return None
                self._rest += chunk
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line
