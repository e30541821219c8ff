"""Speaks the Agent Client Protocol with an agent whose input and output are a socket.

The agent is held by its sandbox and by nothing that is agreed upon here: every permission is given.
What it sends is read within bounds, and the library gets only messages of a form that it expects.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from acp import CLIENT_METHODS, PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.schema import AllowedOutcome, DeniedOutcome, PermissionOption, RequestPermissionResponse
from pydantic import ValidationError

from shared.llm.relay import listen

_LINE_BYTES: Final = 8 * 2**20
_MOST_BYTES: Final = 64 * 2**20
_MOST_REQUESTS: Final = 10_000
_PERMISSION: Final = CLIENT_METHODS["session_request_permission"]
_ANSWERS: Final = ("protocolVersion", "sessionId", "stopReason")
_MOST_OPTIONS: Final = 100
_MOST_PROMPTS: Final = 2
_WORDS_CHARACTERS: Final = 300
_SAID_CHARACTERS: Final = 200_000
_GRACE_SECONDS: Final = 2.0
"""How long an agent may take to end by itself after its last turn, before it is ended."""


class Talk:
    """Prompt one agent, on a thread of its own, from the time that it connects to a socket.

    `reason` is the protocol's word for why the last turn ended, and `fault` says why the talk
    cannot go on. `follow_up` returns what to say to an agent that has ended its turn, if anything.
    What the agent said is written to `log` with the suffix `.acp.log` at the end.
    """

    def __init__(
        self, path: Path, folder: str, text: str, follow_up: Callable[[], str], log: Path
    ) -> None:
        self._folder, self._text, self._follow_up, self._log = folder, text, follow_up, log
        self.reason = ""
        self._ended_at = 0.0
        self._bug: Exception | None = None
        self._lines = _Lines()
        self._listener = listen(path)
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="acp", daemon=True)

    @property
    def fault(self) -> str:
        return self._lines.fault

    @property
    def words(self) -> str:
        """Return how the talk ended, without a subject."""
        return f"ended its turn ({self.reason})" if self.reason else "hung up during its turn"

    @property
    def said(self) -> str:
        return "".join(self._lines.said)[-_SAID_CHARACTERS:]

    def over(self) -> str:
        """Return why the agent has to be ended now; empty while it may go on."""
        if self.fault:
            return f"was ended: {self.fault}"
        is_late = self._ended_at and time.monotonic() - self._ended_at > _GRACE_SECONDS
        return self.words if is_late else ""

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Talk until the agent has ended. Raises a fault of llmch itself, if there was one."""
        self._thread.start()
        try:
            yield
        finally:
            for each in (self._listener, self._connection):
                with suppress(OSError, AttributeError):
                    cast(socket.socket, each).shutdown(socket.SHUT_RDWR)
            self._thread.join()
            self._listener.close()
            with suppress(OSError):  # a record of what was said decides nothing
                self._log.with_suffix(".acp.log").write_text(self.said, "utf-8", "replace")
        if self._bug is not None:
            raise self._bug

    def _run(self) -> None:
        try:
            self._connection, _ = self._listener.accept()
            asyncio.run(self._talk(self._connection))
        except OSError:
            pass  # the agent has ended, or never began
        except RequestError as refused:
            self._lines.end(f"it refused: {refused}")
        except ValidationError:
            self._lines.end("it answered what the protocol does not have")
        except Exception as bug:
            self._bug = bug
        finally:
            self._ended_at = time.monotonic()

    async def _talk(self, connection: socket.socket) -> None:
        lines = self._lines
        opening = asyncio.open_unix_connection(sock=connection, limit=_LINE_BYTES)
        lines.reader, lines.writer = await opening
        async with connect_to_agent(cast(Any, _Allowing()), lines) as agent:
            spoken = (await agent.initialize(PROTOCOL_VERSION)).protocol_version
            if spoken != PROTOCOL_VERSION:
                lines.end(f"it speaks version {spoken} of the protocol")
                return
            session = (await agent.new_session(self._folder, mcp_servers=[])).session_id
            text = self._text
            for _ in range(_MOST_PROMPTS):
                reason = (await agent.prompt(session, [text_block(text)])).stop_reason
                text = self._follow_up() if reason == "end_turn" else ""
                if not text:
                    break
            self.reason = reason


