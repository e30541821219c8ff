"""Runs the pinned TypeScript compiler where a tool can be held in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shared.languages.capabilities.checking import CheckerFailed
from shared.languages.capabilities.tools import ToolMissing, ToolRunner
from shared.tools.pinned import TSC, installed_program

_SECONDS: Final = 60.0  # cold, on a loaded machine, for fifty files
_FOLDER: Final = "llmch-view"


class PinnedCompiler:
    """Implement `Compiler` by a runner; without one, or without the compiler, it is missing."""

    def __init__(self, runner: ToolRunner | None) -> None:
        self._runner = runner

    def compile(self, files: Mapping[str, str], config: str) -> str:
        """Return what the compiler prints. Raises `ToolMissing` and `CheckerFailed`."""
        program = installed_program(TSC)
        if self._runner is None:
            raise ToolMissing("the TypeScript compiler is not run without a sandbox")
        if program is None:
            raise ToolMissing(
                f"the TypeScript compiler {TSC.version} is not there; "
                "`llmch doctor --fetch tsc` fetches it"
            )
        placed = {f"{_FOLDER}/{path}": text for path, text in files.items()}
        argv = [str(program), "--pretty", "false", "-p", f"{_FOLDER}/{config}"]
        done = self._runner.run(placed, argv, seconds=_SECONDS)
        if done.exit_code not in {0, 1, 2}:
            ended = "ran out of time" if done.exit_code is None else f"ended by {done.exit_code}"
            raise CheckerFailed(f"the TypeScript compiler {ended}: {done.stderr[-200:].strip()}")
        return done.stdout
