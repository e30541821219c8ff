"""The official client of the Model Context Protocol, as a program that starts `llmch mcp`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import Tool

from tests import processes
from tests.llmch.command_line import own_environment

Progress = tuple[float, float | None, str]


@dataclass(frozen=True)
class Answer:
    """What a tool answered, and the progress that was reported before."""

    document: Any
    text: str
    is_error: bool
    progress: list[Progress]

    @property
    def error(self) -> Any:
        """The error that ended the call, in the form that `--json` has."""
        assert self.is_error
        assert self.document.keys() == {"error"}
        assert self.document["error"].keys() == {"code", "name", "message", "hint"}
        assert "Traceback" not in self.text
        return self.document["error"]


@dataclass
class Client:
    """Calls tools of one server. Its answers are checked against the schemas by the library."""

    session: ClientSession
    heard: list[Progress] = field(default_factory=list)
    """The progress of all calls."""

    async def tools(self) -> dict[str, Tool]:
        return {each.name: each for each in (await self.session.list_tools()).tools}

    async def call(self, name: str, **parameters: Any) -> Answer:
        reports: list[Progress] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            reports.append((progress, total, message or ""))
            self.heard.append(reports[-1])

        result = await self.session.call_tool(name, parameters, progress_callback=hear)
        (content,) = result.content
        assert content.type == "text"
        return Answer(result.structured_content, content.text, bool(result.is_error), reports)

    async def until(self, words: str) -> None:
        """Wait until some progress has these words."""
        with anyio.fail_after(120):
            while not any(words in message for _, _, message in self.heard):
                await anyio.sleep(0.01)


def _first(error: BaseException) -> BaseException:
    """Return what went wrong first, out of the groups in which tasks wrap it."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


@dataclass(frozen=True)
class Mcp:
    """Starts `llmch mcp` with some options, in a folder; `errors` is where its stderr goes."""

    cwd: Path
    options: tuple[str, ...]
    errors: Path

    def serve(
        self, scenario: Callable[[Client], Awaitable[None]], *options: str | Path, **variables: str
    ) -> str:
        """Play a client to its end, and return what the server wrote to standard error."""

        async def play() -> None:
            async with self.client(*options, **variables) as client:
                with anyio.fail_after(240):
                    await scenario(client)

        try:
            anyio.run(play)
        except BaseExceptionGroup as group:
            raise _first(group) from None
        return self.errors.read_text()

    @contextlib.asynccontextmanager
    async def client(self, *options: str | Path, **variables: str) -> AsyncIterator[Client]:
        server = self.parameters(*options, **variables)
        with self.errors.open("w") as errors:
            async with stdio_client(server, errors) as streams, ClientSession(*streams) as session:
                await session.initialize()
                yield Client(session)

    def parameters(self, *options: str | Path, **variables: str) -> StdioServerParameters:
        """Return how the official client starts the server."""
        words = ["-m", "llmch", "mcp", *self.options, *map(str, options)]
        return StdioServerParameters(
            command=sys.executable, args=words, env=own_environment(**variables), cwd=self.cwd
        )

    def start(self, *options: str | Path, **variables: str) -> subprocess.Popen[bytes]:
        """Start the server for a client that speaks the protocol by itself."""
        words = ["-m", "llmch", "mcp", *self.options, *map(str, options)]
        return processes.start(
            [sys.executable, *words],
            cwd=self.cwd,
            env=own_environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
