"""The second day: a specification changes, and only what the change touches is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness import git
from tests.llmch.command_line import Say, model_server, plan_reply
from tests.llmch.shop import (
    FIRST,
    FIRST_DAY,
    NEW_FILES,
    SECOND,
    SECOND_DAY,
    files_of,
    make_shop,
    spec_text,
    states,
)
from tests.shared.llm.edge import chat_stream

pytestmark = pytest.mark.rest


@pytest.fixture
def shop(repo: Path) -> Path:
    return make_shop(repo)


def test_a_changed_spec_is_built_by_four_calls(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = cwd / "spec.json"
    command = (
        *(
            "build",
            "--spec",
            spec,
            "--repo",
            shop,
            "--sandbox",
            "off",
            "--no-review",
            "--yes",
            "--json",
        ),
        *("--reply-format", "files", "--max-attempts", "1"),
    )
    spec.write_text(FIRST)
    with model_server(monkeypatch, *FIRST_DAY):
        first = say(*command)
    assert first.code == 0, first.out + first.err
    branch = first.document["branch"]

    spec.write_text(SECOND)
    with model_server(monkeypatch, *SECOND_DAY) as server:
        second = say(*command)
    assert second.code == 0, second.out + second.err
    assert len(server.received) == 4
    assert second.document["branch"] == branch
    assert states(second.document) == ["skipped", "skipped", "landed", "landed", "landed"]
    assert git(shop, "merge-base", "--is-ancestor", first.document["tip"], branch) == ""
    assert files_of(shop, branch) - files_of(shop, "main") == NEW_FILES
    assert git(shop, "show", f"{branch}:tests/test_shop.py").endswith("price(2) == 8")

    with model_server(monkeypatch) as server:
        again = say(*command)
    assert (again.code, states(again.document)) == (0, ["skipped"] * 5)
    assert not server.received

    spec.write_text(spec_text(4, "FR-1", "FR-3", name="Our shop"))
    with model_server(monkeypatch) as server:
        unchanged = say(*command)
    assert (unchanged.code, unchanged.document["tip"]) == (0, second.document["tip"])
    assert not server.received


def test_the_same_in_steps(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plan --from` makes the next plan, and `run-all` executes what has not landed."""
    spec, one, two = cwd / "spec.json", cwd / "one", cwd / "two"
    spec.write_text(FIRST)
    where = ("--spec", spec, "--repo", shop, "--no-review", "--json")
    execute = ("--sandbox", "off", "--reply-format", "files", "--max-attempts", "1", "--json")
    with model_server(monkeypatch, FIRST_DAY[0]):
        assert say("plan", *where, "--outdir", one).code == 0
    with model_server(monkeypatch, *FIRST_DAY[1:]):
        ran = say("run-all", "--repo", shop, "--workdir", one, *execute)
    assert ran.code == 0, ran.err

    spec.write_text(SECOND)
    with model_server(monkeypatch, SECOND_DAY[0]):
        said = say("plan", *where, "--from", one, "--outdir", two)
    assert said.code == 0, said.out + said.err
    manifest = json.loads((two / "WORK_ORDERS_MANIFEST.json").read_text())
    for name in ("WO-01.json", "WO-02.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert manifest["supersedes"]["manifest_sha256"] == manifest_hash(one)
    with model_server(monkeypatch, *SECOND_DAY[1:]):
        ran = say("run-all", "--repo", shop, "--workdir", two, *execute)
    assert ran.code == 0, ran.err
    assert states(ran.document) == ["skipped", "skipped", "landed", "landed", "landed"]
    for verb in (("check", two), ("show", two, "--check")):
        said = say(*verb, "--repo", shop, "--branch", ran.document["branch"])
        assert said.code == 0, said.out  # what landed is history, and no fault of the plan
    report = say("report", "--coverage", two, "--repo", shop).out
    assert "FR-2 (not in the specification any more)\n" in report
    assert (
        "2 of 2 requirements covered, 0 asserted by a test of the plan, 0 by a command, 2 tested"
        in report
    )
    checked = say("check", two, "--repo", shop).out
    assert "FR-2: not in the specification any more (WO-02, WO-05)" in checked


def test_a_removed_requirement_takes_its_files_and_the_rest_is_proven_again(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner forgets the order: llmch makes it, and no model carries it out."""
    spec, one, two = cwd / "spec.json", cwd / "one", cwd / "two"
    where = ("--spec", spec, "--repo", shop, "--no-review", "--json")
    execute = ("--sandbox", "off", "--reply-format", "files", "--max-attempts", "1", "--json")
    spec.write_text(FIRST)
    with model_server(monkeypatch, FIRST_DAY[0]):
        assert say("plan", *where, "--outdir", one).code == 0
    with model_server(monkeypatch, *FIRST_DAY[1:]):
        assert say("run-all", "--repo", shop, "--workdir", one, *execute).code == 0
    spec.write_text(spec_text(3, "FR-1"))
    with model_server(monkeypatch, plan_reply({"work_orders": []})):
        said = say("plan", *where, "--from", one, "--outdir", two)
    assert said.code == 0, said.out + said.err
    shown = say("diff", one, two, "--repo", shop)
    assert "What only FR-2 brought" in shown.out
    assert "greeting.py" in shown.out and "tests/test_greeting.py" in shown.out
    preview = say("show", two, "--repo", shop, "--json").document
    assert preview["removal"]["files"] == ["greeting.py", "tests/test_greeting.py"]
    with model_server(monkeypatch) as server:
        ran = say("run-all", "--repo", shop, "--workdir", two, *execute)
    assert (ran.code, states(ran.document)) == (0, ["skipped", "skipped", "landed"]), ran.err
    assert not server.received
    assert files_of(shop, ran.document["branch"]) - files_of(shop, "main") == {
        "shop.py",
        "tests/test_shop.py",
    }
    commands = ran.document["orders"][2]["verified_by"]
    assert "python -m pytest -q tests/test_shop.py" in json.dumps(commands)


def test_an_order_that_cannot_be_done_is_planned_again_by_the_command_that_is_named(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, one = cwd / "spec.json", cwd / "one"
    spec.write_text(FIRST)
    with model_server(monkeypatch, FIRST_DAY[0]):
        assert say("plan", "--spec", spec, "--repo", shop, "--no-review", "--outdir", one).code == 0
    claim = "IMPOSSIBLE: the price is an integer, and a text is compared with it"
    with model_server(monkeypatch, chat_stream(claim)) as server:
        ran = say("run-all", "--repo", shop, "--workdir", one, "--sandbox", "off")
    assert (ran.code, len(server.received)) == (1, 1)
    assert f"llmch plan --spec SPEC --from {one} --repo {shop}" in ran.out + ran.err
    assert claim.removeprefix("IMPOSSIBLE: ") in ran.out + ran.err
    with model_server(monkeypatch) as server:
        again = say("run-all", "--repo", shop, "--workdir", one, "--sandbox", "off")
    assert (again.code, server.received) == (1, []), (
        "the claim is on record, and not paid for again"
    )

    with model_server(monkeypatch, FIRST_DAY[0]) as server:
        say("plan", "--spec", spec, "--repo", shop, "--from", one, "--max-attempts", "1")
    assert claim.removeprefix("IMPOSSIBLE: ") in json.dumps(server.received[0].body)


def test_build_shows_the_changed_requirements(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = cwd / "spec.json"
    build = (
        *("build", "--spec", spec, "--repo", shop, "--sandbox", "off", "--no-review", "--yes"),
        *("--reply-format", "files", "--max-attempts", "1"),
    )
    spec.write_text(FIRST)
    with model_server(monkeypatch, *FIRST_DAY):
        first = say(*build)
    assert first.code == 0 and "Requirements" not in first.out
    spec.write_text(SECOND)
    with model_server(monkeypatch, *SECOND_DAY):
        second = say(*build)
    assert second.code == 0, second.err
    shown = second.out[second.out.index("Requirements") : second.out.index("WO-03")]
    assert "~ FR-1: the text has changed" in shown
    assert "- `price(n)` in shop.py returns 3 times n." in shown
    assert "+ `price(n)` in shop.py returns 4 times n." in shown
    assert "+ FR-3: " in shown and "- FR-2: " in shown


def manifest_hash(folder: Path) -> Any:
    return json.loads((folder / "WORK_ORDERS_MANIFEST.json").read_text())["provenance"][
        "manifest_sha256"
    ]
