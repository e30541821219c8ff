"""Serves the tools to a client; no other file knows the protocol's library."""

from __future__ import annotations

import difflib
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import mcp.types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from llmch import __version__
from llmch.entry.telemetry import is_asked_for
from llmch.verbs.mcp.answering import error_answer
from llmch.verbs.mcp.calling import Calling
from llmch.verbs.mcp.grant import Grant
from llmch.verbs.mcp.messages import Answered, Progressed
from llmch.verbs.mcp.purse import Purse
from llmch.verbs.mcp.standard_streams import standard_streams
from llmch.verbs.mcp.tool import Tool
from llmch.verbs.mcp.tools import tools_for
from shared.errors import Busy, ExitCode, InvalidInput, LlmchError

_AT_A_TIME = 4  # calls that only look; each is a process
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_INSTRUCTIONS = """\
llmch turns a specification into a plan of work orders (`plan`), and each order into a git commit \
that was verified in a sandbox (`run_all`). `show` and `check` look at a plan, `status` and `diff` \
at a run, and `verify` at commits. A call that fails answers with {"error": {code, name, message, \
hint}}. A hint may name an option of the command line: only the person who started this server can \
set it, and no parameter can."""


def serve(grant: Grant) -> None:
    """Serve on standard input and output until the client ends it, or until SIGINT or SIGTERM.

    Calls under way are interrupted, and their processes have ended when this returns.
    """
    anyio.run(_serve, _Desk(grant))


async def _serve(desk: _Desk) -> None:
    server: Server[Any] = Server(
        "llmch",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
    )
    if not is_asked_for():
        server.middleware.clear()  # the library draws each message as a span
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_signal, tasks.cancel_scope)
        with standard_streams(tasks.cancel_scope.cancel) as (stdin, stdout):
            async with stdio_server(stdin, stdout) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(scope: anyio.CancelScope) -> None:
    # A signal that our parent process set to be ignored, as `nohup` does, stays ignored.
    heard = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heard) as signals:
        async for _ in signals:
            scope.cancel()


class _Desk:
    """Answers what a client asks. What a model is paid for happens one call at a time."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        self._tools = tools_for(grant)
        self._purse = Purse(grant.budget)
        self._looking = anyio.Semaphore(_AT_A_TIME)
        self._paying = anyio.Lock()
        self._paid: Calling | None = None
        self._paid_for = ""

    async def list_tools(
        self, context: ServerRequestContext[Any], params: object
    ) -> mcp.types.ListToolsResult:
        """Return the tools with their schemas."""
        return mcp.types.ListToolsResult(
            tools=[_described(each, self._grant) for each in self._tools.values()]
        )

    async def call_tool(
        self, context: ServerRequestContext[Any], params: mcp.types.CallToolRequestParams
    ) -> mcp.types.CallToolResult:
        """Return the answer of a tool, or the error that ended it."""

        async def hear(progressed: Progressed) -> None:
            await context.session.report_progress(
                progressed.done, progressed.total, progressed.text
            )

        try:
            answered = await self._answer(params.name, params.arguments or {}, hear)
        except LlmchError as error:
            answered = error_answer(error)
        return mcp.types.CallToolResult(
            content=[mcp.types.TextContent(type="text", text=answered.text)],
            structured_content=answered.document,
            is_error=answered.is_error,
        )

    async def _answer(self, name: str, parameters: dict[str, Any], hear: Any) -> Answered:
        tool = self._tool(name)
        repo, words = tool.command(parameters, self._grant)
        if not tool.pays:
            async with self._looking:
                return await self._calling(words).answer(hear)
        async with self._one_that_pays(words, f"{name} on {repo}") as calling:
            answered = await calling.answer(hear)
        return self._with_what_is_spent(answered)

    def _calling(self, words: tuple[str, ...]) -> Calling:
        return Calling(words, self._grant.cwd, {**self._grant.environ, **_traced_below()})

    @asynccontextmanager
    async def _one_that_pays(self, words: tuple[str, ...], what: str) -> AsyncIterator[Calling]:
        """Give the call that may ask a model, with what is left of the caps.

        Waits for one that was cancelled and is still ending. Raises `Busy` beside any other.
        """
        if self._paid is not None and not self._paid.is_ending:
            raise Busy(
                f"{self._paid_for} is under way, and calls that may ask a model take turns",
                "wait for its answer, or cancel it; `status` shows where a run stands",
            )
        async with self._paying:
            calling = self._calling((words[0], *self._purse.words(), *words[1:]))
            self._paid, self._paid_for = calling, what
            try:
                yield calling
            finally:
                self._purse.take(calling.spent)
                self._paid = None

    def _with_what_is_spent(self, answered: Answered) -> Answered:
        """Return the answer; where a cap ended the call, with what all calls have spent."""
        error = answered.document.get("error")
        if not answered.is_error or not error or error["code"] != ExitCode.BUDGET:
            return answered
        spent = self._purse.describe()
        message = f"{error['message']}; {spent}"
        document = {"error": {**error, "message": message}}
        return replace(answered, document=document, text=f"{answered.text}\n{spent}\n")

    def _tool(self, name: str) -> Tool:
        if name in self._tools:
            return self._tools[name]
        near = difflib.get_close_matches(name[:100], self._tools, n=1)
        names = ", ".join(self._tools)
        raise InvalidInput(
            f"there is no tool {name[:100]!r} here",
            f"did you mean {near[0]}?" if near else f"the tools are {names}",
        )


def _traced_below() -> dict[str, str]:
    if not is_asked_for():
        return {}
    from llmch.telemetry.tracing import carried

    return carried()


def _described(tool: Tool, grant: Grant) -> mcp.types.Tool:
    return mcp.types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(grant),
        output_schema=tool.output_schema(),
        annotations=mcp.types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=tool.pays,
        ),
    )
