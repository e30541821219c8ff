"""The command line as a user has it: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pytest

import llmch
from llmch.cli import main
from tests import processes
from tests.harness import fingerprint, git
from tests.shared.llm.edge import chat_stream, response_stream
from tests.shared.llm.scripted_server import Act, ScriptedServer, scripted_server

ROOT = Path(llmch.__file__).parents[1]


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout; anything beside it is an error here."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """What `--json` says of an error that ended the command."""
        assert self.document.keys() == {"error"}
        assert self.document["error"].keys() == {"code", "name", "message", "hint"}
        assert self.document["error"]["code"] == self.code
        return self.document["error"]


Words: TypeAlias = list[str | Path]
"""A command line, the program left out."""


class Say(Protocol):
    """Runs one command line in this process."""

    def __call__(self, *arguments: str | Path) -> Said: ...


def say_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what runs command lines in this process, from `folder`."""

    def say(*arguments: str | Path) -> Said:
        before = Path.cwd()
        os.chdir(folder)
        try:
            code = main([str(each) for each in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            os.chdir(before)
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return say


def own_environment(**variables: str) -> dict[str, str]:
    """Return this process's environment, the program under test first on Python's path."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


def start(
    *arguments: str | Path, cwd: Path, module: str = "llmch", **variables: str
) -> subprocess.Popen[str]:
    """Start a command in a process of its own, its output piped."""
    return processes.start(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=cwd,
        env=own_environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments: str | Path, cwd: Path, module: str = "llmch", **variables: str) -> Said:
    """Run a command to its end in a process of its own."""
    with start(*arguments, cwd=cwd, module=module, **variables) as process:
        out, err = process.communicate(timeout=300)
    return Said(process.returncode, out, err)


@contextmanager
def model_server(monkeypatch: pytest.MonkeyPatch, *acts: Act) -> Iterator[ScriptedServer]:
    """Serve a model on this machine that plays `acts`, and point the program at it."""
    with scripted_server(*acts) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def plan_reply(document: object) -> Act:
    """Return the act of a model that plans: the Responses API, streamed."""
    return response_stream(document if isinstance(document, str) else json.dumps(document))


def write_reply(files: Mapping[str, str], **changes: Any) -> Act:
    """Return the act of a model that writes new files: Chat Completions, streamed."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    writes = [
        {"path": path, "base_sha256": empty, "content": content} for path, content in files.items()
    ]
    return chat_stream(json.dumps({"summary": "as scripted", "writes": writes} | changes))


def snapshot(repo: Path) -> tuple[object, ...]:
    """Return all of a repo that a user could miss: files, refs, HEAD, index, working trees."""
    return (
        fingerprint(repo),
        git(repo, "for-each-ref", "--format=%(refname) %(objectname)"),
        (repo / ".git" / "HEAD").read_text(),
        git(repo, "ls-files", "--stage"),
        git(repo, "worktree", "list", "--porcelain"),
    )
