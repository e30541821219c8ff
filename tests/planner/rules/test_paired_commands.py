from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from planner.rules.rule_model import Finding
from shared.languages.python.type_checker import TypeChecker
from tests.planner import everyday_commands
from tests.planner.paired_commands import CONTRACTS, PAIRS, RIGHT, SOURCES
from tests.planner.plans import creating, order, plan
from tests.planner.rules.test_contract_rules import PART, by_command, python
from tests.warm_checker import tools_with

TYPE_CODES = ("E211", "E212", "E213", "E214", "E217", "E299")
# Wrong as they are, nothing that the checker says of them is certain.
WARNED = {
    # The type of a bound method says nothing of who declared it.
    "from shop.stock import Stock; f = Stock().count; assert f(1) == 0",
    # mypy writes no type for an overloaded function.
    "from shop.hidden import double; assert double(double)",
    # mypy does not say what the star stands before.
    "from shop.stock import item; assert [*item('a')]",
}


def errors_of(
    commands: Sequence[str],
    checker: TypeChecker,
    contracts: Mapping[str, str] = CONTRACTS,
) -> Mapping[int, list[Finding]]:
    """Return the errors about types, by the place of their command."""
    interfaces = [{"path": path, "stub": stub} for path, stub in contracts.items()]
    parts = [commands[start : start + PART] for start in range(0, len(commands), PART)]
    document = plan(
        creating(1, *contracts, interfaces=interfaces),
        *(
            order(number, acceptance_commands=[python(each) for each in part])
            for number, part in enumerate(parts, 2)
        ),
    )
    report = judge(parse_plan(document), SOURCES, SOURCES, tools=tools_with(checker))
    return by_command([each for each in report.findings if each.code in TYPE_CODES])


def test_there_are_enough_of_them_and_all_compile() -> None:
    pairs = [each for found in PAIRS.values() for each in found]
    assert len(pairs) >= 60
    assert len(RIGHT) >= 60
    for code in (*(code for pair in pairs for code in pair), *RIGHT):
        compile(code, "<paired>", "exec")


@pytest.mark.rest
@pytest.mark.parametrize("kind", PAIRS)
def test_a_wrong_command_has_an_error_and_its_neighbour_none(
    checker: TypeChecker, kind: str
) -> None:
    wrong, right = zip(*PAIRS[kind], strict=True)
    caught = errors_of(wrong, checker)
    missed = {code for index, code in enumerate(wrong) if not caught.get(index)}
    assert missed == WARNED & set(wrong)
    alarms = errors_of(right, checker)
    assert {right[index]: alarms[index] for index in alarms} == {}


@pytest.mark.rest
def test_what_a_command_stores_or_asks_itself_is_no_error(checker: TypeChecker) -> None:
    alarms = errors_of(RIGHT, checker)
    assert {RIGHT[index]: alarms[index] for index in alarms} == {}


@pytest.mark.rest
def test_nearly_all_everyday_mistakes_are_errors(checker: TypeChecker) -> None:
    caught = errors_of(everyday_commands.WRONG, checker, everyday_commands.CONTRACTS)
    assert len(caught) >= 0.95 * len(everyday_commands.WRONG)


@pytest.mark.rest
def test_no_everyday_command_that_is_right_has_an_error(checker: TypeChecker) -> None:
    alarms = errors_of(everyday_commands.RIGHT, checker, everyday_commands.CONTRACTS)
    assert {everyday_commands.RIGHT[index]: alarms[index] for index in alarms} == {}


def test_a_call_with_too_few_arguments_is_one_fault(checker: TypeChecker) -> None:
    """Its arguments stand in the wrong places, and so are of wrong types."""
    found = errors_of(["from shop.shadows import sum; assert sum([1, 2]) == 3"], checker)
    assert [each.code for each in found[0]] == ["E212"]


OVERLOADED = """
from typing import overload
@overload
def f(value: int) -> int: ...
@overload
def f(value: str) -> str: ...
"""


@pytest.mark.parametrize(
    ("before", "after", "use"),
    [
        (OVERLOADED, "def f(value: bytes) -> bytes: ...", "assert f(b'a').decode()"),
        ("def f(value: bytes) -> bytes: ...", OVERLOADED, "assert f('a').upper() and f(1) + 1"),
        (OVERLOADED, OVERLOADED.replace("int", "float"), "assert f(1.5).is_integer()"),
    ],
)
def test_an_overloaded_function_may_be_declared_anew(
    checker: TypeChecker, before: str, after: str, use: str
) -> None:
    def declaring(number: int, stub: str, **more: object) -> dict[str, object]:
        interfaces = [{"path": "m.py", "stub": stub}]
        return creating(number, "m.py", interfaces=interfaces, **more)

    commands = [python(f"from m import f; {use}")]
    document = plan(
        declaring(1, before),
        declaring(2, after, changes=["f"]),
        order(3, acceptance_commands=commands),
    )
    report = judge(parse_plan(document), tools=tools_with(checker))
    assert [each for each in report.findings if each.code in TYPE_CODES] == []
