"""`llmch build` at a terminal: it shows the plan and asks before anything of it is executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.work_order.work_order import question_id
from tests import processes
from tests.harness import git, hashed, write_plan
from tests.llmch.command_line import Said, Say, model_server, plan_reply, write_reply
from tests.llmch.entry.test_consent import answering, read_until
from tests.llmch.verbs.test_build_command import ONE, PLAN, STRAY, TWO
from tests.planner.plans import Document, creating, plan
from tests.planner.replanning import spec_file

Build = Callable[..., Said]
QUESTION = "Execute these 2 orders? [y/N] "
KEPT = "nothing was executed; the plan is kept in "


@pytest.fixture
def build(say: Say, cwd: Path, repo: Path) -> Build:
    spec = cwd.parent / "spec.md"
    spec.write_text("# Two files\n")

    def build(*flags: str | Path) -> Said:
        return say(
            *("build", "--spec", spec, "--repo", repo, "--sandbox", "off", "--no-review"),
            *("--reply-format", "json", "--max-attempts", "1", *flags),
        )

    return build


def branches(repo: Path) -> str:
    return git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/factory")


@pytest.mark.rest
def test_who_agrees_gets_the_orders_executed(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "y\n") as terminal, model_server(monkeypatch, PLAN, ONE, TWO):
        said = build()
        assert read_until(terminal, QUESTION).endswith(QUESTION)
    assert said.code == 0
    shown, _, rest = said.out.partition("Plan: 2 orders, 2 to do; 2 files new, ")
    assert "● WO-01    to do     Check the sources\n    + 1.txt\n" in shown
    assert "WO-01    PASS" in rest
    assert branches(repo)


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04", "yess\n"])
def test_any_other_answer_keeps_the_plan_and_executes_nothing(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    with answering(monkeypatch, typed), model_server(monkeypatch, PLAN) as server:
        said = build()
    assert (said.code, len(server.received), branches(repo)) == (1, 1, "")
    folder = Path(said.out.partition(KEPT)[2].split("\n")[0])
    assert (folder / "WO-02.json").is_file()


@pytest.mark.rest
def test_who_said_no_is_asked_again_and_pays_for_no_plan(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "n\n"), model_server(monkeypatch, PLAN):
        assert build().code == 1
    with answering(monkeypatch, "y\n") as terminal, model_server(monkeypatch, ONE, TWO):
        said = build()
        assert QUESTION in read_until(terminal, QUESTION)
    assert said.code == 0
    assert "● WO-02    to do" in said.out


@pytest.mark.rest
def test_a_plan_that_has_begun_goes_on_without_a_question(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "y\n"), model_server(monkeypatch, PLAN, STRAY, STRAY):
        assert build().code == 1  # nothing has landed, and still the person agreed
    with answering(monkeypatch, "n\n"), model_server(monkeypatch, ONE, TWO):
        said = build()
    assert (said.code, KEPT in said.out) == (0, False)
    with answering(monkeypatch, "n\n"), model_server(monkeypatch):
        assert build().code == 0  # nothing is left to pay for


@pytest.mark.rest
@pytest.mark.parametrize("flag", ["--yes", "--json", "--markdown"])
def test_nobody_is_asked_where_the_answer_is_given_or_cannot_be(
    build: Build, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    with answering(monkeypatch, "n\n"), model_server(monkeypatch, PLAN, ONE, TWO):
        assert build(flag).code == 0


@pytest.mark.rest
def test_nobody_is_asked_in_a_pipe(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO):
        said = build("--yes")
    assert (said.code, said.err) == (0, "")
    assert "Plan: 2 orders, 2 to do; " in said.out


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_in_a_pipe_the_answer_has_to_be_given_before_anything_is_paid(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    with model_server(monkeypatch) as server:
        said = build(*flags)
    assert (said.code, server.received, branches(repo)) == (2, [], "")
    assert "--yes executes it without asking" in said.out + said.err


@pytest.mark.rest
def test_nobody_is_asked_in_a_replay(
    build: Build, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = tmp_path / "transcript.jsonl"
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build("--transcript", transcript, "--yes").code == 0
    (repo / ".git/llmch/plans.json").unlink()
    replay = ("--llm", "replay", "--transcript", transcript, "--branch", "again")
    with answering(monkeypatch, "n\n"):
        assert build(*replay).code == 0


def test_ctrl_c_at_the_question_is_an_interrupt(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "") as terminal, model_server(monkeypatch, PLAN):
        with processes.interrupted_after(lambda: read_until(terminal, QUESTION)):
            said = build()
        assert "the plan is kept" in read_until(terminal, "begins with its orders")
    assert (said.code, branches(repo)) == (130, "")


@pytest.mark.rest
def test_the_orders_of_the_plan_before_are_no_consent_to_new_ones(
    build: Build, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, ONE, TWO):
        assert build("--yes").code == 0
    (folder,) = json.loads((repo / ".git/llmch/plans.json").read_text()).values()
    before = json.loads((Path(folder) / "WORK_ORDERS_MANIFEST.json").read_text())
    third = {**before["work_orders"][1], "id": "WO-03", "allowed_files": ["3.txt"]}
    follows = {"manifest_sha256": before["provenance"]["manifest_sha256"], "title": before["name"]}
    orders = [*before["work_orders"], third]
    write_plan(Path(folder), hashed({**before, "work_orders": orders, "supersedes": follows}))
    with answering(monkeypatch, "n\n") as terminal, model_server(monkeypatch):
        said = build()
        assert read_until(terminal, "[y/N] ").endswith("Execute this order? [y/N] ")
    assert (said.code, KEPT in said.out) == (1, True)
    assert "✓ WO-02    landed" in said.out


BLANKS: Document = {
    "kind": "contradiction",
    "text": "The sample shows 6 blanks, R1 says 2.",
    "reading": "2 blanks",
    "requirements": ["R1"],
    "work_orders": ["WO-01"],
}
ID = question_id(BLANKS["text"])
OPEN = plan_reply(plan(creating(1, "1.txt", covers=["R1"]), assumptions=[BLANKS]))
ANSWERED = plan_reply({"work_orders": [creating(1, "6.txt", covers=["R1", ID])]})
SIX = write_reply({"6.txt": "text\n"})


@pytest.fixture
def open_build(say: Say, cwd: Path, repo: Path) -> Build:
    """Builds a specification that contradicts itself."""
    spec = spec_file(cwd.parent, {"R1": "Lines are indented by 2 blanks."})

    def build(*flags: str | Path) -> Said:
        return say(
            *("build", "--spec", spec, "--repo", repo, "--sandbox", "off", "--no-review"),
            *("--reply-format", "json", "--max-attempts", "1", *flags),
        )

    return build


def answers(cwd: Path) -> Path:
    return cwd.parent / "spec.json.answers.yaml"


@pytest.mark.rest
def test_a_build_asks_and_executes_the_plan_that_has_the_answer(
    open_build: Build, cwd: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        answering(monkeypatch, "6 blanks\ny\n") as terminal,
        model_server(monkeypatch, OPEN, ANSWERED, SIX) as server,
    ):
        said = open_build()
        asked = read_until(terminal, "Execute this order? [y/N] ")
    assert (said.code, len(server.received)) == (0, 3), said.out
    assert "contradiction: The sample shows 6 blanks" in asked
    assert 'answer: "6 blanks"' in answers(cwd).read_text()
    assert git(repo, "ls-tree", "--name-only", branches(repo), "6.txt", "1.txt") == "6.txt"
    with answering(monkeypatch, ""), model_server(monkeypatch) as server:
        assert (open_build().code, server.received) == (0, [])


@pytest.mark.rest
def test_an_answer_that_is_the_reading_costs_nothing_and_is_asked_once(
    open_build: Build, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "\nn\n"), model_server(monkeypatch, OPEN) as server:
        assert (open_build().code, len(server.received)) == (1, 1)
    assert 'answer: "2 blanks"' in answers(cwd).read_text()
    with answering(monkeypatch, "y\n"), model_server(monkeypatch, ONE) as server:
        assert (open_build("--strict-spec").code, len(server.received)) == (0, 1)


@pytest.mark.parametrize("flags", [("--yes",), ("--no-ask", "--yes")])
def test_a_build_that_may_not_ask_takes_the_reading(
    open_build: Build, cwd: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    with answering(monkeypatch, "6\n"), model_server(monkeypatch, OPEN, ONE):
        assert open_build(*flags).code == 0
    assert not answers(cwd).exists()


@pytest.mark.rest
def test_with_consent_given_only_the_flag_has_a_question_asked(
    open_build: Build, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "6 blanks\n"), model_server(monkeypatch, OPEN, ANSWERED, SIX):
        assert open_build("--yes", "--ask").code == 0
    assert 'answer: "6 blanks"' in answers(cwd).read_text()


@pytest.mark.rest
def test_a_strict_build_executes_no_plan_of_a_contradiction(
    open_build: Build, cwd: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for replies in ((OPEN,), ()):  # the plan is on file then, and refused all the same
        with model_server(monkeypatch, *replies) as server:
            said = open_build("--yes", "--strict-spec", "--json")
        assert (said.code, len(server.received)) == (2, len(replies))
        assert "contradicts itself: The sample shows 6 blanks" in said.error["message"]
    assert branches(repo) == ""
    with answering(monkeypatch, "2 blanks\ny\n"), model_server(monkeypatch, ONE):
        assert open_build("--strict-spec").code == 0
