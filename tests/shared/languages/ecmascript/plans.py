"""Small plans of JavaScript and TypeScript, as the languages see them, and the real compiler."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from planner.plan.file_projection import project, promise_of
from planner.plan.parse_plan import parse_plan
from shared.files.strict_documents import at
from shared.languages.acceptance_commands import analyse_command
from shared.languages.ecmascript.ecmascript_language import JAVASCRIPT
from shared.languages.language_tools import ToolMissing, ToolResult, Tools
from shared.languages.planned_code import AcceptanceText, Chain, DeclaredStub, Fault, OrderCode
from shared.languages.read_commands import CodeRun, Command
from shared.languages.registry import LANGUAGES
from shared.processes.pinned_tools import TSC, installed_program, tools_root

FETCHED = tools_root()  # before a test gets a home of its own
needs_tsc = pytest.mark.skipif(
    installed_program(TSC) is None, reason="tsc is not there: `llmch doctor --fetch tsc`"
)


class Runner:
    """Run tools in folders of their own, without a sandbox: the files here are the tests' own."""

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                target = Path(folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            try:
                done = subprocess.run(
                    argv, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
                )
            except FileNotFoundError as error:
                raise ToolMissing(str(error)) from None
        return ToolResult(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        """Do nothing: each run removes its folder."""


def chain(orders: Sequence[Mapping[str, Any]], repo: Mapping[str, str] | None = None) -> Chain:
    """Return the chain of these orders, whose files are projected as the planner does."""
    sources = dict(repo or {})
    written: list[Any] = [
        {"id": f"WO-{n:02d}", **_with_files(each)} for n, each in enumerate(orders, 1)
    ]
    drafts = parse_plan({"work_orders": written}).drafts
    read = []
    for draft, raw in zip(drafts, written, strict=True):
        promise = promise_of(draft)
        read.append(
            OrderCode(
                position=draft.position,
                label=draft.label,
                writes=tuple(promise.files),
                may_write=tuple(promise.possible),
                allowed_files=tuple(raw.get("allowed_files", ())),
                changes=tuple(raw.get("changes", ())),
                interfaces=tuple(
                    DeclaredStub(i, each["path"], each["stub"])
                    for i, each in enumerate(raw.get("interfaces", ()))
                ),
                commands=tuple(
                    (i, analyse_command(each))
                    for i, each in enumerate(raw.get("acceptance_commands", ()))
                ),
                acceptance_files=tuple(
                    AcceptanceText(i, each["path"], each["content"])
                    for i, each in enumerate(raw.get("acceptance_files", ()))
                ),
            )
        )
    return Chain(tuple(read), project(drafts, sources), tuple(sources), sources)


def _with_files(order: Mapping[str, Any]) -> dict[str, Any]:
    declared = [each["path"] for each in order.get("interfaces", ())]
    allowed = [*order.get("allowed_files", ()), *declared]
    promised = [{"kind": "file_exists", "path": each} for each in dict.fromkeys(allowed)]
    return {
        "title": "An order",
        "intent": "It adds something.",
        "postconditions": promised,
        **order,
        "allowed_files": list(dict.fromkeys(allowed)),
    }


def faults(plan: Chain, tools: Tools | None = None) -> list[Fault]:
    """Return all faults of a chain, as the planner gathers them."""
    return list(_faults(plan, tools or Tools(Runner())))


def _faults(plan: Chain, tools: Tools) -> Iterator[Fault]:
    for language in LANGUAGES:
        if language.name not in {"JavaScript", "TypeScript"} or language.plans is None:
            continue
        code = language.plans.read_chain(plan)
        yield from code.interface_faults()
        for order in plan.orders:
            for index, command in order.commands:
                place = at("acceptance_commands", index)
                if command.language == language.name:
                    yield from _of_text(order.position, index, command)
                for need in code.needs_of_command(order.position, command):
                    yield Fault(need.code, order.position, place, need.message)
                if (weak := code.weakness(order.position, command)) is not None:
                    yield Fault(weak.code, order.position, place, weak.message)
            for file in order.acceptance_files:
                for need in code.needs_of_file(order.position, file):
                    place = at("acceptance_files", file.index)
                    yield Fault(need.code, order.position, place, need.message)
        yield from code.use_faults(tools)


def _of_text(position: int, index: int, command: Command) -> Iterator[Fault]:
    """Yield what the planner finds by the text of a command alone."""
    place = at("acceptance_commands", index)
    run, reader = command.run, JAVASCRIPT.commands
    if isinstance(run, CodeRun) and run.code.problem is not None:
        yield Fault("E006", position, place, run.code.problem.message)
    elif reader is not None and (weak := reader.weakness(command)) is not None:
        yield Fault(weak.code, position, place, weak.message)


def codes(plan: Chain, tools: Tools | None = None) -> list[str]:
    """Return the codes of all faults of a chain."""
    return [each.code for each in faults(plan, tools)]
