"""Runs the tools that judge code, on a few files in a folder of their own, in the sandbox.

A compiler may run what it compiles: build scripts and macros are a stranger's code.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import LlmchError
from shared.files.paths import path_inside
from shared.languages.capabilities.tools import ToolMissing, ToolResult
from shared.settings.sandbox import SandboxNet
from shared.tools.pinned import tools_root

if TYPE_CHECKING:
    from factory.sandbox import Policy, Sandbox
    from shared.settings.sandbox import SandboxSettings

_KEPT = "target"  # where a compiler keeps what it has compiled
_MOST_BYTES = 4 * 1024 * 1024  # of each stream; a compiler that complains more says nothing new


@dataclass(frozen=True, slots=True)
class _Opened:
    """Hold a sandbox, with the folder of its files and that of its logs."""

    sandbox: Sandbox
    files: Path
    logs: Path


class SandboxRunner:
    """Implement `ToolRunner`: each program has a sandbox without network, made when it is asked.

    Several threads may ask; they take turns. `close` removes all folders.
    """

    def __init__(self, settings: SandboxSettings, checkout: Path | None = None) -> None:
        """Run tools as `settings` say; none is taken from the folder `checkout`.

        Tools have no network and write to no path of the settings, whatever these allow commands.
        """
        self._settings = settings
        self._checkout = checkout
        self._lock = threading.Lock()
        self._folders: list[Path] = []
        self._opened: dict[str, _Opened] = {}

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run `argv` on `files`; the folder `target` of the last run is there, too.

        Raises `ToolMissing` where the program, or a sandbox for it, is not there.
        """
        with self._lock:
            try:
                return self._run(files, argv, seconds)
            except (LlmchError, OSError) as error:
                raise ToolMissing(f"{argv[0]} could not be run: {error}") from error

    def _run(self, files: Mapping[str, str], argv: Sequence[str], seconds: float) -> ToolResult:
        from factory.sandbox import Cause

        opened = self._opened.get(argv[0]) or self._open(argv[0])
        _clear(opened.files)
        _write(opened.files, files)
        log = opened.logs / "tool"
        ended = opened.sandbox.run(argv, timeout_seconds=seconds, log=log)
        exit_code = ended.exit_code if ended.cause is Cause.EXITED else None
        return ToolResult(exit_code, _text(log, "stdout"), _text(log, "stderr"))

    def _open(self, program: str) -> _Opened:
        from factory.sandbox import open_sandbox

        folder = Path(tempfile.mkdtemp(prefix="llmch-tools-"))
        self._folders.append(folder)
        files, private, logs = (folder / name for name in ("files", "private", "logs"))
        for each in (files, private, logs):
            each.mkdir(mode=0o700)
        sandbox = open_sandbox(self._settings.backend, self._policy(program, files, private))
        if not sandbox.has_program(program):
            raise ToolMissing(f"{program} is not installed")
        self._opened[program] = _Opened(sandbox, files, logs)
        return self._opened[program]

    def _policy(self, program: str, files: Path, private: Path) -> Policy:
        from factory.sandbox import Policy
        from factory.workbench.toolset import seed_of_tests, toolchains_for

        settings = self._settings
        if Path(program).is_relative_to(tools_root()):  # fetched, and shown to no other command
            settings = replace(settings, path=(*settings.path, Path(program).parent))
        toolchains = toolchains_for(None, self._checkout, settings)
        named = {name: os.environ[name] for name in settings.env if name in os.environ}
        return Policy(
            workspace=files,
            git_dir=None,
            private=private,
            python=Path(sys.executable),
            network=SandboxNet.NONE,
            read=settings.read,
            environment=named,
            toolchains=toolchains,
            go_seed=seed_of_tests(program, toolchains),
        )

    def close(self) -> None:
        """Remove the folders. No tool may be running."""
        with self._lock:
            self._opened.clear()
            while self._folders:
                shutil.rmtree(self._folders.pop(), ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove what the last run left. A link of the tool must not lead the next files elsewhere."""
    for each in folder.iterdir():
        is_folder = each.is_dir() and not each.is_symlink()
        if not is_folder:
            each.unlink()
        elif each.name != _KEPT:
            shutil.rmtree(each)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files. Raises `OSError` for a path that is not one of a file in the folder."""
    for path, text in files.items():
        if path_inside(path) != path or path.split("/", 1)[0] == _KEPT:
            raise OSError(f"{path} cannot be shown to a tool")
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="replace")


def _text(log: Path, stream: str) -> str:
    with suppress(OSError), log.with_name(f"{log.name}.{stream}.log").open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
    return ""
