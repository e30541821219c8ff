"""A test of a plan that does harm when it is collected, before anybody has read the plan."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from factory.run.reproduce import DryRunner
from planner.run_plan import run_plan
from shared.events.events import Noted
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings, Settings
from tests.fakes import ScriptedModel
from tests.harness import commit_all, fingerprint, git
from tests.planner.planning import Planner
from tests.planner.plans import creating, plan
from tests.real_tools import sandbox

__all__ = ["sandbox"]

HARM = """import os, pathlib, socket

for path in ("{repo}/README.md", "{repo}/.git/config", "{outside}", "a.py", ".git"):
    try:
        pathlib.Path(path).write_text("harm")
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=1)
except OSError:
    pass


def test_a():
    assert sum([1, 1]) == 3
"""


def test_the_harm_is_real_without_a_sandbox(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    code = HARM.format(repo=repo, outside=outside, port=1)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert outside.read_text() == (repo / "README.md").read_text() == "harm"


def test_collecting_harms_nothing_outside_and_reaches_nobody(
    repo: Path, tmp_path: Path, sandbox: SandboxSettings
) -> None:
    commit_all(repo, {"README.md": "# Game\n", "a.py": "A = 1\n"})
    planner, outside = Planner(tmp_path), tmp_path / "outside.txt"
    planner.spec.write_text("# Scores\n")
    before, worktrees = fingerprint(repo), git(repo, "worktree", "list")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        test = HARM.format(repo=repo, outside=outside, port=port)
        order = creating(
            1,
            "b.py",
            acceptance_files=[{"path": "tests/test_a.py", "content": test}],
            acceptance_commands=["python -m pytest -q tests/test_a.py"],
        )
        model = ScriptedModel({"planner": [json.dumps(plan(order))] * 2})
        runner = DryRunner(Settings(sandbox=sandbox), repo, None, None)
        asked = planner.options(repo=repo, max_attempts=1)
        source = ModelSource(Mode.LIVE, lambda emit: model)
        assert run_plan(asked, source, planner.events.append, None, runner).ok
        assert any(each.message.startswith("dry run: ") for each in planner.seen(Noted))
        try:
            server.accept()
        except BlockingIOError:
            pass
        else:
            raise AssertionError("the test reached a server")
    assert fingerprint(repo) == before
    assert git(repo, "worktree", "list") == worktrees
    assert not outside.exists()
