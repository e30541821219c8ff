"""What asserts a requirement: a test that the plan brings, a command by itself, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from planner.rules.coverage import assertions_of
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import Asserted, WorkOrder
from tests.planner.plans import order

CODE = "python -c \"from score import score; assert score('a') == 1\""
RUN = "python -m pytest -q tests/test_score.py"


def covering(*commands: str, tests: tuple[str, ...] = (), **fields: Any) -> WorkOrder:
    files = [
        {"path": f"tests/test_score{number or ''}.py", "content": text}
        for number, text in enumerate(tests)
    ]
    more = {"covers": ["R1", "R-2"], "acceptance_files": files, **fields}
    return parse_document(WorkOrder, order(acceptance_commands=[*commands], **more))


def asserted_by(order: WorkOrder, requirement: str, *earlier: WorkOrder) -> Asserted:
    texts = {file.path: file.content for each in earlier for file in each.acceptance_files}
    return assertions_of(order, texts)[requirement]


TEST = "def test_score():\n    assert score('a') == 1\n"


def test_a_test_of_the_plan_that_a_command_runs_asserts() -> None:
    assert asserted_by(covering(RUN, tests=(TEST,)), "R1") is Asserted.TEST
    assert asserted_by(covering(CODE, tests=(TEST,)), "R1") is Asserted.COMMAND


def test_tests_that_the_executor_writes_assert_nothing() -> None:
    assert asserted_by(covering(RUN), "R1") is Asserted.NOTHING
    assert asserted_by(covering("pytest -q"), "R1") is Asserted.NOTHING


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (CODE, Asserted.COMMAND),
        ("grep -q hello hello.txt", Asserted.COMMAND),
        ("diff wanted.txt out.txt", Asserted.COMMAND),
        ("bash -c 'test $(cat x) = 1'", Asserted.COMMAND),
        ("python -c 'import score'", Asserted.NOTHING),
        ("test -f score.py", Asserted.NOTHING),
        ("python score.py", Asserted.NOTHING),
        ("python -m compileall -q .", Asserted.NOTHING),
        ("cargo build", Asserted.NOTHING),
        ("npm test", Asserted.NOTHING),
        ("grep -q a b | cat", Asserted.NOTHING),
        ("'", Asserted.NOTHING),
    ],
)
def test_a_command_asserts_where_it_compares_something(command: str, wanted: Asserted) -> None:
    assert asserted_by(covering(command), "R1") is wanted


def test_a_test_that_names_requirements_asserts_these_alone() -> None:
    named = covering(RUN, CODE, tests=(f"R1 = 'R1'\n{TEST}",))
    assert asserted_by(named, "R1") is Asserted.TEST
    assert asserted_by(named, "R-2") is Asserted.NOTHING
    by_function = covering(RUN, tests=("def test_r_2_score():\n    assert score('a') == 1\n",))
    assert asserted_by(by_function, "R-2") is Asserted.TEST
    assert asserted_by(by_function, "R1") is Asserted.NOTHING
    longer = covering(RUN, tests=(f"R11 = 1\n{TEST}",))
    assert asserted_by(longer, "R1") is Asserted.TEST, "another id is no id of the order"


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("tests/test_score.py", "# R1: standard library only\n" + TEST, Asserted.COMMENT),
        ("tests/test_score.py", TEST.replace("== 1", "== 1  # R1"), Asserted.COMMENT),
        ("tests/test_score.py", TEST.replace("score()", "r1()", 1), Asserted.TEST),
        ("tests/score.test.js", "// R1\ntest('score', () => {});\n", Asserted.COMMENT),
        ("tests/score.test.js", "/* R1\n * and ** more */\ntest('s', f);\n", Asserted.COMMENT),
        ("tests/score.test.js", "test('R1: see http://a.b', () => {});\n", Asserted.TEST),
    ],
)
def test_a_comment_mentions_a_requirement_and_asserts_nothing(
    path: str, text: str, wanted: Asserted
) -> None:
    run = RUN if path.endswith(".py") else f"node --test {path}"
    made = covering(run, acceptance_files=[{"path": path, "content": text}])
    assert asserted_by(made, "R1") is wanted
    assert asserted_by(made, "R-2") is Asserted.NOTHING


def test_a_test_of_an_earlier_order_that_is_run_again_asserts() -> None:
    first = covering(RUN, tests=(TEST,))
    assert asserted_by(covering(RUN), "R1", first) is Asserted.TEST


def test_the_strongest_assertion_comes_first() -> None:
    assert list(Asserted) == [
        *(Asserted.TEST, Asserted.COMMAND, Asserted.COMMENT, Asserted.NOTHING)
    ]
