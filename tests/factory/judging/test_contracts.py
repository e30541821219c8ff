"""Contracts in the factory: what is written keeps what is declared, told before any code runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from factory.orders.documents import Offer, ReplyFormat, RunSummary
from factory.orders.stages import Stage
from factory.proposal.prompt import render_prompt
from shared.events.events import CommandStarted, Event, StageStarted, Warned
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import Interface, WorkOrder
from tests.fakes import proposal
from tests.harness import Factory, Json, commit_all, manifest, stages, write_plan, writing

STUB = (
    "def add(a: int, b: int) -> int: ...\nclass Game:\n    def play(self, word: str) -> str: ...\n"
)
RIGHT = (
    "def add(a: int, b: int) -> int:\n    return a + b\n\n\n"
    "class Game:\n    def play(self, word: str) -> str:\n        return word.upper()\n"
)
LONG = "\n".join(f"def f{n}(a, b):\n    return a * b + {n}\n" for n in range(10))


def declaring(stub: str = STUB, **changes: Any) -> Json:
    """Return an order that has `calc.py` written, by its interface."""
    return writing("calc.py", interfaces=[{"path": "calc.py", "stub": stub}], **changes)


def code(text: str) -> Any:
    return proposal({"calc.py": text})


def said(summary: RunSummary, attempt: int = 1) -> str:
    brief = summary.attempt_records[attempt - 1].failure_brief
    assert brief is not None
    return brief.primary_error_excerpt


def test_code_that_keeps_its_interface_lands(factory: Factory) -> None:
    summary = factory.run(declaring(), [code(RIGHT)])
    assert stages(summary) == [""]
    result = factory.record("attempt_1/contract_result.json")
    assert result == {"kept": True, "violations": [], "unjudged": ""}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            RIGHT.replace("def add(a: int, b: int)", "def plus(a: int, b: int)"),
            "calc.py: `def add(a: int, b: int) -> int` is declared and missing",
        ),
        (
            RIGHT.replace("add(a: int, b: int)", "add(a: int)").replace("a + b", "a"),
            "calc.py: `add` is declared as `def add(a: int, b: int) -> int` "
            "and written as `def add(a: int) -> int`",
        ),
        (
            RIGHT.replace("return word.upper()", "return {'word': word}"),
            "calc.py: `Game.play` is declared as `def play(self, word: str) -> str` and returns "
            "`dict[str, str]`",
        ),
        (RIGHT.replace("class Game:", "class Game"), "calc.py: does not parse: "),
    ],
    ids=["renamed", "a parameter short", "a dict for a str", "no Python"],
)
def test_code_that_breaks_its_interface_is_told_how_and_mended(
    factory: Factory, wrong: str, told: str
) -> None:
    summary = factory.run(declaring(), [code(wrong), code(wrong), code(RIGHT)])
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    assert said(summary).startswith(told)
    assert said(summary) in factory.prompt(2)
    assert "Keep every declared name and signature" in factory.prompt(2)


def test_no_command_runs_on_what_violates_its_contract(factory: Factory) -> None:
    summary = factory.run(
        declaring(acceptance_commands=["test -f calc.py"]),
        [code(f"x = {n}\n") for n in (1, 1, 2, 2)],
        max_attempts=2,
    )
    assert stages(summary) == [Stage.CONTRACT_VIOLATED] * 2
    assert {each.order for each in factory.seen(CommandStarted)} == {"base"}
    begun = [each.stage for each in factory.seen(StageStarted)]
    assert begun == ["propose", "apply", "contract"] * 2


def test_a_violated_contract_is_on_record_with_file_and_name(factory: Factory) -> None:
    factory.run(declaring(), [code(RIGHT.replace("play", "start")), code(RIGHT)])
    (violation,) = factory.record("attempt_1/contract_result.json")["violations"]
    assert (violation["path"], violation["name"]) == ("calc.py", "Game.play")


def test_a_declared_file_has_to_be_written(factory: Factory) -> None:
    document = declaring(allowed_files=["calc.py", "other.py"])
    first = proposal({"other.py": "x = 1\n"})
    summary = factory.run(document, [first, first, code(RIGHT)])
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    assert said(summary) == "calc.py: is declared but was not written"


def test_what_own_files_return_is_looked_up_in_them(factory: Factory) -> None:
    commit_all(factory.repo, {"base.py": "def word() -> str:\n    return ''\n"})
    wrong = "import base\n\n\ndef first():\n    return base.word()\n"
    right = wrong.replace("base.word()", "len(base.word())")
    summary = factory.run(declaring("def first() -> int: ...\n"), [code(wrong), code(right)])
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    assert said(summary) == "calc.py: `first` is declared as `def first() -> int` and returns `str`"


# Rewrites of what is there


def test_a_public_name_that_is_dropped_unasked_is_refused(factory: Factory) -> None:
    commit_all(factory.repo, {"calc.py": "def add(a, b):\n    return a + b\n\n\nLIMIT = 3\n"})
    rest = "def add(a, b):\n    return a + b\n"
    summary = factory.run(writing("calc.py"), [code(rest), code(rest + "\n\nLIMIT = 4\n")])
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    assert said(summary) == "calc.py: `LIMIT` is gone, and no interface says so"


def test_a_name_that_the_order_says_it_changes_may_go(factory: Factory) -> None:
    commit_all(factory.repo, {"calc.py": "def add(a, b):\n    return a + b\n\n\nLIMIT = 3\n"})
    document = writing("calc.py", changes=["LIMIT"])
    summary = factory.run(document, [code("def add(a, b):\n    return a + b\n")])
    assert stages(summary) == [""]


@pytest.mark.parametrize("path", ["calc.py", "notes.txt"])
def test_a_file_that_loses_more_than_half_of_itself_is_refused(factory: Factory, path: str) -> None:
    commit_all(factory.repo, {path: LONG})
    some = "".join(LONG.splitlines(keepends=True)[:9])
    summary = factory.run(
        writing(path), [proposal({path: some}), proposal({path: LONG + "# more\n"})]
    )
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    assert f"{path}: shrinks to " in said(summary)


# Interfaces of the orders before


def chain(second: Json) -> Json:
    return manifest([declaring(), second])


def test_what_an_earlier_order_declared_still_binds(factory: Factory) -> None:
    document = chain(writing("calc.py", 2))
    wrong = RIGHT.replace("(a: int, b: int)", "(a: int, b: int, c: int)")
    replies = {"WO-01": [code(RIGHT)], "WO-02": [code(wrong), code(RIGHT + "\n\nLIMIT = 3\n")]}
    summary = factory.run_all(document, replies)
    assert summary.verdict == "PASS"
    assert stages(summary.orders[1]) == [Stage.CONTRACT_VIOLATED, ""]
    assert "`add` is declared as `def add(a: int, b: int) -> int`" in said(summary.orders[1])


def test_what_an_order_declares_anew_on_purpose_binds_from_then_on(factory: Factory) -> None:
    stub = "def add(a: int, b: int, c: int) -> int: ...\n"
    interfaces = [{"path": "calc.py", "stub": stub}]
    document = chain(writing("calc.py", 2, interfaces=interfaces, changes=["add"]))
    changed = RIGHT.replace("(a: int, b: int)", "(a: int, b: int, c: int)")
    summary = factory.run_all(document, {"WO-01": [code(RIGHT)], "WO-02": [code(changed)]})
    assert [stages(each) for each in summary.orders] == [[""], [""]]


def test_a_single_order_is_bound_by_the_orders_before_it_in_its_plan(factory: Factory) -> None:
    commit_all(factory.repo, {"calc.py": RIGHT})
    folder = write_plan(factory.scratch / "plan", chain(writing("calc.py", 2)))
    wrong = RIGHT.replace("def add(a: int, b: int)", "def add(a: int, b: int, c: int)")
    summary = factory.run(folder / "WO-02.json", [code(wrong), code(RIGHT + "\nLIMIT = 3\n")])
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]


# What the model is told of them


def test_the_prompt_has_an_orders_own_interfaces_word_for_word(factory: Factory) -> None:
    odd = "def add( a:int,b : int )->int : ...   # as it was planned\n"
    factory.run(declaring(odd), [code(RIGHT)])
    assert f"calc.py has to define, exactly so:\n\n```python\n{odd}```\n" in factory.prompt()


@pytest.mark.parametrize("need", ["preconditions", "depends_on"])
def test_the_prompt_has_the_interfaces_that_an_order_depends_on(
    factory: Factory, need: str
) -> None:
    needs = {
        "preconditions": [{"kind": "file_exists", "path": "calc.py"}],
        "depends_on": ["WO-01"],
    }
    document = chain(writing("user.py", 2, **{need: needs[need]}))
    last = [proposal({"user.py": "x = 1\n"})]
    assert factory.run_all(document, {"WO-01": [code(RIGHT)], "WO-02": last}).verdict == "PASS"
    told = f"calc.py is there, and you can rely on it:\n\n```python\n{STUB}```"
    assert told in factory.prompt(1)


def test_the_interface_of_a_file_that_is_shown_whole_is_not_shown_beside_it(
    factory: Factory,
) -> None:
    document = chain(writing("user.py", 2, context_files=["calc.py"]))
    last = [proposal({"user.py": "x = 1\n"})]
    factory.run_all(document, {"WO-01": [code(RIGHT)], "WO-02": last})
    assert RIGHT in factory.prompt(1)
    assert "## Interface of" not in factory.prompt(1)


def test_an_interface_without_a_name_has_no_block(factory: Factory) -> None:
    factory.run(declaring(" \n"), [code(RIGHT)])
    assert "nterface" not in factory.prompt()


@pytest.mark.parametrize(
    ("changes", "heading"),
    [
        ([], "calc.py is there. It keeps these names:"),
        (["add"], "calc.py is there. But for add, it keeps these names:"),
    ],
)
def test_the_prompt_says_which_names_of_a_file_have_to_stay(
    factory: Factory, changes: list[str], heading: str
) -> None:
    second = writing("calc.py", 2, context_files=["calc.py"], changes=changes)
    replies = {"WO-01": [code(RIGHT)], "WO-02": [code(RIGHT + "\nLIMIT = 3\n")]}
    factory.run_all(chain(second), replies)
    assert f"{heading}\n\n```python\n{STUB}```" in factory.prompt(1)


def test_the_long_prompt_has_interfaces_under_headings() -> None:
    names = {"changes": ["add"], "allowed_files": ["calc.py", "more.py"]}
    own = [{"path": "more.py", "stub": "LIMIT: int\n"}]
    order = parse_document(WorkOrder, writing("calc.py", 2, interfaces=own, **names))
    known = (Interface(path="calc.py", stub=STUB), Interface(path="user.py", stub="x: int\n"))
    prompt = render_prompt(order, (), (), Offer(ReplyFormat.JSON), known=known)
    for heading, path, stub in (
        ("These names are there already. They have to stay, but for add:", "calc.py", STUB),
        (
            "These interfaces are fixed. Keep every name and signature exactly:",
            "more.py",
            "LIMIT: int\n",
        ),
        ("These are there, and you can rely on them:", "user.py", "x: int\n"),
    ):
        assert f"{heading}\n\n## Interface of {path}\n```\n{stub}```\n" in prompt


def test_the_prompt_has_no_interface_that_nobody_needs(factory: Factory) -> None:
    last = [proposal({"user.py": "x = 1\n"})]
    factory.run_all(chain(writing("user.py", 2)), {"WO-01": [code(RIGHT)], "WO-02": last})
    assert "nterface" not in factory.prompt(1)


def test_what_was_declared_anew_is_told_as_it_holds(factory: Factory) -> None:
    stub = "def add(a: int, b: int, c: int) -> int: ...\n"
    interfaces = [{"path": "calc.py", "stub": stub}]
    second = writing("calc.py", 2, interfaces=interfaces, changes=["add"])
    third = writing("user.py", 3, context_files=["calc.py"])
    changed = RIGHT.replace("(a: int, b: int)", "(a: int, b: int, c: int)")
    replies = {
        "WO-01": [code(RIGHT)],
        "WO-02": [code(changed)],
        "WO-03": [proposal({"user.py": "x = 1\n"})],
    }
    assert factory.run_all(manifest([declaring(), second, third]), replies).verdict == "PASS"
    told = factory.prompt(2)  # shown by the file itself, which is there whole
    assert "def add(a: int, b: int, c: int) -> int:" in told
    assert "def add(a: int, b: int) -> int:" not in told
    assert "class Game:" in told


@pytest.mark.parametrize("jobs", [1, 4])
def test_what_breaks_its_contract_only_behind_another_order_is_told_so(
    factory: Factory, jobs: int
) -> None:
    base = "def make() -> int:\n    return 1\n"
    commit_all(factory.repo, {"base.py": base})
    other = base.replace("int", "str").replace("1", "'1'")
    stub = "def first() -> int: ...\n"
    text = "import base\n\n\ndef first():\n    return base.make()\n"
    mended = text.replace("base.make()", "len(base.make())")
    document = manifest([writing("base.py"), declaring(stub, id="WO-02")])
    replies = {"WO-01": [proposal({"base.py": other})], "WO-02": [code(text), code(mended)]}
    summary = factory.run_all(document, replies, jobs=jobs)
    assert summary.verdict == "PASS"
    assert stages(summary.orders[1]) == [Stage.CONTRACT_VIOLATED, ""]
    assert len(factory.model.requests) == 3
    assert "calc.py: `first` is declared as" in factory.model.requests[-1].prompt


# The checker itself


def checker_processes() -> Iterator[str]:
    """Yield the process ids of the checkers that run here, those of other tests among them."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if "shared/languages/python/checker_worker.py" in line and parent == str(os.getpid()):
            yield folder.name


