"""Serves the tools to a client, within its caps, and starts the process of each call; the only
code that knows the protocol's library.

Whatever else of this process writes to standard output, or reads standard input, gets standard
error and nothing. Reading and writing can be cancelled, so a client that neither writes nor reads
cannot keep the server from ending.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp.types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import llmch
from llmch import __version__, telemetry
from llmch.entry.boundary import is_asked_for
from llmch.verbs.mcp.call import Answered, Progressed, Spent, decode, error_answer
from llmch.verbs.mcp.tools import Grant, Tool, tools_for
from shared.errors import Busy, CommandFailed, ExitCode, InvalidInput, LlmchError
from shared.llm.budget import Budget
from shared.processes.process import ProgramMissing, Service, ToolFailed, start_service

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


class ToolCall:
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
        """Return the verb's answer; `hear` gets the progress.

        Where this is cancelled, the verb is interrupted as by Ctrl-C, and has ended when this
        returns. Raises `CommandFailed` if no answer comes.
        """
        service, hold, said = _start(self._words, self._cwd, self._environ)
        lines = _LineReader(said)
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

    async def _listen(self, lines: _LineReader, hear: Hear) -> None:
        while (line := await lines.next()) is not None:
            match decode(line):
                case Progressed() as progressed:
                    await hear(progressed)
                case Spent() as spent:
                    self.spent = spent
                case Answered() as answered:
                    self._answered = answered

    async def _end(self, service: Service, lines: _LineReader) -> None:
        """Wait for the end of the process, and kill it where it does not end."""
        with anyio.move_on_after(_PATIENCE_SECONDS) as patience:
            await self._listen(lines, _ignore)
        if patience.cancelled_caught:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGKILL)
        await anyio.to_thread.run_sync(service.wait)


async def _ignore(progressed: Progressed) -> None:
    """Drop progress that the client no longer waits for."""


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
    except (ProgramMissing, ToolFailed) as error:
        os.close(hold)
        os.close(said)
        raise CommandFailed(f"the call could not be started: {error}", "try again") from error
    finally:
        for each in given:
            os.close(each)
    os.set_blocking(said, False)
    return service, hold, said


class _LineReader:
    """Read whole lines from a descriptor; a reading that was cancelled can be taken up again."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = bytearray()

    async def next(self) -> bytes | None:
        """Return the next line, or `None` if there is none left."""
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


@dataclass(slots=True)
class SessionBudget:
    """Hold the caps, and what the calls that are over have taken of them."""

    budget: Budget
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    def words(self) -> tuple[str, ...]:
        """Return the options that cap the next call by what is left."""
        words = []
        if self.budget.max_tokens is not None:
            words.append(f"--max-tokens={max(0, self.budget.max_tokens - self.tokens)}")
        if self.budget.max_cost_usd is not None:
            words.append(f"--max-cost={max(Decimal(0), self.budget.max_cost_usd - self.cost_usd)}")
        return tuple(words)

    def take(self, spent: Spent) -> None:
        """Take what a call has spent; an unknown cost takes all that is left."""
        self.tokens += spent.tokens
        if spent.cost_usd is not None:
            self.cost_usd += Decimal(str(spent.cost_usd))
        elif self.budget.max_cost_usd is not None:
            self.cost_usd = max(self.cost_usd, self.budget.max_cost_usd)

    def describe(self) -> str:
        """Return in words what is capped and what is spent of it; "" without a cap."""
        parts = []
        if self.budget.max_tokens is not None:
            parts.append(f"{self.tokens:,} of {self.budget.max_tokens:,} tokens")
        if self.budget.max_cost_usd is not None:
            parts.append(f"${self.cost_usd:.4f} of ${self.budget.max_cost_usd}")
        return f"this server has spent {' and '.join(parts)}" if parts else ""


_MOST_LINE = 8 * 1024 * 1024  # bytes; no request is near it


