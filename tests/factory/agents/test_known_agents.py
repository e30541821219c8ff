"""How the agents that llmch knows are found: installed as npm, pip and downloads leave them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from factory.agents.known_agents import Agent, agent_named, found_agents, tried_version
from factory.agents.run_agent import find_problem
from factory.factory_checkups import check_agents
from factory.orders.documents import RunSummary
from factory.sandbox.policy import Backend
from shared.errors import InvalidInput
from shared.git.repos import Health
from shared.settings.setting_values import AGENTS
from shared.settings.settings import FactorySettings, SandboxSettings
from tests.factory.agents.scripted_agent import agents_of, logged
from tests.harness import Factory, order

ASKS = """
import urllib.request as u
u.urlopen(u.Request("http://127.0.0.1:8181/v1/responses", b'{"input": "hello?"}'))
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the first of PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def of_npm(programs: Path, name: str, package: str, program: str, version: str) -> Path:
    """Install a program as npm does, and return the folder of its modules."""
    modules = programs.parent / "lib/node_modules"
    found = script(modules / package / program, "#!/usr/bin/env node\n")
    facts = {"name": package, "version": version}
    (modules / package / "package.json").write_text(json.dumps(facts))
    (programs / name).symlink_to(found)
    return modules


def of_pip(programs: Path, name: str, package: str, version: str) -> Path:
    """Install a program into an environment of its own, and return that."""
    root = programs.parent / "environment"
    site = root / f"lib/python3.11/site-packages/{package}-{version}.dist-info"
    site.mkdir(parents=True)
    (site / "RECORD").write_text("a file,its hash\n")
    (root / "bin").mkdir()
    (root / "pyvenv.cfg").touch()
    (root / "bin/python").symlink_to(sys.executable)
    (programs / name).symlink_to(script(root / "bin" / name, f"#!{root}/bin/python\n"))
    return root


def test_a_program_of_npm_is_started_by_node(programs: Path) -> None:
    node = script(programs / "node", "#!/bin/sh\n")
    package = ("@google/gemini-cli", "bundle/gemini.js")
    modules = of_npm(programs, "gemini", *package, tried_version("gemini"))
    agent = agent_named(("gemini",))
    assert agent.words[:2] == (str(node), str(modules / package[0] / package[1]))
    assert agent.folders == (modules, node)
    assert agent.title == f"gemini {tried_version('gemini')}" and agent.is_tried
    assert agent.sha256 == hashlib.sha256(b"#!/usr/bin/env node\n").hexdigest()