class _Allowing:
    """Give every permission; files and terminals of the client are not offered."""

    async def request_permission(
        self, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        for each in options:
            if each.kind.startswith("allow"):
                allowed = AllowedOutcome(outcome="selected", option_id=each.option_id)
                return RequestPermissionResponse(outcome=allowed)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


@dataclass(slots=True)
class _Lines:
    """Carry messages as lines of JSON, within bounds; `fault` says which was passed.

    Notifications end here: they say what the agent does, and nothing depends on them.
    """

    reader: asyncio.StreamReader = field(init=False)
    writer: asyncio.StreamWriter = field(init=False)
    said: list[str] = field(default_factory=list)
    fault: str = ""
    _bytes: int = 0
    _requests: int = 0

    def end(self, fault: str) -> None:
        shown = "".join(each if each.isprintable() else " " for each in fault[:_WORDS_CHARACTERS])
        self.fault = self.fault or shown

    async def send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # the end of what is read says that the agent is gone
            self.writer.write(json.dumps(message, default=str).encode() + b"\n")
            await self.writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next response or request; None at the end, or where a bound is passed."""
        while not self.fault:
            try:
                line = await self.reader.readline()
            except OSError:
                return None
            except ValueError:
                self.end(f"it sent a line of over {_LINE_BYTES:,} bytes")
                return None
            if not line:
                return None
            if message := self._message(line):
                return message
        return None

    async def close(self) -> None:
        self.writer.close()

    def _message(self, line: bytes) -> dict[str, Any] | None:
        """Return a response or a request; None for a notification, and for what is neither."""
        self._bytes += len(line)
        if self._bytes > _MOST_BYTES:
            self.end(f"it sent over {_MOST_BYTES:,} bytes")
            return None
        if not line.lstrip().startswith(b"{"):
            self.said.append(line.decode("utf-8", "replace"))
            return None
        try:
            message = _parsed(line)
        except (ValueError, RecursionError):
            self.end("it sent a line that is not a message of JSON-RPC")
            return None
        if "method" not in message:
            return message
        if "id" not in message:
            self._note(message.get("params"))
            return None
        self._requests += 1
        if self._requests > _MOST_REQUESTS:
            self.end(f"it asked over {_MOST_REQUESTS:,} questions")
            return None
        return message

    def _note(self, params: object) -> None:
        match params:
            case {"update": {"sessionUpdate": "agent_message_chunk", "content": {"text": str(t)}}}:
                self.said.append(t)
            case {"update": {"sessionUpdate": "tool_call", "title": str(title)}}:
                self.said.append(f"\n[{title}]\n")
            case _:
                pass


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a message as the library may have it: parts of known types, and only what is used.

    Other parts may be of a later version, or so many that naming what is wrong with them takes
    gigabytes.
    """
    message: dict[str, Any] = json.loads(line)
    parts = {"method": str, "id": int | str, "error": dict}
    if any(not isinstance(message[name], kind) for name, kind in parts.items() if name in message):
        raise ValueError("a part of another type")
    if isinstance(result := message.get("result"), dict):
        message["result"] = {name: result[name] for name in _ANSWERS if name in result}
    if message.get("method", _PERMISSION) != _PERMISSION:
        message["method"] = "_"  # the library would grant a terminal that is not there
    elif isinstance(params := message.get("params"), dict):
        options = params.get("options")
        few = options[:_MOST_OPTIONS] if isinstance(options, list) else options
        message["params"] = {"sessionId": "", "toolCall": {"toolCallId": ""}, "options": few}
    return message
