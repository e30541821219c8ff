"""Where Python cannot import `openai`, a message and an exit code say so; a replay still works."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shared.errors import ExitCode
from tests.harness import git, order
from tests.llmch.command_line import ROOT, Said, Say, model_server, plan_reply, run, snapshot
from tests.planner.plans import creating, plan
from tests.shared.llm.scripted_server import refused_port

GOOD = plan(creating(1, "greet.py"), creating(2, "tests/test_greet.py"))
BROKEN = {
    "missing": "raise ModuleNotFoundError(\"No module named 'openai'\", name='openai')\n",
    "damaged": "import no_such_part_of_the_sdk\n",
    "too old": "raise AttributeError('pydantic has no BaseModel')\n",
}


@pytest.fixture(params=BROKEN)
def python_path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A search path on which another `openai` comes first, and cannot be imported."""
    package = tmp_path / "broken" / "openai"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BROKEN[request.param])
    return f"{package.parent}{os.pathsep}{ROOT}"


@pytest.fixture
def url() -> str:
    return f"http://127.0.0.1:{refused_port()}/v1"


def check(said: Said) -> None:
    assert said.code == ExitCode.MODEL, said.err
    assert "cannot be imported" in said.error["message"]
    assert "pip install" in said.error["hint"]
    assert "Traceback" not in said.err


@pytest.mark.rest
def test_planning_says_what_cannot_be_imported(
    cwd: Path, spec: Path, python_path: str, url: str
) -> None:
    said = run(
        "plan", "--spec", spec, "--json", cwd=cwd, PYTHONPATH=python_path, OPENAI_BASE_URL=url
    )
    check(said)


@pytest.mark.rest
def test_a_run_says_so_and_leaves_the_repo_alone(
    cwd: Path, repo: Path, python_path: str, url: str
) -> None:
    file = cwd.parent / "WO-01.json"
    file.write_text(json.dumps(order()))
    before = snapshot(repo)
    said = run(
        "run", "--repo", repo, "--work-order", file, "--branch", "work", "--sandbox", "off",
        "--json", cwd=cwd, PYTHONPATH=python_path, OPENAI_BASE_URL=url,
    )  # fmt: skip
    assert said.code == ExitCode.MODEL, said.err
    assert "cannot be imported" in said.out
    assert "Traceback" not in said.err
    assert git(repo, "branch", "--list", "work", "--format=%(objectname)") in (
        "",
        git(repo, "rev-parse", "HEAD"),
    )
    assert snapshot(repo)[0] == before[0]


def test_the_doctor_finds_it(cwd: Path, python_path: str, url: str) -> None:
    said = run("doctor", "--online", cwd=cwd, PYTHONPATH=python_path, OPENAI_BASE_URL=url)
    assert "cannot be imported" in said.out
    assert "Traceback" not in said.err


@pytest.mark.rest
def test_a_replay_needs_no_sdk(
    say: Say, cwd: Path, spec: Path, python_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = cwd.parent / "transcript.jsonl"
    flags = ("plan", "--spec", spec, "--no-review", "--transcript", transcript)
    with model_server(monkeypatch, plan_reply(GOOD)):
        assert say(*flags).code == 0
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert run(*flags, "--llm", "replay", cwd=cwd, PYTHONPATH=python_path).code == 0
