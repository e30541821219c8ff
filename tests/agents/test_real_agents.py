"""The five agents as they are published, each on an order of the demo, without any network.

A server that is scripted answers them. `make test-agents` installs them and names their folder;
without it all is skipped.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from factory.agents.known_agents import agent_named
from factory.agents.run_agent import find_problem
from factory.orders.documents import RunSummary
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.run.run_order import run_order
from factory.sandbox.policy import Backend
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.stack import Mode, ModelSource
from shared.settings.setting_values import AGENTS
from shared.settings.settings import AgentSettings, FactorySettings, SandboxSettings
from tests import processes
from tests.agents.scripted_wires import WireServer, wire_server
from tests.harness import Factory, blob, git

ROOT = Path(__file__).parents[2]
KEY = "sk-secret-0123456789"
DEMO = json.loads((ROOT / "examples/hello/replies/plan-1.json").read_text())["work_orders"][0]
FILES = {
    path: (ROOT / "examples/hello/replies/WO-01-1/files" / path).read_text()
    for path in DEMO["allowed_files"]
}
_FOLDER = Path(os.environ.get("LLMCH_TEST_AGENTS") or "/nonexistent").absolute()
_PATH = (_FOLDER / "node/node_modules/.bin", _FOLDER / "programs")
_PROMPTED = {
    "opencode": ("acp",),
    "gemini": ("-m", "{model}", "--skip-trust", "--experimental-acp"),
}
_WIRES = {"codex": "/responses", "gemini": "streamGenerateContent"}

pytestmark = [pytest.mark.rest, pytest.mark.parametrize("name", AGENTS)]


@pytest.fixture(autouse=True)
def _agents_on_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any((each / name).exists() for each in _PATH):
        pytest.skip(f"{name} is not installed: make test-agents")
    path = ":".join((*map(str, _PATH), os.environ["PATH"]))
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@dataclass
class Scene:
    """An order of the demo, and an agent that is to do it."""

    factory: Factory
    name: str
    server: WireServer
    words: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Return how many calls the agent has to make."""
        return len(self.server.steps) + (self.name != "mini")

    def run(
        self, mode: Mode = Mode.LIVE, branch: str = "work", model: str = "scripted"
    ) -> RunSummary:
        settings = FactorySettings(
            proposers=(self.words or (self.name,),), agent=replace(AgentSettings(), minutes=3.0)
        )
        options = self.factory.options(
            factory=settings,
            sandbox=SandboxSettings(backend=Backend.BWRAP),
            max_attempts=1,
            models=ModelChoice(parse_ladder(model)),
            branch=branch,
        )
        access = ModelAccess(self.server.url, KEY)
        source = ModelSource(mode, open_live=lambda emit: LiveClient(access, emit))
        if mode is Mode.REPLAY:
            source = replace(source, transcript=self.factory.run_folder / "transcript.jsonl")
        return run_order(self.factory.save(DEMO), options, source, self.factory._take)


