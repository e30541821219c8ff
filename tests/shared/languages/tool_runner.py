"""Runs tools on the files of a test, in the factory's sandbox."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Policy
from factory.sandbox.toolchain_search import find_toolchains
from shared.languages.language_tools import ToolMissing, ToolResult
from tests.real_tools import compiled_go


class SandboxRunner:
    """Implement `ToolRunner` by a sandbox without network, whose build cache lasts as long."""

    def __init__(self, folder: Path, seed: Path | None) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"
        for name in ("workspace", "private", "checkout"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        home = pwd.getpwuid(os.geteuid()).pw_dir
        environ = {"HOME": home, "PATH": os.environ.get("PATH", "")}
        policy = Policy(
            self._workspace,
            None,
            folder / "private",
            Path(sys.executable),
            toolchains=find_toolchains(folder / "checkout", lambda _: None, environ),
            seeds={"GOCACHE": seed} if seed else {},
        )
        self._sandbox = open_sandbox(Backend.AUTO, policy)

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run a tool in the sandbox's workspace, which holds `files` alone."""
        if not self._sandbox.has_program(argv[0]):
            raise ToolMissing(f"{argv[0]} is not installed")
        for each in self._workspace.iterdir():
            if each.name != "target":
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        for path, text in files.items():
            place = self._workspace / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        log = self._folder / uuid4().hex
        ended = self._sandbox.run(argv, timeout_seconds=seconds, log=log)
        streams = (Path(f"{log}.{each}.log").read_text() for each in ("stdout", "stderr"))
        return ToolResult(ended.exit_code, *streams)

    def close(self) -> None:
        """Do nothing: the folders are those of the test session."""


def runner_for(factory: pytest.TempPathFactory, program: str) -> SandboxRunner:
    """Return a runner; the test is skipped where the program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    seed = compiled_go(factory) if program == "go" else None
    return SandboxRunner(factory.mktemp(program), seed)
