"""Gives an agent its only way to a model: a Unix socket, and behind it the run's own client.

The agent chooses what it says. The model, the limits, and what else goes to a server are llmch's
(`relay_wires`). Each call goes through the client of the run: it is recorded, counted, capped and
repeated as llmch's own calls are, and a call on record is answered without a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import io
import json
import os
import re
import select
import socket as sockets
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

from shared.errors import LlmchError
from shared.events.events import Emit, Noted, ignore
from shared.files.secret_values import redact, secret_values
from shared.llm.budget import total_tokens
from shared.llm.model_client import CallPlace, LlmClient, Relayed, ReplyFailed, Request, Usage
from shared.llm.relay_wires import (
    MOST_ROUNDS,
    NESTED,
    Call,
    CallRefused,
    Wire,
    clean_call,
    find_wire,
    goes_in_circles,
    short_name,
)
from shared.llm.reply_bodies import EVENT_STREAM, iter_events

_LONGEST_CALL_BYTES = 8 * 1024 * 1024
_EXPECTED_TOKENS = 1_000
"""What a reply of one turn may take: where a cap leaves less, no call is made."""
_CONNECTIONS = 16
_READ_SECONDS = 30.0
"""How long a call may take to come in, so that an agent cannot hold a connection by drips."""
_WRITE_SECONDS = 60.0
_LINGER_SECONDS = 2.0
_LONGEST_ADDRESS = 107
_ENDING_SECONDS = 5.0
"""How long the end waits for replies under way: one that is on record is not paid for again."""


@dataclass(frozen=True, slots=True)
class RelayTerms:
    """Hold what the calls of one attempt are made with, whatever the agent asks for.

    A limit that the agent sets below `max_output_tokens` stays. Where effort and temperature are
    `None`, the agent's own are sent. `most_tokens` bounds input and output of all calls together.
    `most_bytes` bounds what all calls have together, since the transcript has each of them whole.
    `masks` are regular expressions over the compact JSON of a call: what the first group matches
    differs between equal runs, and the group's name says what it is.
    """

    place: CallPlace
    model: str
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    temperature: float | None = None
    most_calls: int = 100
    masks: tuple[str, ...] = ()
    most_tokens: int | None = None
    most_bytes: int = 256 * 1024 * 1024


class _Ended(CallRefused):
    """Raised for a call that the account names in other words, or needs none."""


class Relay:
    """Answer the calls of one agent in one attempt. Use it as a context manager.

    It listens at `socket`, in a folder that others cannot enter. `ended` is set once the agent
    should be ended. `failure` is then what has to end the run, or `None`; whoever holds the relay
    raises it once the agent has ended.
    """

    def __init__(
        self, client: LlmClient, terms: RelayTerms, socket: Path, emit: Emit = ignore
    ) -> None:
        self._client, self._terms, self._path, self._emit = client, terms, socket, emit
        self._masks = tuple(map(re.compile, terms.masks))
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._slots = threading.Semaphore(_CONNECTIONS)
        self._closing = threading.Event()
        self._open: set[sockets.socket] = set()
        self._words: dict[str, None] = {}
        self._used: dict[str, None] = {}
        self._made: Counter[str] = Counter()
        self._undelivered: defaultdict[str, list[int]] = defaultdict(list)
        self._waiting: dict[tuple[str, int], _AgentCall] = {}
        self._under_way = 0
        self._tokens = self._size = 0
        self.calls = 0
        self.reached = ""
        self.failure: Exception | None = None
        self.ended = threading.Event()
        self.is_left = False
        """Whether nobody waits any more for the replies that are under way."""

    @property
    def account(self) -> tuple[str, ...]:
        """Return in words what was removed from calls, what was refused, and which bound held."""
        with self._lock:
            return tuple(self._words)

    @property
    def masks_used(self) -> tuple[str, ...]:
        """Return the names of the masks that hid a part of a call."""
        with self._lock:
            return tuple(self._used)

    def __enter__(self) -> Self:
        self._listener = listen(self._path)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        """Stop listening, and wait shortly for replies under way unless an error ends the run."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(sockets.SHUT_RDWR)
        self._listener.close()
        self._path.unlink(missing_ok=True)
        if kind is None:
            self.wait_until_idle(_ENDING_SECONDS)
        self.is_left = True
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(sockets.SHUT_RDWR)

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no call is under way, but for no more than `seconds`."""
        with self._idle:
            self._idle.wait_for(lambda: not self._under_way, seconds)

    def answer(self, path: str, source: bytes, exchange: _AgentCall) -> None:
        """Answer one call; raise `CallRefused` where it gets an error in place of a reply."""
        wire, route = find_wire(path)
        call = clean_call(wire, route, source, self.note)
        key, again, request = self._request(wire, route, call, exchange)
        has_outcome = True
        try:
            completion = self._client.complete(request)
            self._count(completion.usage)
            exchange.is_answered = True  # from here on an agent that has all may hang up
            exchange.deliver(completion.document)
            has_outcome = not exchange.is_gone
        except ReplyFailed as failed:
            self._count(failed.usage)
            self.note(f"a call failed: {failed.message}")
            if call.is_streamed and failed.lost:
                exchange.cut(failed.lost[-1])
            raise _Ended(failed.message) from None
        except RecursionError:  # in what is sent, which has more frames below it than what was read
            raise CallRefused(NESTED) from None
        except Exception as error:  # a bug too must end the run, not only this thread
            self._fail(error)
            kind = error.message if isinstance(error, LlmchError) else "a fault of llmch"
            self.note(f"a call could not be made: {kind}")
            raise _Ended("llmch makes no more calls in this run: end now") from None
        finally:
            with self._idle:
                if self._waiting.get((key, again)) is exchange:
                    del self._waiting[key, again]
                    if not has_outcome:  # an agent that asks again gets what is on record
                        heapq.heappush(self._undelivered[key], again)
                self._under_way -= 1
                self._idle.notify_all()

    def list_models(self) -> str:
        """Return the one model as a server lists its models, in JSON."""
        model = {"id": self._terms.model, "object": "model", "created": 0, "owned_by": "llmch"}
        return json.dumps({"object": "list", "data": [model]})

    def _request(
        self, wire: Wire, route: str, call: Call, exchange: _AgentCall
    ) -> tuple[str, int, Request]:
        """Return the request for a call, counted; raise `CallRefused` past a bound."""
        terms = self._terms
        masked, used = self._masked(call.body)
        digest = hashlib.sha256(masked.encode()).hexdigest()
        if call.model not in ("", terms.model):
            self.note(f"{short_name(call.model)} was asked for; the model is {terms.model}")
        limits = [each for each in (call.limit, terms.max_output_tokens) if each is not None]
        temperature, effort = terms.temperature, terms.reasoning_effort
        turn = self._next_turn(call)
        key = f"{route} {digest}"
        with self._lock:
            self._used |= dict.fromkeys(used)
            again = self._next_of(key)
            self._waiting[key, again] = exchange
        request = Request(
            api=wire.api,
            model=terms.model,
            prompt="",
            place=replace(terms.place, turn=turn),
            max_output_tokens=min(limits, default=None),
            temperature=call.temperature if temperature is None else temperature,
            reasoning_effort=call.effort if effort is None else effort,
            expected_output_tokens=_EXPECTED_TOKENS,
            relayed=Relayed(route, call.body, digest, again, used),
            sink=exchange.pass_on if call.is_streamed else None,
        )
        return key, again, request

    def _next_of(self, key: str) -> int:
        """Return how many equal calls came before, but for those whose reply the agent lacks."""
        if free := self._undelivered[key]:
            return heapq.heappop(free)
        for (other, again), exchange in self._waiting.items():
            if other == key and exchange.has_hung_up:
                return again  # the reply that is under way is the answer to both
        self._made[key] += 1
        return self._made[key] - 1

    def _next_turn(self, call: Call) -> int:
        """Return the number of a call; past a bound refuse it, and have the agent ended."""
        terms, size = self._terms, len(call.body)
        is_circle = goes_in_circles(call.turns, lambda text: self._masked(text)[0])
        with self._lock:
            if is_circle and not self.reached:
                self.reached = f"it said and got the same {MOST_ROUNDS} times in a row"
            for most, taken, what in (
                (terms.most_calls, self.calls + 1, "calls"),
                (terms.most_tokens, self._tokens + 1, "tokens"),
                (terms.most_bytes, self._size + size, "bytes of calls"),
            ):
                if most is not None and taken > most and not self.reached:
                    self.reached = f"the bound of {most:,} {what} is reached"
            is_over = bool(self.reached or self.failure or self._closing.is_set())
            if not is_over:
                self.calls += 1
                self._size += size
                self._under_way += 1
                return self.calls
        self.ended.set()
        if self.reached:
            self.note(self.reached)
        raise _Ended(f"{self.reached or 'this attempt is over'}: end now")

    def _masked(self, body: str) -> tuple[str, tuple[str, ...]]:
        """Return the body without what masks hide, and the names of those that hid something."""
        used = []
        for mask in self._masks:
            name = next(iter(mask.groupindex), mask.pattern)
            group = min(1, mask.groups)

            def hidden(found: re.Match[str], name: str = name, group: int = group) -> str:
                start, end = (each - found.start() for each in found.span(group))
                return f"{found[0][:start]}[{name}]{found[0][end:]}"

            body, count = mask.subn(hidden, body)
            if count:
                used.append(name)
        return body, tuple(used)

    def _count(self, usage: Usage) -> None:
        with self._lock:
            self._tokens += total_tokens(usage)

    def note(self, words: str) -> None:
        """Add words to the account, once."""
        with self._lock:
            is_new = words not in self._words and len(self._words) < _MOST_WORDS
            if is_new:
                self._words[words] = None
        if is_new:
            self._emit(Noted(f"{self._terms.place}: {words}"))

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self.failure = self.failure or error
        self.ended.set()

    def _accept(self) -> None:
        while not self._closing.is_set():
            if not self._slots.acquire(timeout=0.2):
                continue
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._slots.release()
                time.sleep(0.05)  # too many files are open, or the relay closes
                continue
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: sockets.socket) -> None:
        try:
            _AgentCall(connection, self)
        except OSError:
            pass  # an agent that hangs up
        except Exception as fault:
            self._fail(fault)
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()
            self._slots.release()


# An agent could fill the record with names of its own choice.
_MOST_WORDS = 50


def listen(path: Path) -> sockets.socket:
    """Return a socket that listens at `path`, for this user alone, however long the path is."""
    listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        path.unlink(missing_ok=True)
        is_long = len(os.fsencode(path)) > _LONGEST_ADDRESS
        listener.bind(f"/proc/self/fd/{folder}/{path.name}" if is_long else os.fspath(path))
        path.chmod(0o600)
        listener.listen(1024)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener


class _Timed(io.RawIOBase):
    """Read a connection until a moment; every read raises `TimeoutError` after it."""

    def __init__(self, connection: sockets.socket, seconds: float) -> None:
        self._connection = connection
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _AgentCall(BaseHTTPRequestHandler):
    """Read one call from a connection and answer it; no second call is read from it."""

    protocol_version = "HTTP/1.1"

    def __init__(self, connection: sockets.socket, relay: Relay) -> None:
        self._relay = relay
        self._secrets = secret_values(os.environ)
        self._passed = 0
        self.is_gone = False
        self.is_answered = False
        self._is_unread = True
        super().__init__(connection, ("", 0), relay)  # type: ignore[arg-type]  # only kept

    @property
    def has_hung_up(self) -> bool:
        """Whether the agent has closed the connection before its reply."""
        if self.is_answered:
            return False
        looking = select.poll()
        looking.register(self.connection, select.POLLRDHUP)
        return bool(looking.poll(0))

    def setup(self) -> None:
        self.connection: sockets.socket = self.request
        self.rfile = io.BufferedReader(_Timed(self.connection, _READ_SECONDS))
        self.wfile = self.connection.makefile("wb", 0)

    def handle(self) -> None:
        self.close_connection = True
        self.handle_one_request()
        if self._is_unread:  # an answer is lost where its connection is closed with bytes unread
            self.connection.shutdown(sockets.SHUT_WR)
            rest = _Timed(self.connection, _LINGER_SECONDS)
            while rest.readinto(bytearray(1 << 16)):
                pass

    def do_GET(self) -> None:
        self._is_unread = False
        if self.path.partition("?")[0] == "/v1/models":
            self._send(200, self._relay.list_models())
        else:
            self.send_error(404, "the relay has no such route")

    def do_POST(self) -> None:
        try:
            source = self._read()
            self._is_unread = False
            self._relay.answer(self.path, source, self)
        except CallRefused as refused:
            if not isinstance(refused, _Ended):
                self._relay.note(f"a call was refused: {refused.words}")
            self.send_error(refused.status, refused.words)

    def _read(self) -> bytes:
        """Return the body of the call, whose length has to be given once and in digits."""
        lengths = self.headers.get_all("content-length", [])
        if self.headers.get_all("transfer-encoding") or len(lengths) != 1:
            raise CallRefused("a call needs one Content-Length, and no Transfer-Encoding", 411)
        if not re.fullmatch(r"[0-9]{1,12}", lengths[0]):
            raise CallRefused("the Content-Length is not a number")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise CallRefused("a call is not to be compressed", 415)
        if (size := int(lengths[0])) > _LONGEST_CALL_BYTES:
            raise CallRefused(f"it is longer than {_LONGEST_CALL_BYTES:,} bytes", 413)
        source = self.rfile.read(size)
        if len(source) < size:
            raise ConnectionError("the call broke off")
        return source

    def pass_on(self, event: bytes) -> None:
        """Pass on one event of a stream; the first one begins the answer.

        Raises `ReplyFailed` once the relay was left, so that a server writes no reply for nobody.
        """
        if self._relay.is_left:
            raise ReplyFailed("the agent had ended before its reply was complete")
        if not self._passed:
            self._begin(200, EVENT_STREAM, "Transfer-Encoding: chunked")
        self._passed += 1
        event = redact(event.decode(), self._secrets).encode()
        self._put(b"%x\r\n%s\r\n" % (len(event), event))

    def deliver(self, document: str) -> None:
        """Send a reply that is on record, or what of it has not been passed on."""
        if document.lstrip()[:1] in ("{", ""):
            self._send(200, document)
        else:
            self._pass_rest(document)
            self._put(b"0\r\n\r\n")

    def cut(self, document: str) -> None:
        """Send what was passed on of a reply that broke, and end the connection without an end."""
        self._pass_rest(document)
        raise ConnectionError("the reply broke off")

    def _pass_rest(self, document: str) -> None:
        for event in list(iter_events([document.encode("utf-8", "replace")]))[self._passed :]:
            self.pass_on(event)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error in a form that clients of each wire read."""
        words = message or "the call was refused"
        error = {"message": words, "type": "invalid_request_error", "code": code}
        error["status"] = "INVALID_ARGUMENT"
        self._send(code, json.dumps({"type": "error", "error": error}))

    def log_message(self, *args: object) -> None:
        pass

    def _send(self, status: int, document: str) -> None:
        body = document.encode("utf-8", "replace")
        self._begin(status, "application/json", f"Content-Length: {len(body)}")
        self._put(body)

    def _begin(self, status: int, media_type: str, length: str) -> None:
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {media_type}"
        self._put(f"{head}\r\n{length}\r\nConnection: close\r\n\r\n".encode())

    def _put(self, data: bytes) -> None:
        """Write to the agent; one that does not listen any more changes nothing in the record."""
        if self.is_gone:
            return
        self.connection.settimeout(_WRITE_SECONDS)
        try:
            self.connection.sendall(data)
        except OSError:
            self.is_gone = True