@contextlib.contextmanager
def standard_streams(gone: Callable[[], None]) -> Iterator[tuple[Any, Any]]:
    """Give standard input and output as the protocol's library reads and writes them.

    `gone` is called where nobody reads standard output any longer.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing, blocks = os.open(os.devnull, os.O_RDONLY), os.get_blocking(outgoing)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield _StandardStreamsLines(incoming), _TextWriter(outgoing, gone)
    finally:
        os.set_blocking(outgoing, blocks)  # others may write to the same pipe
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
        os.close(incoming)
        os.close(outgoing)


class _StandardStreamsLines:
    """Iterate over the lines of a descriptor; a blank one replaces one that is too long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waits = _can_wait(descriptor)
        self._rest = bytearray()
        self._skips = False

    def __aiter__(self) -> _StandardStreamsLines:
        return self

    async def __anext__(self) -> str:
        while (end := self._rest.find(b"\n")) < 0:
            await self._read()
        line = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        skipped, self._skips = self._skips, False
        return "\n" if skipped else line.decode("utf-8", "replace")

    async def _read(self) -> None:
        if self._waits:
            await anyio.wait_readable(self._descriptor)
        else:
            await anyio.lowlevel.checkpoint()
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError as error:  # the terminal has gone
            raise StopAsyncIteration from error
        if not chunk:
            raise StopAsyncIteration
        self._rest += chunk
        if len(self._rest) > _MOST_LINE and b"\n" not in chunk:
            self._rest.clear()
            self._skips = True


class _TextWriter:
    """Write text to a descriptor, waiting where it is full."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gone = gone
        self._waits = _can_wait(descriptor) and not os.isatty(descriptor)
        if self._waits:
            os.set_blocking(descriptor, False)

    async def write(self, text: str) -> None:
        """Write the text. If the client reads no longer, the server ends."""
        left = memoryview(text.encode("utf-8", "replace"))
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            except OSError:
                self._gone()
                return

    async def flush(self) -> None:
        """Do nothing: every write is flushed."""


def _can_wait(descriptor: int) -> bool:
    """Return whether the system can be asked to wait for the descriptor, as for no file."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


_AT_A_TIME = 4  # calls that only look; each is a process
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_INSTRUCTIONS = """\
llmch turns a specification into a plan of work orders (`plan`), and each order into a git commit \
that was verified in a sandbox (`run_all`). `show` and `check` look at a plan, `status` and `diff` \
at a run, `verify` at commits, and `drift` at what became of requirements. A call that fails \
answers with {"error": {code, name, message, hint}}. A hint may name an option of the command \
line: only the person who started this server can set it, and no parameter can."""


def serve(grant: Grant) -> None:
    """Serve on standard input and output until the client or a signal (Ctrl-C, SIGTERM) ends it.

    Calls under way are interrupted, and their processes have ended when this returns.
    """
    anyio.run(_serve, _Session(grant))


async def _serve(desk: _Session) -> None:
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


class _Session:
    """Answer what a client asks. Calls that pay a model run one at a time."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        self._tools = tools_for(grant)
        self._purse = SessionBudget(grant.budget)
        self._looking = anyio.Semaphore(_AT_A_TIME)
        self._paying = anyio.Lock()
        self._paid: ToolCall | None = None
        self._paid_for = ""

    async def list_tools(
        self, context: ServerRequestContext[Any], params: object
    ) -> mcp.types.ListToolsResult:
        return mcp.types.ListToolsResult(
            tools=[_described(each, self._grant) for each in self._tools.values()]
        )

    async def call_tool(
        self, context: ServerRequestContext[Any], params: mcp.types.CallToolRequestParams
    ) -> mcp.types.CallToolResult:
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

    def _calling(self, words: tuple[str, ...]) -> ToolCall:
        return ToolCall(words, self._grant.cwd, {**self._grant.environ, **_traced_below()})

    @asynccontextmanager
    async def _one_that_pays(self, words: tuple[str, ...], what: str) -> AsyncIterator[ToolCall]:
        """Give the call that may ask a model, with what is left of the caps.

        Waits for one that was cancelled and is still ending. Raises `Busy` beside any other.
        """
        if self._paid is not None and not self._paid.is_ending:
            raise Busy(
                f"{self._paid_for} is under way, and calls that may ask a model take turns",
                "wait for its answer, or cancel it; `status` shows how far a run is",
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
            f"{name[:100]!r} is not a tool here",
            f"did you mean {near[0]}?" if near else f"the tools are {names}",
        )


def _traced_below() -> dict[str, str]:
    if not is_asked_for():
        return {}
    return telemetry.carried()


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
