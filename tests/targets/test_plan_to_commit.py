"""A spec becomes a commit in projects of several languages, verified by their own tests alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from factory.orders.stages import Stage
from factory.proposal.reply_formats import ProposedFile, render_block
from shared.settings.settings import SandboxSettings
from tests.harness import commit_all, git
from tests.llmch.command_line import model_server, plan_reply, say_in
from tests.planner.plans import plan
from tests.real_tools import sandbox
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act
from tests.targets.projects import MADE, Files, Made, Target, install

pytestmark = pytest.mark.rest


__all__ = ["sandbox"]


@pytest.fixture
def target(
    request: pytest.FixtureRequest, own_surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Target]:
    make: Made = request.param
    with make(own_surroundings, monkeypatch) as target:
        yield target


@pytest.fixture
def checkout(target: Target, tmp_path: Path) -> Path:
    """Return a repo that holds the project, its packages installed where it has them."""
    folder = tmp_path / "calc"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    commit_all(folder, target.files)
    for name, source in target.folders.items():
        install(source, folder / name)
    return folder


def blocks(files: Files) -> Act:
    """Return the act of a model that writes these files whole."""
    text = "\n".join(render_block(ProposedFile(path, text)) for path, text in files.items())
    return chat_stream(f"Doubles a number.\n\n{text}")


def proven(order: Any) -> dict[str, int | None]:
    """Return the commands that verified an order, with the number of tests that passed."""
    assert all(each["exit_code"] == 0 for each in order["verified_by"]["verification"])
    return {
        each["command"]: each["tests"] and each["tests"]["passed"]
        for each in order["verified_by"]["verification"]
    }


@pytest.mark.parametrize("target", MADE, indirect=True)
def test_a_plan_lands_and_what_breaks_a_test_does_not(
    target: Target,
    checkout: Path,
    sandbox: SandboxSettings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say = say_in(checkout, capsys)
    (checkout.parent / "spec.md").write_text("# Calculator\n\n- Doubles a number.\n")
    with model_server(monkeypatch, plan_reply(plan(target.work_order()))) as server:
        said = say("plan", "--spec", "../spec.md", "--outdir", "../plan", "--no-review")
    assert said.code == 0, said.out + said.err
    assert all(command in str(server.bodies) for command in target.verified_by)

    flags = (
        *("run-all", "--workdir", "../plan", "--sandbox", sandbox.backend, "--deps", "auto"),
        *("--max-attempts", "1", "--reply-format", "files", "--json"),
    )
    for wrong in target.wrong:
        assert wrong not in target.files.values() and wrong != target.right
        with model_server(monkeypatch, blocks(target.writing(wrong))):
            said = say(*flags, "--branch", "work")
        assert said.code == 1, said.out + said.err
        (order,) = said.document["orders"]
        assert said.document["verdict"] == "FAIL"
        assert order["failure"]["stage"] == Stage.VERIFY_FAILED
        assert order["failure"]["command"] == [*target.verified_by][-1]
        assert git(checkout, "branch", "--list", "work") == ""

    with model_server(monkeypatch, blocks(target.writing(target.right))):
        said = say(*flags, "--branch", "work")
    assert said.code == 0, said.out + said.err
    (order,) = said.document["orders"]
    assert (said.document["verdict"], order["state"]) == ("PASS", "landed")
    assert proven(order) == target.verified_by
    assert order["verified_by"]["acceptance"][0]["tests"]["passed"] == 1
    assert git(checkout, "show", f"work:{target.source}") == target.right.rstrip("\n")
    assert git(checkout, "rev-parse", "work~1") == git(checkout, "rev-parse", "main")