@pytest.fixture
def scene(factory: Factory, name: str) -> Iterator[Scene]:
    """Return a scene whose server has the agent write the files of the demo, and check them."""
    steps = [f"mkdir -p {Path(path).parent} && cat > {path} <<'END'\n{text}END" for path, text in
             FILES.items()]  # fmt: skip
    steps.append("sh /run/llmch/check")
    if name == "mini":
        steps.append("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    text = "All is done."
    if name == "aider":  # it has no tools
        text = "".join(f"{path}\n```\n{content}```\n\n" for path, content in FILES.items())
        steps = []
    with wire_server(steps, text) as server:
        yield Scene(factory, name, server)


def test_it_lands_an_order_of_the_demo_and_is_replayed_without_a_call(scene: Scene) -> None:
    factory, name = scene.factory, scene.name
    summary = scene.run()
    assert summary.verdict == "PASS", summary.attempt_records[-1].failure_brief
    for path, text in FILES.items():
        assert blob(factory.repo, factory.tip(), path).decode() == text
    assert summary.usage.calls == len(scene.server.calls) == scene.calls
    assert all(_WIRES.get(name, "/chat/completions") in path for path, _ in scene.server.calls)
    record, expected = summary.attempt_records[0].agent, agent_named((name,))
    assert record and (record.version, record.sha256) == (expected.version, expected.sha256)
    assert expected.is_tried and record.account[0] == "it ended with exit code 0"
    for each in factory.artifacts.rglob("*"):
        assert each.is_dir() or KEY not in each.read_text(errors="replace"), each

    again = scene.run(Mode.REPLAY, "again")
    assert (again.verdict, again.usage.calls) == ("PASS", 0)
    assert len(scene.server.calls) == scene.calls
    tips = (factory.tip(), factory.tip("again"))
    assert len({git(factory.repo, "rev-parse", f"{tip}^{{tree}}") for tip in tips}) == 1


def test_it_lands_the_order_where_it_is_prompted(scene: Scene) -> None:
    factory, name = scene.factory, scene.name
    if name not in _PROMPTED:
        pytest.skip(f"{name} itself does not speak the Agent Client Protocol")
    scene.words = ("acp", name, *_PROMPTED[name])
    summary = scene.run()
    assert summary.verdict == "PASS", summary.attempt_records[-1].failure_brief
    for path, text in FILES.items():
        assert blob(factory.repo, factory.tip(), path).decode() == text
    record = summary.attempt_records[0].agent
    assert record and record.account[0] == "it ended its turn (end_turn)"
    calls = len(scene.server.calls)
    again = scene.run(Mode.REPLAY, "again")
    assert (again.verdict, again.usage.calls, len(scene.server.calls)) == ("PASS", 0, calls)


def test_mini_does_the_steps_of_a_small_model_that_writes_them_as_blocks(scene: Scene) -> None:
    if scene.name != "mini":
        pytest.skip(f"{scene.name} has one form for all models")
    scene.server.fence = "mswea_bash_command"
    summary = scene.run(model="coder-1.5b")
    assert summary.verdict == "PASS", summary.attempt_records[-1].failure_brief
    assert not any("tools" in body for _, body in scene.server.calls)
    assert len(scene.server.calls) == scene.calls


def test_it_is_found_to_work_by_a_trial(name: str) -> None:
    assert find_problem(replace(agent_named((name,)), is_tried=False)) == ""


def test_what_a_hostile_model_has_it_do_changes_nothing_else_and_reaches_no_key(
    scene: Scene,
) -> None:
    factory, server, outside = scene.factory, scene.server, scene.factory.scratch / "outside.txt"
    before = git(factory.repo, "for-each-ref", "refs/heads/main")
    if scene.name == "aider":  # it only writes
        server.text += "scripts/verify.sh\n```\nexit 0 # always\n```\n"
    else:
        hostile = (
            "env; cat /proc/[0-9]*/environ",
            f"echo x > {outside}; echo x > {factory.repo}/hello.txt; echo x > /etc/passwd",
            "echo 'exit 0 # always' > scripts/verify.sh; git add -A; git commit -m mine",
            "python -c 'import urllib.request as u; u.urlopen(\"http://1.1.1.1\", timeout=3)'",
        )
        server.steps = [*hostile, *server.steps]
    summary = scene.run()
    assert summary.verdict == "PASS", summary.attempt_records[-1].failure_brief
    record = summary.attempt_records[0].agent
    assert record and "scripts/verify.sh" in record.dropped
    changed = git(factory.repo, "diff", "--name-only", "main", factory.tip()).splitlines()
    assert changed == sorted(FILES)
    assert git(factory.repo, "for-each-ref", "refs/heads/main") == before
    assert not outside.exists() and git(factory.repo, "status", "--porcelain") == ""
    sent = json.dumps([body for _, body in server.calls])
    assert KEY not in sent
    if scene.name != "aider":
        assert "OPENAI_API_KEY=none" in sent, "it was shown what the commands printed"


def test_a_killed_run_goes_on_and_pays_only_for_what_had_not_come_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory, server = scene.factory, scene.server
    last = scene.calls
    asked, over = threading.Event(), threading.Event()
    answer = server.answer

    def hold_the_last(path: str, body: dict[str, Any]) -> tuple[str, str]:
        answered = answer(path, body)
        if len(server.calls) == last and not over.is_set():
            asked.set()
            over.wait(60)
        return answered

    monkeypatch.setattr(server, "answer", hold_the_last)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    order = factory.save(DEMO)
    words: list[str | Path] = [
        *(sys.executable, "-m", "llmch", "run", "--repo", factory.repo, "--work-order", order),
        *("--proposer", scene.name, "--branch", "work", "--llm-model", "scripted"),
        *("--artifacts-dir", factory.artifacts, "--max-attempts", "1", "--json"),
    ]
    log = (factory.scratch / "said.txt").open("w")
    with log:
        first = processes.start(words, cwd=ROOT, stdout=log, stderr=log)
        assert asked.wait(120), (factory.scratch / "said.txt").read_text()
        first.send_signal(signal.SIGKILL)
        first.wait()
        over.set()
        second = processes.start(words, cwd=ROOT, stdout=log, stderr=log)
        assert second.wait(240) == 0, (factory.scratch / "said.txt").read_text()
    assert len(server.calls) == last + 1
    for path, text in FILES.items():
        assert blob(factory.repo, factory.tip(), path).decode() == text
