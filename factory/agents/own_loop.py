"""Lets a model look before it replies: five tools, and turns that are bounded.

Whoever asks sees an ordinary client. The last message is an ordinary reply, so its format, its
guards and its replay are those of any other. Four tools answer from the files of the baseline, the
same each time. What a command printed is on record, and is not run again for a replay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from factory.agents.agent_task import AgentTask
from factory.judging.run_checks import Trial, try_command
from factory.orders.documents import AgentRecord, CmdResult
from factory.proposal.shown_code import outline_lines
from factory.workbench.tree import NotReadable
from shared.events.events import AgentActed, AgentEnded, AgentStarted, Noted
from shared.files.atomic_io import make_folder, write_refused
from shared.languages.registry import language_of
from shared.llm import budget, tool_calls
from shared.llm.model_access import is_small
from shared.llm.model_client import (
    Completion,
    LlmClient,
    ModelTool,
    Request,
    ToolCall,
    ToolTurn,
    Usage,
)

NAME: Final = "tools"

_ANSWER_CHARACTERS: Final = 12_000
_ANSWERS_CHARACTERS: Final = 240_000
"""How much all answers of an attempt may have together; each later turn sends them again."""
_LISTED: Final = 300
_FOUND: Final = 60
_LINE_CHARACTERS: Final = 240
_READ_BYTES: Final = 2_000_000  # of one file
_SEARCHED_BYTES: Final = 64_000_000

_MAY_LOOK: Final = (
    "\nBefore you reply you may call tools, to look at the repository and to run its commands on "
    "the files as they are now. Look at what you need, then reply as asked above.\n"
)
_NO_MORE: Final = "\n\n(No tool can be called any more. Give your reply now, as it was asked for.)"

_FOLDER: Final = {"type": "string", "examples": ["src"]}
_PATH: Final = {"type": "string", "examples": ["src/app.py"]}
_LINE: Final = {"type": "integer", "examples": [1]}


def tools_for(commands: Sequence[str]) -> tuple[ModelTool, ...]:
    """Return the tools for an order that has these commands."""
    numbered = "; ".join(f"{number} is `{each}`" for number, each in enumerate(commands, 1))
    number = {"type": "integer", "examples": [1]}
    runs = ModelTool(
        "run", f"runs a command by its number: {numbered}", {"number": number}, ("number",)
    )
    return (
        ModelTool("list", "lists the files below a folder, or all files", {"folder": _FOLDER}),
        ModelTool(
            "read",
            "shows a file, or its lines from `first` to `last`",
            {"path": _PATH, "first": _LINE, "last": {"type": "integer", "examples": [80]}},
            ("path",),
        ),
        ModelTool(
            "search",
            "shows the lines that contain a text, exactly as it is given, in all files or in those "
            "below a folder",
            {"text": {"type": "string", "examples": ["def main"]}, "folder": _FOLDER},
            ("text",),
        ),
        ModelTool(
            "outline",
            "names the definitions of a file, with their lines",
            {"path": _PATH},
            ("path",),
        ),
        *((runs,) if commands else ()),
    )


class _CannotAnswer(Exception):
    """Say to the model why a call has no answer."""


@dataclass(slots=True)
class OwnLoop:
    """Ask `client`, and answer the tools that it calls, until it replies or a bound is reached.

    The workspace holds the baseline, and does so again when a call has been answered. `trial` says
    how commands are run. The bounds count for all questions of the attempt together.
    """

    task: AgentTask
    client: LlmClient
    trial: Trial
    calls: int = 0
    files: tuple[str, ...] = ()
    """The files that the reply proposes, as whoever reads it says."""
    _usage: Usage = field(default_factory=Usage)
    _room: int = _ANSWERS_CHARACTERS

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.task.commands))

    @property
    def record(self) -> AgentRecord:
        return AgentRecord(name=NAME, calls=self.calls)

    def complete(self, request: Request) -> Completion:
        """Return the model's reply. Raises as `client` does."""
        exchanges: tuple[ToolTurn, ...] = ()
        tools, in_text = tools_for(self.commands), is_small(request.model)
        prompt = request.prompt if in_text else request.prompt + _MAY_LOOK
        while True:
            may_call = self._may_call()
            asked = replace(
                request,
                prompt=prompt,
                place=replace(request.place, turn=self.calls),
                tools=tools if may_call else (),
                exchanges=exchanges,
                tools_in_text=in_text,
            )
            completion = self.client.complete(asked)
            self._count(completion.usage)
            if not completion.calls or not may_call:
                return completion
            answers = tuple(self._answers(completion.calls, asked))
            if not self._may_call():
                answers = (*answers[:-1], answers[-1] + _NO_MORE)
            said = "" if completion.text.lstrip().startswith(("{", "```")) else completion.text
            exchanges += (ToolTurn(said, completion.calls, answers, completion.sealed),)

    def _may_call(self) -> bool:
        """Return whether a turn with tools leaves one for the reply itself."""
        bounds, taken = self.task.bounds, budget.total_tokens(self._usage)
        return self.calls + 1 < bounds.calls and taken < bounds.tokens and self._room > 0

    def _count(self, usage: Usage) -> None:
        self.calls += 1
        self._usage += usage
        taken, task = self._usage, self.task
        order, attempt = task.order.id, task.attempt
        task.emit(AgentActed(order, attempt, self.calls, taken.input_tokens, taken.output_tokens))

    def _answers(self, calls: Sequence[ToolCall], asked: Request) -> Iterator[str]:
        for number, call in enumerate(calls, 1):
            try:
                if number > tool_calls.MOST_CALLS:
                    raise _CannotAnswer("too many calls at once; call again what you still need")
                given = _arguments(call)
                said = ", ".join(f"{name} {str(each)[:60]!r}" for name, each in given.items())
                self.task.emit(Noted(f"{self.task.order.id}: {call.name} {said}", detail=True))
                answer = _bounded(self._answer(call.name, given, asked))
            except _CannotAnswer as why:
                answer = f"No answer: {why}."
            self._room -= len(answer)
            yield answer

    def _answer(self, name: str, given: dict[str, Any], asked: Request) -> str:
        match name:
            case "list":
                return self._listed(_text(given, "folder", ""))
            case "read":
                return self._lines(given)
            case "search":
                return self._found(_text(given, "text"), _text(given, "folder", ""))
            case "outline":
                return self._outline(_text(given, "path"))
            case "run":
                return self._run(_whole(given, "number", 0), asked)
            case _:
                raise _CannotAnswer(f"there is no tool {name[:60]!r}")

    def _paths(self, folder: str) -> list[str]:
        inside = folder.strip("/").removeprefix("./")
        known = {*self.task.bench.workspace.files, *(each.path for each in self.task.tests)}
        gone = {*self.task.order.removed_files}
        below = (e for e in known - gone if inside in ("", ".") or f"{e}/".startswith(f"{inside}/"))
        return sorted(below)

    def _listed(self, folder: str) -> str:
        paths = self._paths(folder)
        if not paths:
            raise _CannotAnswer(f"no file is below {folder[:200]!r}")
        more = len(paths) - _LISTED
        return "\n".join([*paths[:_LISTED], *([f"(and {more} more)"] if more > 0 else [])])

    def _content(self, path: str) -> str:
        for each in self.task.tests:
            if each.path == path:
                return each.content
        if path not in self.task.bench.workspace.files or path in self.task.order.removed_files:
            raise _CannotAnswer(f"there is no file {path[:200]!r}")
        try:
            data = self.task.bench.workspace.tree.read(path, _READ_BYTES)
            if b"\0" in data:
                raise _CannotAnswer(f"{path!r} is not text")
            return data.decode("utf-8", "replace")
        except NotReadable:
            raise _CannotAnswer(f"{path!r} is not a regular file") from None

    def _lines(self, given: dict[str, Any]) -> str:
        lines = self._content(_text(given, "path")).splitlines()
        first = max(1, _whole(given, "first", 1))
        last = min(len(lines), _whole(given, "last", len(lines)))
        chosen = [f"{number} {lines[number - 1]}" for number in range(first, last + 1)]
        return "\n".join(chosen) or f"(no such lines: the file has {len(lines)})"

    def _found(self, text: str, folder: str) -> str:
        if not text.strip() or "\n" in text:
            raise _CannotAnswer("search for a text of one line")
        found: list[str] = []
        room = _SEARCHED_BYTES
        for path in self._paths(folder):
            try:
                content = self._content(path)
            except _CannotAnswer:
                continue
            room -= len(content)
            if text in content:
                for number, line in enumerate(content.splitlines(), 1):
                    if text in line:
                        found.append(f"{path}:{number}: {line.strip()[:_LINE_CHARACTERS]}")
            if len(found) > _FOUND or room < 0:
                return "\n".join([*found[:_FOUND], "(and more: search below a folder)"])
        return "\n".join(found) or "(no line has it)"

    def _outline(self, path: str) -> str:
        language, content = language_of(path), self._content(path)
        if language is None or language.edits is None:
            raise _CannotAnswer(f"{path!r} is in no language whose definitions are known")
        return "\n".join(outline_lines(language.edits.outline(content))) or "(no definitions)"

    def _run(self, number: int, asked: Request) -> str:
        if not 1 <= number <= len(self.commands):
            raise _CannotAnswer(f"there is no command {number}")
        command = self.commands[number - 1]
        performed = replace(
            asked,
            model="",
            prompt=f"run {number}: {command}",
            place=replace(asked.place, turn=self.calls),
            tools=(),
            exchanges=(),
            reply_schema=None,
            perform=lambda: Completion(self._ran(command), NAME, Usage(calls=0)),
        )
        return self.client.complete(performed).text

    def _ran(self, command: str) -> str:
        """Return how a command ends on the baseline with the plan's tests, and restore that."""
        task, trial = self.task, self.trial
        make_folder(trial.folder)
        try:
            for path in task.order.removed_files:
                trial.tree.remove(path)
            for each in task.tests:
                trial.tree.write(each.path, each.content.encode())
            result = try_command(trial, command, f"turn_{self.calls}")
        except NotReadable:
            return "the tests of the plan cannot be put in their places"
        except OSError as error:
            raise write_refused(trial.tree.root, error) from error
        finally:
            task.bench.restore()
        return _told(result)


