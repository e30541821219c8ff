"""The commands of the README's first plan do what the README says, line by line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.harness import git, order, write_plan
from tests.llmch.command_line import ROOT, Said, Say, model_server, plan_reply, write_reply

FINDS_NOTHING = plan_reply({"findings": []})
PLAN = plan_reply({"work_orders": [order()]})
HELLO = write_reply({"hello.txt": "hello\n"})


def first_plan() -> tuple[list[str], list[str]]:
    """Return the lines of both blocks of commands: with a key, and with a local server."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.partition("## Your first plan\n")[2].partition("\n## ")[0]
    with_key, local = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return lines_of(with_key), lines_of(local)


def lines_of(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def cwd(own_surroundings: Path, repo: Path) -> Path:
    """The home that `~` means, with the project and the specification that the README has there."""
    repo.rename(own_surroundings / "project")
    (own_surroundings / "spec.md").write_text("# Greeter\n\nWrite a greeting to hello.txt.\n")
    return own_surroundings


def carry_out(lines: list[str], say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> list[Said]:
    """Carry the lines out as a shell would; a server is where the test has it."""
    said = []
    for line in lines:
        program, *words = shlex.split(line)
        if program == "export":
            name, _, value = words[0].partition("=")
            if name != "OPENAI_BASE_URL":
                monkeypatch.setenv(name, value)
            continue
        assert program == "llmch"
        said.append(say(*(each.replace("~", str(cwd), 1) for each in words)))
    return said


def test_with_a_key(say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, _ = first_plan()
    with model_server(monkeypatch, PLAN, FINDS_NOTHING, HELLO):
        said = carry_out(lines, say, cwd, monkeypatch)
    assert [each.code for each in said] == [0, 0, 0], said[-1].err
    (branch,) = git(cwd / "project", "branch", "--list", "factory/*").split()
    assert git(cwd / "project", "show", f"{branch}:hello.txt") == "hello"


def test_with_a_local_server(say: Say, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, lines = first_plan()
    write_plan(cwd / "plan", {"work_orders": [order()]})
    with model_server(monkeypatch, HELLO) as server:
        said = carry_out(lines, say, cwd, monkeypatch)
    assert [each.code for each in said] == [0], said[-1].err
    assert [each["model"] for each in server.bodies] == ["qwen2.5-coder"]
