"""Runs one verb for a client of `llmch mcp`, in a process of its own.

The server holds the other end of a pipe: where the server lets go of it, or ends, the verb is
interrupted as Ctrl-C would. What the verb says goes to the server through a second pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Sequence

from llmch.console import Console, Format, Verbosity
from llmch.console.console import protection
from llmch.console.document import Outcome
from llmch.console.plain import WatchfulPrinter
from llmch.console.stream import Stream
from llmch.entry.boundary import answer, or_error
from llmch.entry.interruption import signals_as_exceptions
from llmch.verbs.mcp.answering import answer_of, error_answer
from llmch.verbs.mcp.messages import Message, Progressed, Spent, encode
from llmch.verbs.mcp.progress import Progress
from shared.errors import LlmchError
from shared.events.event import Event
from shared.events.model_calls import BudgetCommitted
from shared.secrets.redaction import masking

# Some clients give up on a call that says nothing for a minute.
_HEARTBEAT_SECONDS = 15.0


def main(words: Sequence[str]) -> None:
    """Run a verb. Before its words stand three descriptors: the server's hold, answers, errors."""
    hold, said, errors = map(int, words[:3])
    arguments = words[3:]
    for each in (hold, said):
        os.set_inheritable(each, False)
    os.dup2(errors, 2)  # warnings and the like of this process go where the server's go
    os.close(errors)
    server, watch = _Server(said), _Watch(hold)
    with (
        contextlib.suppress(KeyboardInterrupt),
        signals_as_exceptions() as interruption,
        _open_console(server) as console,
    ):

        def run() -> Outcome:
            watch.start()
            return answer(arguments, console)

        ended = or_error(run, arguments, interruption)
        watch.over = True
        console.close()
        if isinstance(ended, LlmchError):
            server.say(error_answer(ended))
        else:
            server.say(answer_of(ended.document))


def _open_console(server: _Server) -> Console:
    relay, mask = _Relay(server), masking(os.environ)
    return Console(
        out=Stream(None),
        err=Stream(None),
        printer=relay,
        err_printer=relay,
        verbosity=Verbosity.NORMAL,
        output=Format.JSON,
        protect=protection(mask),
        mask=mask,
    )


class _Server:
    """Says messages to the server, whole, from any thread. A server that has gone hears nothing."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._lock = threading.Lock()

    def say(self, message: Message) -> None:
        with self._lock:
            line = memoryview(encode(message))
            try:
                while line:
                    line = line[self._file.write(line) :]
            except OSError:
                pass


class _Watch:
    """Interrupts this process when the server lets go of the pipe, unless the verb is over."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.over = False

    def start(self) -> None:
        threading.Thread(target=self._wait, name="server", daemon=True).start()

    def _wait(self) -> None:
        os.read(self._descriptor, 1)
        if not self.over:
            os.kill(os.getpid(), signal.SIGINT)


class _Relay(WatchfulPrinter):
    """Sends lines to the server as progress, and what a capped run has spent."""

    def __init__(self, server: _Server) -> None:
        self._steps = Progress()
        self._server = server
        super().__init__(_Lines(self._say), _HEARTBEAT_SECONDS, protection(masking(os.environ)))

    def follow(self, event: Event) -> None:
        """Note the event."""
        self._steps.take(event)
        if isinstance(event, BudgetCommitted):
            self._server.say(Spent(event.tokens, event.cost_usd))
        super().follow(event)

    def _say(self, text: str) -> None:
        self._server.say(Progressed(*self._steps.step(), text))


class _Lines(Stream):
    """Passes on what is written, less the spaces that align its columns."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(None)
        self._say = say

    def write(self, text: str) -> int:
        self._say("\n".join(" ".join(each.split()) for each in text.splitlines()))
        return len(text)