def _told(result: CmdResult) -> str:
    said = [f"exit code {result.exit_code}" + (f" ({result.note})" if result.note else "")]
    said += [each for each in (result.stdout_trunc.strip(), result.stderr_trunc.strip()) if each]
    return "\n".join(said)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise _CannotAnswer("its arguments are not a JSON object")
    return given


def _text(given: dict[str, Any], name: str, otherwise: str | None = None) -> str:
    value = given.get(name, otherwise)
    if value is None and otherwise is not None:
        return otherwise
    if not isinstance(value, str):
        raise _CannotAnswer(f"it needs {name!r}, as a text")
    return value


def _whole(given: dict[str, Any], name: str, otherwise: int) -> int:
    value = given.get(name)
    if value is None:
        return otherwise
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if type(value) is not int:
        raise _CannotAnswer(f"{name!r} is not a whole number")
    return value


def _bounded(answer: str) -> str:
    if len(answer) <= _ANSWER_CHARACTERS:
        return answer
    cut = answer[:_ANSWER_CHARACTERS].rpartition("\n")[0] or answer[:_ANSWER_CHARACTERS]
    return f"{cut}\n(cut: {len(answer) - len(cut):,} characters more)"


@contextmanager
def announced(task: AgentTask, client: LlmClient, trial: Trial) -> Iterator[OwnLoop]:
    """Yield the loop for one attempt, and announce its beginning and its end."""
    loop, order, began = OwnLoop(task, client, trial), task.order.id, time.monotonic()
    task.emit(AgentStarted(order, task.attempt, NAME))
    ended = "failed"
    try:
        yield loop
        ended = "replied"
    finally:
        seconds = time.monotonic() - began
        task.emit(AgentEnded(order, task.attempt, ended, loop.calls, seconds, loop.files))
