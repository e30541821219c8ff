"""The commands of the README's first plan do what the README says, line by line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from shared.llm.model_access import VENDORS
from tests.harness import git, order, write_plan
from tests.llmch.command_line import ROOT, Said, model_server, plan_reply, say_in, write_reply
from tests.shared.llm.native_edge import PROVIDERS, Native, good
from tests.shared.llm.scripted_server import scripted_server

NOTHING = json.dumps({"findings": []})
FINDS_NOTHING = plan_reply(NOTHING)
PLANNED = json.dumps({"work_orders": [order()]})
PLAN = plan_reply(PLANNED)
HELLO = write_reply({"hello.txt": "hello\n"})
WRITTEN = "hello.txt\n```\nhello\n```\n"


def first_plan() -> tuple[list[str], list[str], list[str]]:
    """Return the lines of the blocks of commands: with a key, another vendor's, a local server."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.partition("## Your first plan\n")[2].partition("\n## ")[0]
    with_key, others, local, _ = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return lines_of(with_key), lines_of(others), lines_of(local)


def lines_of(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def cwd(own_surroundings: Path, repo: Path) -> Path:
    """The home that `~` means, with the project and the specification that the README has there."""
    repo.rename(own_surroundings / "project")
    (own_surroundings / "spec.md").write_text("# Greeter\n\nWrite a greeting to hello.txt.\n")
    return own_surroundings


def carry_out(
    lines: list[str], cwd: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[Said]:
    """Carry the lines out as a shell would; a server is where the test has it."""
    said = []
    say = say_in(cwd, capsys)
    for line in lines:
        program, *words = shlex.split(line)
        if program == "export":
            for name, _, value in (each.partition("=") for each in words):
                if name != "OPENAI_BASE_URL":
                    monkeypatch.setenv(name, value)
            continue
        words = [each.replace("~", str(cwd), 1) for each in words]
        if program == "cd":
            say = say_in(Path(words[0]), capsys)
            continue
        assert program == "llmch"
        said.append(say(*words))
    return said


def test_with_a_key(
    cwd: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, _, _ = first_plan()
    with model_server(monkeypatch, PLAN, FINDS_NOTHING, HELLO):
        said = carry_out(lines, cwd, capsys, monkeypatch)
    assert [each.code for each in said] == [0, 0, 0], said[-1].err
    (branch,) = git(cwd / "project", "branch", "--list", "factory/*").split()
    assert git(cwd / "project", "show", f"{branch}:hello.txt") == "hello"


@pytest.mark.parametrize(("way", "number"), [("messages", 0), ("gemini", 1)])
def test_with_a_key_of_another_vendor_alone(
    way: Native,
    number: int,
    cwd: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (go, _, *lines), others, _ = first_plan()
    replies = (good(way, each) for each in (PLANNED, NOTHING, WRITTEN))
    with scripted_server(*replies) as server:
        monkeypatch.setenv(VENDORS[PROVIDERS[way]].address, server.base_url.removesuffix("/v1"))
        said = carry_out([go, others[number], *lines], cwd, capsys, monkeypatch)
    assert [each.code for each in said] == [0, 0, 0], said[-1].err
    (branch,) = git(cwd / "project", "branch", "--list", "factory/*").split()
    assert git(cwd / "project", "show", f"{branch}:hello.txt") == "hello"


def test_with_a_local_server(
    cwd: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_key, _, lines = first_plan()
    write_plan(cwd / "plan", {"work_orders": [order()]})
    with model_server(monkeypatch, HELLO) as server:
        said = carry_out([with_key[0], *lines], cwd, capsys, monkeypatch)
    assert [each.code for each in said] == [0], said[-1].err
    assert [each["model"] for each in server.bodies] == ["qwen2.5-coder"]
