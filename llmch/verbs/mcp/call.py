"""Runs one verb for a client in a process of its own, and reports its progress.

The server holds the other end of a pipe. If the server closes it or ends, the verb is interrupted
as by Ctrl-C. The verb's messages go to the server through a second pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from llmch.console import Console, Format, Verbosity
from llmch.console.console import protection
from llmch.console.document import Document, ErrorDocument, Outcome
from llmch.console.line import as_unicode
from llmch.console.plain_printer import PlainPrinter, Stream
from llmch.console.render import render_json_document, render_markdown_document
from llmch.entry.boundary import answer, or_error, signals_as_exceptions
from shared.errors import LlmchError
from shared.events.events import BatchStarted, BudgetCommitted, Event, OrderEnded, OrderSkipped
from shared.files.secret_values import masking


@dataclass(frozen=True, slots=True)
class Progressed:
    """Say how far a call has come: `done` only rises, and `total` is `None` while it is unknown."""

    done: float
    total: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Say what the calls of the model took so far, with the most that those under way may take."""

    tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Answered:
    """Hold the answer of a call: the document of its verb, and the same in words.

    `is_error` says that the document is about the error that ended the verb.
    """

    document: dict[str, Any]
    text: str
    is_error: bool = False


Message = Progressed | Spent | Answered
_KINDS: dict[str, type[Message]] = {"progressed": Progressed, "spent": Spent, "answered": Answered}


def encode(message: Message) -> bytes:
    return json.dumps([type(message).__name__.lower(), asdict(message)]).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message of a line that `encode` made."""
    kind, values = json.loads(line)
    return _KINDS[kind](**values)


_MOST_TEXT = 20_000  # characters; the document has all of it


def answer_of(document: Document, *, is_error: bool = False) -> Answered:
    """Return a document as an answer: as JSON, and as Markdown of a bounded length."""
    protect = _protection()
    text = render_markdown_document(document, protect)
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]}\n\n(The text goes on; the structured content has all of it.)\n"
    return Answered(json.loads(render_json_document(document, protect)), text, is_error)


def _protection() -> Callable[[str], str]:
    """Return what makes a text fit to be sent."""
    protect = protection(masking(os.environ))
    return lambda text: as_unicode(protect(text))


def error_answer(error: LlmchError, remark: str = "") -> Answered:
    """Return an error as an answer; `remark` is added to its message."""
    message = f"{error.message} ({remark})" if remark else error.message
    code = error.exit_code
    return answer_of(ErrorDocument(message, error.hint, code, code.name), is_error=True)


# With this many steps, an order counts as half done: asked, applied, verified, accepted, ...
_HALF_AN_ORDER = 8


class Progress:
    """Count the orders that are over, and the steps since then, so that the number always rises.

    The work before the first order and after the last counts as little as a part of an order. A
    plan has no orders yet, and so no total.
    """

    def __init__(self) -> None:
        self._orders: int | None = None
        self._over = 0
        self._steps = 0

    def take(self, event: Event) -> None:
        match event:
            case BatchStarted(orders=orders):
                self._orders = orders
            case OrderEnded() | OrderSkipped():
                self._over += 1
                self._steps = 0
            case _:
                pass

    def step(self) -> tuple[float, float | None]:
        """Return how much is done after one more step, and the total where it is known."""
        self._steps += 1
        done = self._over + self._steps / (self._steps + _HALF_AN_ORDER)
        return done, None if self._orders is None else max(self._orders, self._over) + 1.0


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
        protect=_protection(),
        mask=mask,
    )


class _Server:
    """Send whole messages to the server, from any thread; drop them if the server has ended."""

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
    """Interrupt this process when the server closes the pipe, unless the verb is over."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.over = False

    def start(self) -> None:
        threading.Thread(target=self._wait, name="server", daemon=True).start()

    def _wait(self) -> None:
        os.read(self._descriptor, 1)
        if not self.over:
            os.kill(os.getpid(), signal.SIGINT)


class _Relay(PlainPrinter):
    """Send lines to the server as progress, and what a capped run has spent."""

    def __init__(self, server: _Server) -> None:
        self._steps = Progress()
        self._server = server
        super().__init__(_SaidLines(self._say), _HEARTBEAT_SECONDS, _protection())

    def follow(self, event: Event) -> None:
        self._steps.take(event)
        if isinstance(event, BudgetCommitted):
            self._server.say(Spent(event.tokens, event.cost_usd))
        super().follow(event)

    def _say(self, text: str) -> None:
        self._server.say(Progressed(*self._steps.step(), text))


class _SaidLines(Stream):
    """Pass on what is written, without the spaces that align its columns."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(None)
        self._say = say

    def write(self, text: str) -> int:
        self._say("\n".join(" ".join(each.split()) for each in text.splitlines()))
        return len(text)
