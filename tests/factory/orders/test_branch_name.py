"""A branch that nobody names has a readable name, the same for the same work."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factory.orders.order_commit import LONGEST_SLUG, default_branch, slug
from factory.orders.read_orders import read_order, read_workdir
from shared.git.client import Git
from shared.git.refs import branch_name_allowed
from tests.fakes import proposal
from tests.harness import Factory, Json, git, hashed, manifest, order, write_plan, writing

HELLO = proposal({"hello.txt": "hello\n"})


def branch_of(folder: Path, document: Json) -> str:
    return default_branch(read_workdir(write_plan(folder, document)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Say hello", "say-hello"),
        ("Über die Brücke!", "uber-die-brucke"),
        ("The package hello/ (greeting.py, main.py) greets. More.", "the-package-hello-greets"),
        ("Words in word.py", "words-in-word-py"),
        ("x" * 60, "x" * 40),
        ("many words, longer than forty characters!", "many-words-longer-than-forty-characters"),
        ("many words with more than forty characters", "many-words-with-more-than-forty"),
        ("  -- .lock ..", "lock"),
        ("日本語", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_slug_is_the_words_of_the_first_sentence(text: str, expected: str) -> None:
    assert slug(text) == expected


@settings(max_examples=300)
@given(st.one_of(st.text(), st.text("(((a. -\u0130\ufb01", max_size=300)))
def test_a_slug_is_short_and_plain_whatever_the_text(text: str) -> None:
    assert re.fullmatch(rf"(?=.{{0,{LONGEST_SLUG}}}\Z)([a-z0-9]+(-[a-z0-9]+)*)?", slug(text))


@settings(max_examples=25)
@given(title=st.text(st.characters(exclude_categories=["Cs"])))
def test_git_takes_every_name(tmp_path_factory: pytest.TempPathFactory, title: str) -> None:
    folder = tmp_path_factory.mktemp("order")
    (folder / "WO-01.json").write_text(json.dumps(order(title=title)))
    name = default_branch([read_order(folder / "WO-01.json")])
    assert re.fullmatch(r"factory/[a-z0-9-]+-[0-9a-f]{8}", name)
    assert branch_name_allowed(Git(folder), name)


def test_a_plan_has_one_branch_whoever_planned_it_and_whichever_order_runs(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "one", manifest([writing("1"), writing("2", 2)]))
    name = default_branch(read_workdir(folder))
    same = manifest([writing("1"), writing("2", 2)], planner_run_id="X")
    again = branch_of(tmp_path / "two", same)
    assert name == again == default_branch([read_order(folder / "WO-02.json")])
    assert name.startswith("factory/say-hello-")
    assert branch_of(tmp_path / "three", manifest([writing("3")])) != name


@pytest.mark.parametrize(
    ("overview", "expected"),
    [
        (["A maze. It has walls.", "More."], "a-maze"),
        ("A maze", "a-maze"),
        ([], "say-hello"),
        ("  ", "say-hello"),
        (["日本語"], "plan"),
    ],
)
def test_a_plan_is_named_by_its_overview(
    tmp_path: Path, overview: Sequence[str] | str, expected: str
) -> None:
    document = hashed({**manifest([order()]), "system_overview": overview})
    digest = document["provenance"]["manifest_sha256"]
    assert branch_of(tmp_path / "plan", document) == f"factory/{expected}-{digest[:8]}"


def test_the_same_orders_without_a_plan_go_on_on_their_branch(factory: Factory) -> None:
    first = factory.run(order(), [HELLO], branch=None)
    other = proposal({"hello.txt": "hello again\n"})
    second = factory.run(order(), [other], branch=None)
    assert first.branch == second.branch
    assert second.parent == first.commit
    third = factory.run(order(intent="Another."), [HELLO], branch=None)
    assert third.branch != first.branch
    assert third.parent == git(factory.repo, "rev-parse", "main")


def test_a_plan_that_an_earlier_version_began_goes_on_on_its_branch(factory: Factory) -> None:
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    one, two = proposal({"1.txt": "x\n"}), proposal({"2.txt": "x\n"})
    bad = proposal({"other": "x\n"})
    old = "factory/01PLANNERRUN"
    factory.run_all(plan, {"WO-01": [one], "WO-02": [bad]}, branch=old, max_attempts=1)
    again = factory.run_all(plan, {"WO-02": [two]}, branch=None)
    assert again.branch == old
    assert [each.state for each in again.orders] == ["skipped", "landed"]
