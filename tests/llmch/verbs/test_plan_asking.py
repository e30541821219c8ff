"""`llmch plan` asks what a specification leaves open, and plans anew what an answer changes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.prompts.prompt_templates import MAX_REPLY_CHARACTERS
from shared.work_order.work_order import question_id
from tests import processes
from tests.harness import commit_all
from tests.llmch.command_line import Say, model_server, plan_reply
from tests.llmch.entry.test_consent import answering, read_until
from tests.planner.plans import Document, plan
from tests.planner.replanning import spec_file, writing

BLANKS: Document = {
    "kind": "contradiction",
    "text": "The sample shows 6 blanks, R2 says 2.",
    "reading": "2 blanks",
    "requirements": ["R2"],
    "work_orders": ["WO-02"],
}
WHO: Document = {
    "kind": "question",
    "text": "Who may read?",
    "reading": "Everybody.",
    "requirements": ["R1"],
    "work_orders": ["WO-01"],
}
USUAL = {**WHO, "kind": "assumption", "text": "In which encoding?", "reading": "UTF-8."}
TEXTS = {"R1": "Lines are read.", "R2": "Lines are indented by 2 blanks.", "R3": "Lines end."}
FIRST = plan(
    *(writing(number, f"R{number}", notes="x" * 4_000) for number in (1, 2, 3)),
    assumptions=[WHO, USUAL, BLANKS],
)
BLANKS_ID = question_id(BLANKS["text"])


def again(title: str = "6 blanks") -> Document:
    return {"work_orders": [writing(2, "R2", BLANKS_ID, title=title)]}


@pytest.fixture
def spec(cwd: Path) -> Path:
    return spec_file(cwd.parent, TEXTS)


def orders_of(folder: Path) -> dict[str, Any]:
    return {each.name: json.loads(each.read_text()) for each in sorted(folder.glob("WO-*.json"))}


@pytest.mark.rest
def test_a_contradiction_is_asked_answered_and_only_what_rests_on_it_is_planned_again(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("plan", "--spec", spec, "--no-review", "--no-repo", "--outdir", "plan")
    replies = plan_reply(FIRST), plan_reply(again())
    with (
        answering(monkeypatch, "6 blanks\n\n") as terminal,
        model_server(monkeypatch, *replies) as s,
    ):
        said = say(*command)
        asked = read_until(terminal, "Everybody.\r\n> ")
    assert said.code == 0, said.out
    assert asked.index("contradiction: The sample shows 6") < asked.index("question: Who may read?")
    assert "Enter for: 2 blanks" in asked and "encoding" not in asked
    written = (cwd.parent / "spec.json.answers.yaml").read_text()
    assert 'answer: "6 blanks"' in written and 'answer: "Everybody."' in written
    first, second = (json.dumps(each["input"]) for each in s.bodies)
    assert f"added {BLANKS_ID}: The answer to" in second and "Everybody" not in second
    assert len(second) * 2 < len(first) + len(json.dumps(FIRST))
    orders = orders_of(cwd / "plan")
    assert [each["title"] for each in orders.values()] == ["Part 1", "6 blanks", "Part 3"]
    assert orders["WO-02.json"]["covers"] == ["R2", BLANKS_ID]
    shown = say("show", "plan", "--no-repo", "--json").document
    assert [each["text"] for each in shown["assumptions"]] == [WHO["text"], USUAL["text"]]

    with answering(monkeypatch, ""), model_server(monkeypatch) as server:
        unchanged = say(*command[:-2], "--from", "plan")
    assert (unchanged.code, server.received) == (0, [])


@pytest.mark.rest
def test_a_changed_answer_concerns_the_order_that_carries_it_out(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = cwd.parent / "spec.json.answers.yaml"
    entry = "answers:\n  - question: {}\n    answer: '{}'\n"
    command = ("plan", "--spec", spec, "--no-review", "--no-repo", "--json")
    with model_server(monkeypatch, plan_reply(FIRST)):
        assert say(*command, "--outdir", "one").code == 0
    for answer, before, after in (("6 blanks", "one", "two"), ("8 blanks", "two", "three")):
        answers.write_text(entry.format(BLANKS["text"], answer))
        with model_server(monkeypatch, plan_reply(again(answer))) as server:
            said = say(*command, "--from", before, "--outdir", after)
        assert said.code == 0, said.out
        assert answer in json.dumps(server.bodies[0]["input"])
        one, two = orders_of(cwd / before), orders_of(cwd / after)
        assert [name for name in one if one[name]["title"] != two[name]["title"]] == ["WO-02.json"]


def test_who_takes_over_every_reading_pays_for_no_second_plan(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("plan", "--spec", spec, "--no-review", "--no-repo")
    with answering(monkeypatch, "\n\n"), model_server(monkeypatch, plan_reply(FIRST)) as server:
        assert say(*command, "--outdir", "plan").code == 0
    assert len(server.received) == 1
    with answering(monkeypatch, ""), model_server(monkeypatch) as server:
        said = say(*command, "--from", "plan", "--strict-spec")
    assert (said.code, server.received) == (0, [])


def test_where_the_input_ends_the_rest_stays_open(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("plan", "--spec", spec, "--no-review", "--no-repo")
    replies = plan_reply(FIRST), plan_reply(again())
    with answering(monkeypatch, "6 blanks\n\x04"), model_server(monkeypatch, *replies):
        said = say(*command, "--outdir", "plan")
    assert said.code == 0, said.out
    assert "1 question not answered: the readings taken count" in said.out + said.err
    written = (cwd.parent / "spec.json.answers.yaml").read_text()
    assert "6 blanks" in written and "Everybody" not in written
    shown = say("show", "plan", "--no-repo", "--json").document
    assert WHO["text"] in [each["text"] for each in shown["assumptions"]]

    with answering(monkeypatch, "\n") as terminal, model_server(monkeypatch) as server:
        assert say(*command, "--from", "plan").code == 0
        asked = read_until(terminal, "> ")
    assert server.received == []
    assert "Who may read?" in asked and "blanks" not in asked


def test_nothing_is_answered_where_standard_input_is_closed(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    command = ("plan", "--spec", spec, "--no-review", "--no-repo", "--ask", "--strict-spec")
    with model_server(monkeypatch, plan_reply(FIRST)):
        said = say(*command)
    assert (said.code, "contradicts itself" in said.err) == (2, True), said.err
    assert "2 questions not answered" in said.out + said.err
    assert not (cwd.parent / "spec.json.answers.yaml").exists()


def test_ctrl_c_keeps_the_answers_given_so_far(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("plan", "--spec", spec, "--no-review", "--no-repo", "--outdir", "plan")
    with (
        answering(monkeypatch, "\n") as terminal,
        model_server(monkeypatch, plan_reply(FIRST)),
    ):
        with processes.interrupted_after(lambda: read_until(terminal, "Everybody.\r\n> ")):
            said = say(*command)
        shown = read_until(terminal, "asks the rest")
    assert said.code == 130, said.out
    written = (cwd.parent / "spec.json.answers.yaml").read_text()
    assert "2 blanks" in written and "Everybody" not in written
    said_at_last = "".join(shown.split())  # the terminal breaks lines where they are full
    assert "spec.json.answers.yaml;thesamecommandwith`--from" in said_at_last


@pytest.mark.parametrize("flags", [("--no-ask",), ("--json",)])
def test_nobody_is_asked_where_that_is_not_wanted(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    with answering(monkeypatch, "6\n"), model_server(monkeypatch, plan_reply(FIRST)) as server:
        assert say("plan", "--spec", spec, "--no-review", "--no-repo", *flags).code == 0
    assert len(server.received) == 1
    assert not (cwd.parent / "spec.json.answers.yaml").exists()


def test_a_contradiction_that_nobody_answered_is_refused_where_the_spec_is_to_be_strict(
    say: Say, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, plan_reply(FIRST)):
        said = say("plan", "--spec", spec, "--no-review", "--no-repo", "--strict-spec", "--json")
    assert said.code == 2
    assert "contradicts itself: The sample shows 6 blanks" in said.error["message"]
    assert BLANKS_ID in said.error["message"] and "spec.json.answers.yaml" in said.error["hint"]


def test_an_answer_to_what_no_plan_asked_is_named_and_counts(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("plan", "--spec", spec, "--no-review", "--no-repo", "--json")
    with model_server(monkeypatch, plan_reply(FIRST)):
        assert say(*command, "--outdir", "one").code == 0
    own = question_id("And tabs?")
    (cwd.parent / "spec.json.answers.yaml").write_text(
        "answers:\n  - question: And tabs?\n    answer: 'never'\n"
    )
    reply = plan_reply({"work_orders": [writing(4, own)]})
    with model_server(monkeypatch, reply):
        said = say(*command, "--from", "one")
    assert said.code == 0, said.out
    assert f"{own} answers a question that the plan in" in said.err


def test_what_the_model_asks_before_it_plans_is_asked_at_once(
    say: Say, spec: Path, cwd: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(repo, {"app.py": "A = 1\n"})
    text = "Who may\n\x1b[2Jread?"  # a terminal is not the model's to clear
    ask = plan_reply({"ask": [{"text": text, "reading": "Every\x1b[1Abody."}]})
    own = question_id(text)
    made = plan_reply(plan(*(writing(n, f"R{n}") for n in (1, 2)), writing(3, "R3", own)))
    command = ("plan", "--spec", spec, "--no-review", "--repo", repo)
    with (
        answering(monkeypatch, "Members.\n") as terminal,
        model_server(monkeypatch, ask, made) as s,
    ):
        said = say(*command, "--require-coverage")
        shown = read_until(terminal, "> ")
    assert said.code == 0, said.out
    assert "\nquestion: Who may read?\r\nEnter for: Everybody." in shown
    assert 'answer: "Members."' in (cwd.parent / "spec.json.answers.yaml").read_text()
    assert "Members." in json.dumps(s.bodies[1]["input"])
    assert "\x1b[2Jread" not in shown and "\x1b[1Abody" not in shown
    for typed, flags in (("Members.\n", ("--json",)), ("\x04", ())):  # nobody is there, or gone
        (cwd.parent / "spec.json.answers.yaml").unlink(missing_ok=True)
        with answering(monkeypatch, typed), model_server(monkeypatch, ask, made) as s:
            say(*command, "--anew", *flags)
        assert "nobody is here to answer" in json.dumps(s.bodies[1]["input"])
        assert not (cwd.parent / "spec.json.answers.yaml").exists()


def test_a_thousand_assumptions_are_refused_in_a_line_and_fill_no_prompt(
    say: Say, spec: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [{**USUAL, "text": f"Question {number}? {'x' * 400}"} for number in range(1000)]
    replies = (plan_reply({**FIRST, "assumptions": many[:most]}) for most in (1000, 50))
    command = ("plan", "--spec", spec, "--no-review", "--no-repo", "--outdir", "plan", "--no-ask")
    with model_server(monkeypatch, *replies) as server:
        said = say(*command)
    assert said.code == 0
    assert said.out.count("[E000] plan assumptions: is not a list of at most 50 entries") == 1
    first, second = (len(json.dumps(each["input"])) for each in server.bodies)
    assert second - first < MAX_REPLY_CHARACTERS * 1.1 < len(json.dumps(many))
    assert (
        len(json.loads((cwd / "plan/WORK_ORDERS_MANIFEST.json").read_text())["assumptions"]) == 50
    )
    for verb in ("show", "check"):
        assert len(say(verb, "plan", "--no-repo").out) < 50 * 700