@pytest.fixture
def own_checkers() -> Callable[[], set[str]]:
    """Return what tells the checkers that were started since."""
    before = set(checker_processes())
    return lambda: set(checker_processes()) - before


def test_without_interfaces_no_checker_is_started(
    factory: Factory, own_checkers: Callable[[], set[str]]
) -> None:
    seen: list[str] = []
    factory.on_event = lambda event: seen.extend(own_checkers())
    assert factory.run(writing("calc.py"), [code(RIGHT)]).verdict == "PASS"
    assert seen == []


def test_one_checker_serves_a_whole_plan_and_ends_with_it(
    factory: Factory, own_checkers: Callable[[], set[str]]
) -> None:
    seen: list[set[str]] = []

    def look(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == "commit":
            seen.append(own_checkers())

    factory.on_event = look
    document = chain(writing("calc.py", 2))
    more = RIGHT + "\n\nLIMIT = 3\n"
    factory.run_all(document, {"WO-01": [code(RIGHT)], "WO-02": [code(more)]})
    assert len(seen[0]) == 1
    assert seen == [seen[0], seen[0]]
    assert own_checkers() == set()


def test_a_checker_that_gives_no_answer_is_told_and_proves_nothing(factory: Factory) -> None:
    commit_all(factory.repo, {"types.py": "X = 1\n"})  # the checker stops at such a name
    stub = "from types import X\ndef add(a: int) -> int: ...\n"
    summary = factory.run(declaring(stub), [code("from types import X\n\n\ndef add(b): ...\n")] * 2)
    assert stages(summary) == [""]
    (warning,) = [each for each in summary.warnings if "interfaces" in each]
    assert "types.py" in warning
    assert any(warning in each.message for each in factory.seen(Warned))
    assert factory.record("attempt_1/contract_result.json")["kept"] is False


def test_code_that_is_nested_too_deep_to_be_judged_is_told_so(factory: Factory) -> None:
    deep = RIGHT + f"\n\nLIMIT = {'+'.join('1' * 900)}\n"
    summary = factory.run(declaring(), [code(deep)])
    assert stages(summary) == [""]
    assert any("calc.py cannot be judged: it is nested too deep" in s for s in summary.warnings)


def test_code_for_another_python_is_left_to_that_one(factory: Factory) -> None:
    tag = sys.implementation.cache_tag
    other = factory.scratch / "python"  # answers as a later version would
    other.write_text(f'#!/bin/sh\n{sys.executable} "$@" | sed s/{tag}/cpython-399/\n')
    other.chmod(0o755)
    newer = "match = defer add(a: int, b: int) -> int: ...\n"
    stub = "def add(a: int, b: int) -> int: ...\n"
    summary = factory.run(declaring(stub), [code(newer)], python=other)
    assert stages(summary) == [""]
    (warning,) = [each for each in summary.warnings if "interfaces" in each]
    assert "calc.py: does not parse" in warning


@pytest.mark.rest
def test_the_same_fault_is_told_in_the_same_words_each_time(factory: Factory) -> None:
    wrong = "class Game:\n    def play(self): ...\n\n\ndef add(a, b, c): ...\n"
    replies = [code(wrong), code(wrong), code(RIGHT)]
    told = {said(factory.run(declaring(), replies, branch=f"b{n}")) for n in range(3)}
    assert len(told) == 1
    assert told.pop().count("\n") == 1