def test_without_node_that_is_said(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_npm(programs, "gemini", "@google/gemini-cli", "bundle/gemini.js", "1.0.0")
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(InvalidInput, match="needs Node, which is not found"):
        agent_named(("gemini",))


def test_codex_is_the_program_that_its_launcher_starts(programs: Path) -> None:
    modules = of_npm(programs, "codex", "@openai/codex", "bin/codex.js", "0.170.0")
    native = script(modules / "@openai/codex-linux-x64/vendor/any/bin/codex", "native")
    agent = agent_named(("codex",))
    assert agent.words[0] == str(native) and agent.folders == (native.parents[1],)
    assert agent.sha256 == hashlib.sha256(b"native").hexdigest()
    assert (agent.version, agent.is_tried) == ("0.170.0", False)


def test_a_program_of_pip_reads_its_environment_and_is_known_by_its_record(programs: Path) -> None:
    root = of_pip(programs, "mini", "mini_swe_agent", tried_version("mini"))
    agent = agent_named(("mini",))
    assert agent.words[0] == str(root / "bin/mini") and root in agent.folders
    assert Path(sys.executable).resolve().is_relative_to(agent.folders[2])
    assert agent.sha256 == hashlib.sha256(b"a file,its hash\n").hexdigest()
    assert agent.is_tried


def test_a_program_whose_packages_are_in_the_home_folder_is_refused(programs: Path) -> None:
    script(programs / "aider", f"#!{sys.executable}\n")
    with pytest.raises(InvalidInput, match="aider is not installed where") as refused:
        agent_named(("aider",))
    assert "pipx" in refused.value.hint


def test_a_program_that_was_downloaded_says_its_version(programs: Path) -> None:
    found = script(programs / "opencode", "#!/bin/sh\necho opencode 1.2.3-beta\n")
    agent = agent_named(("opencode",))
    assert (agent.version, agent.words[0], agent.folders) == ("1.2.3-beta", str(found), (found,))
    for body in ("exit 1", "echo no number", "rm -f $0; kill -9 $$"):
        script(found, f"#!/bin/sh\n{body}\n")
        assert agent_named(("opencode",)).version == ""


def test_what_is_asked_for_its_version_is_held_too(programs: Path, tmp_path: Path) -> None:
    body = f"echo 1.2.3; echo x > {tmp_path}/written && echo > $0.written"
    script(programs / "codex", f"#!/bin/sh\n{body}\nexit 0\n")
    assert agent_named(("codex",)).version == "1.2.3"
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("version", ["\x1b[31m1", "", None, ["1"], "1" * 99])
def test_a_version_that_is_none_is_not_shown(programs: Path, version: object) -> None:
    modules = of_npm(programs, "codex", "@openai/codex", "bin/codex.js", "1")
    facts = {"name": "@openai/codex", "version": version}
    (modules / "@openai/codex/package.json").write_text(json.dumps(facts))
    assert agent_named(("codex",)).title == "codex"


def test_a_program_that_is_gone_in_the_meantime_is_refused(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = script(programs / "codex", "#!/bin/sh\n")
    monkeypatch.setattr("shutil.which", lambda *_, **__: str(found))
    found.unlink()
    for words in (("codex",), (str(found), "{task}")):
        with pytest.raises(InvalidInput, match="cannot be used: No such file"):
            agent_named(words)


def test_what_is_not_here_is_named_with_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "codex", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".::relative")  # may be folders of the target repo
    assert not list(found_agents())
    with pytest.raises(InvalidInput, match="codex is not found") as refused:
        agent_named(("codex",))
    assert all(each in refused.value.hint for each in AGENTS)


def masked(agent: Agent, text: str) -> tuple[str, set[str]]:
    """Return a call as the relay compares it, and the names of the masks that hid a part."""
    used: set[str] = set()
    for mask in agent.masks:
        for found in reversed(list(re.finditer(mask, text))):
            used |= found.groupdict().keys()
            text = text[: found.start(1)] + text[found.end(1) :]
    return text, used


@pytest.mark.parametrize(
    ("name", "first", "second", "names"),
    [
        (
            "codex",
            r'{"id":"fco_01a219aa-cbde-7143-acc9-bdffc54f82dc","output":"Chunk ID: 1eb5ec\nWall '
            r'time: 0.0512 seconds\n<current_date>2026-11-26</current_date>"}',
            r'{"id":"fco_01a219aa-d96f-7c03-86aa-67ad47f774d3","output":"Chunk ID: 2cfe3c\nWall '
            r'time: 1.2000 seconds\n<current_date>2026-12-01</current_date>"}',
            {"id", "chunk", "time", "date"},
        ),
        (
            "gemini",
            r'{"text":"Today~s date is Thursday, March 26, 2026 (as"},{"id":"s_1795726983410_0"}',
            r'{"text":"Today~s date is Friday, May 1, 2026 (as"},{"id":"s_1795727000749_12"}',
            {"id", "date"},
        ),
        (
            "opencode",
            r'{"content":"  Platform: linux\n  Today~s date: Thu Nov 26 2026\n</env>"}',
            r'{"content":"  Platform: linux\n  Today~s date: Fri May 01 2026\n</env>"}',
            {"date"},
        ),
        (
            "mini",
            r'{"content":"<system_information>\nLinux 6.18.44 x86_64\n</system_information>"}',
            r'{"content":"<system_information>\nLinux 5.4 #1 SMP x86_64\n</system_information>"}',
            {"system"},
        ),
    ],
)
def test_equal_runs_make_equal_calls_behind_the_masks(
    programs: Path, name: str, first: str, second: str, names: set[str]
) -> None:
    if name == "mini":
        of_pip(programs, "mini", "mini_swe_agent", "2.4.6")
    else:
        script(programs / name, "#!/bin/sh\n")
    agent = agent_named((name,))
    one, other = (masked(agent, each.replace("~", "'")) for each in (first, second))
    assert one == other and one[1] == names
    assert masked(agent, '{"content":"an id, a date, 12 seconds"}')[1] == set()


def run_codex(factory: Factory, programs: Path, does: str) -> RunSummary:
    script(
        programs / "codex",
        f"#!/bin/sh\ncase $1 in --version) echo codex 9.9.9;; *) {does};; esac\n",
    )
    settings = FactorySettings(proposers=(("codex",),))
    sandbox = SandboxSettings(backend=Backend.BWRAP)
    replies = ["hello\n"] * 9
    return factory.run(order(), replies, factory=settings, sandbox=sandbox, max_attempts=1)


def test_an_untried_version_that_asks_no_model_is_refused_before_anything(
    factory: Factory, programs: Path
) -> None:
    with pytest.raises(
        InvalidInput, match=r"codex 9\.9\.9 does not work .* exit code 2"
    ) as refused:
        run_codex(factory, programs, "echo no such flag >&2; exit 2")
    assert "and said: no such flag" in refused.value.message
    assert f"install codex {tried_version('codex')}" in refused.value.hint
    assert not factory.events and not factory.model.requests
    (row,) = (each for each in check_agents() if "codex" in each.detail)
    assert row.health is Health.LIMITED and "no such flag" in row.detail


@pytest.mark.rest
def test_an_untried_version_is_tried_once_on_nothing(factory: Factory, programs: Path) -> None:
    does = f"pwd >&2; python - 2>/dev/null <<END\n{ASKS}END\necho hello > hello.txt"
    assert run_codex(factory, programs, does).verdict == "PASS"
    assert len(factory.model.requests) == 1, "the trial asked nobody"
    assert logged(factory, "agent.stderr.log").strip() == f"/workspace/{factory.repo.name}"
    agent = agent_named(("codex",))
    (mark,) = Path(os.environ["HOME"], ".cache/llmch/agents").iterdir()
    assert mark.name == agent.sha256
    works_no_more = replace(agent, words=("/bin/false",))
    assert find_problem(works_no_more) == ""
    mark.unlink()
    assert "exit code 1 before it asked a model" in find_problem(works_no_more)
    assert not mark.exists()
    (row,) = (each for each in check_agents() if "codex" in each.detail)
    assert row.health is Health.WELL and row.detail == "codex 9.9.9 works: --proposer codex"


def test_a_word_stands_for_the_files_that_may_be_written(factory: Factory) -> None:
    body = "print(sys.argv[1:]); [write(each, 'hello') for each in sys.argv[1:3]]"
    options = agents_of(factory, body)
    words = (*options["factory"].proposers[0][:2], "{files}", "--model={model}")
    options["factory"] = replace(options["factory"], proposers=(words,))
    document = order(allowed_files=["hello.txt", "a b.txt"])
    assert factory.run(document, [], **options).verdict == "PASS"
    assert logged(factory).strip() == "['hello.txt', 'a b.txt', '--model=scripted']"
