from __future__ import annotations

from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from tests.planner.plans import creating, exists, findings, messages, order, plan, requiring

# E243


def test_a_context_file_with_glob_characters_is_one_finding() -> None:
    first = creating(1, "docs/a.md")
    assert findings(plan(first, creating(2, "b.txt", context_files=["docs/*.md"]))) == [
        "E004 WO-02 context_files[0]"
    ]
    both = creating(2, "b.txt", context_files=["docs/?.md", "docs/none.md"])
    assert findings(plan(first, both)) == [
        "E004 WO-02 context_files[0]",
        "E243 WO-02 context_files[1]",
    ]


@pytest.mark.parametrize("glob", ["docs/*.md", "docs/a.m?", "*"])
def test_a_file_that_a_glob_of_the_order_covers_is_not_blamed_beside_it(glob: str) -> None:
    first = order(1, allowed_files=[glob], context_files=["docs/a.md"])
    assert [each for each in findings(plan(first)) if "E243" in each] == []
    other = order(1, allowed_files=["src/*.md"], context_files=["docs/a.md"])
    assert "E243 WO-01 context_files[0]" in findings(plan(other))


def test_a_context_file_is_there_before_the_order() -> None:
    assert findings(plan(order(context_files=["a.md"])), ["a.md"]) == []
    assert findings(plan(creating(1, "a.md"), order(2, context_files=["a.md"]))) == []
    document = plan(order(1, context_files=["a.md", "b.md"]), creating(2, "a.md"))
    assert findings(document) == [
        "E243 WO-01 context_files[0]",
        "E243 WO-01 context_files[1]",
    ]
    assert messages(document) == [
        '"a.md" does not exist by then: only WO-02 provides it',
        '"b.md" does not exist by then: nobody provides it',
    ]


def test_a_file_that_the_order_itself_creates_may_be_listed() -> None:
    assert findings(plan(creating(1, "a.md", context_files=["a.md"]))) == []


def test_what_may_be_there_is_not_told() -> None:
    document = plan(
        order(1, allowed_files=["a.md", "*.txt"]), order(2, context_files=["a.md", "b.txt"])
    )
    assert findings(document) == ["E004 WO-01 allowed_files[1]"]


# E246


def test_an_order_depends_on_orders_of_the_plan() -> None:
    assert findings(plan(order(1), order(2, depends_on=["WO-01", "WO-01"]))) == []
    document = plan(order(1), order(2, depends_on=["WO-03", "WO-02", "", "WO-03"]))
    assert findings(document) == [
        "E246 WO-02 depends_on[0]",
        "E246 WO-02 depends_on[1]",
        "E246 WO-02 depends_on[2]",
    ]
    assert messages(document)[1] == '"WO-02" is the order itself'


def test_an_id_that_is_no_string_is_no_order_to_depend_on() -> None:
    document = plan(order(1) | {"id": ["WO-01"]}, order(2, depends_on=["WO-01"]))
    assert "E246 WO-02 depends_on[0]" in findings(document)


# W245


def unused(*orders: Any, **top: Any) -> list[str]:
    report = judge(parse_plan(plan(*orders, **top)))
    return [f"{each.order} {each.field}" for each in report.findings if each.code == "W245"]


def test_a_module_that_nothing_mentions_is_told() -> None:
    assert unused(creating(1, "words.py"), order(2)) == ["WO-01 allowed_files[0]"]


@pytest.mark.parametrize(
    "user",
    [
        {"acceptance_commands": ['python -c "from words import a"']},
        {"context_files": ["words.py"]},
        {"allowed_files": ["words.py"]},
        {"allowed_files": ["tests/test_words.py"]},
        {"preconditions": exists("words.py")},
        {"notes": "Use words.py."},
        {"interfaces": [{"path": "game.py", "stub": "from words import Word"}]},
    ],
)
def test_one_that_a_later_order_mentions_is_used(user: dict[str, object]) -> None:
    assert unused(creating(1, "words.py"), order(2, **user)) == []


def test_a_module_that_a_file_of_the_repo_passes_on_is_used_with_it() -> None:
    declared = [
        {"path": "src/chunk.rs", "stub": "pub struct Chunk;"},
        {"path": "src/lib.rs", "stub": "mod chunk;\npub use chunk::Chunk;"},
    ]
    for stubs, expected in ((declared, 0), (declared[:1], 1)):
        document = plan(creating(1, "src/chunk.rs", interfaces=stubs))
        report = judge(parse_plan(document), repo_files=frozenset({"src/lib.rs"}))
        assert [each.code for each in report.findings].count("W245") == expected


def test_own_commands_use_it_and_own_notes_do_not() -> None:
    assert unused(creating(1, "words.py", acceptance_commands=["python words.py"])) == []
    assert unused(creating(1, "words.py", notes="words.py")) == ["WO-01 allowed_files[0]"]


def test_what_verification_requires_is_used() -> None:
    assert unused(creating(1, "words.py"), verify_contract=requiring("words.py")) == []


def test_files_of_one_order_may_use_each_other() -> None:
    command = ["python cli.py"]
    assert unused(creating(1, "words.py", "cli.py", acceptance_commands=command)) == []


@pytest.mark.parametrize("path", ["README.md", "pkg/__init__.py", "tests/test_a.py", "conftest.py"])
def test_what_is_found_by_its_place_needs_no_mention(path: str) -> None:
    assert unused(creating(1, path)) == []
