"""From a plan with a wrong call to a commit that keeps its contract, in each language."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from factory.proposal.reply_formats import ProposedFile, render_block
from tests.harness import commit_all, git
from tests.llmch.command_line import model_server, plan_reply, say_in
from tests.real_tools import add_real_rust, needs_sandbox
from tests.shared.languages.ecmascript.plans import FETCHED
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act
from tests.targets.projects import install
from tests.targets.stories import STORIES, Story

pytestmark = [pytest.mark.rest, needs_sandbox()]

MOST_SECONDS = 100.0  # for the trials of two commands on a loaded machine


@pytest.fixture
def story(
    request: pytest.FixtureRequest, own_surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> Story:
    """Return the story of one language, whose tools are found in a home of the test's own."""
    told: Story = request.param()
    monkeypatch.setenv("LLMCH_TOOLS", str(FETCHED))
    if told.source.endswith(".rs"):
        proxies = add_real_rust(own_surroundings)
        monkeypatch.setenv("PATH", f"{proxies}:{os.environ['PATH']}")
    return told


@pytest.fixture
def checkout(story: Story, tmp_path: Path) -> Path:
    """Return a repo that holds the project, its packages installed where it has them."""
    folder = tmp_path / "words"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    commit_all(folder, story.files)
    for name, source in story.folders.items():
        install(source, folder / name)
    return folder


def writing(path: str, text: str) -> Act:
    """Return the act of a model that writes one file whole."""
    return chat_stream(f"Scores a guess.\n\n{render_block(ProposedFile(path, text))}")


@dataclass(frozen=True)
class AfterTrials:
    """A model that takes its time: the trials on empty code, which run meanwhile, are over."""

    checkout: Path
    act: Act

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        ends = time.monotonic() + MOST_SECONDS
        trial = "artifacts/factory/*/WO-01/hollow/acceptance_result.json"
        while time.monotonic() < ends and not [*self.checkout.glob(trial)]:
            stop.wait(0.05)
        self.act.play(handler, stop)


@pytest.mark.parametrize("story", STORIES, indirect=True)
def test_a_wrong_plan_is_repaired_and_code_that_drops_a_name_does_not_land(
    story: Story,
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say = say_in(checkout, capsys)
    (checkout.parent / "spec.md").write_text("# Words\n\n- Scores a guess.\n")
    replies = [plan_reply(each) for each in (story.wrong_plan(), story.right_plan())]
    with model_server(monkeypatch, *replies) as server:
        said = say("plan", "--spec", "../spec.md", "--outdir", "../plan", "--no-review")
    assert said.code == 0, said.out + said.err
    revision = json.dumps(server.bodies[1])
    assert "E212" in revision and story.test[0] in revision, revision
    assert "W232" in revision, revision

    (path, _, command), (_, _, hollow) = story.test, story.hollow
    said_twice = [story.dropping] if story.is_asked_again else []
    acts = [writing(story.source, e) for e in (*said_twice, story.dropping, story.right)]
    with model_server(monkeypatch, AfterTrials(checkout, acts[0]), *acts[1:]) as server:
        said = say(
            *("run-all", "--workdir", "../plan", "--branch", "work", "--deps", "auto"),
            *("--max-attempts", "2", "--reply-format", "files", "--json"),
        )
    assert said.code == 0, said.out + said.err
    (order,) = said.document["orders"]
    assert (said.document["verdict"], order["attempts"]) == ("PASS", 2)
    assert [(e["code"], e["command"]) for e in order["flags"]] == [("W234", hollow)]
    (record,) = Path(order["run_dir"]).rglob("attempt_1/*brief*.json")
    brief = json.loads(record.read_text())
    assert brief["stage"] == Stage.CONTRACT_VIOLATED
    assert story.lost in brief["primary_error_excerpt"]
    assert story.lost in json.dumps(server.bodies[-1])
    assert len(server.bodies) == len(acts)
    assert command in [each["command"] for each in order["verified_by"]["acceptance"]]
    assert git(checkout, "show", f"work:{story.source}") == story.right.rstrip("\n")
    assert git(checkout, "cat-file", "-t", f"work:{path}") == "blob"
    assert git(checkout, "rev-parse", "work~1") == git(checkout, "rev-parse", "main")
