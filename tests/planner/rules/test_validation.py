from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.plan.file_projection import exempted_orders
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import skip_bootstrap
from planner.rules.judge_plan import RULE_BY_CODE, Report, judge
from shared.files.strict_documents import JsonValue
from shared.languages.python.type_checker import TypeChecker
from shared.work_order.work_order import WorkOrder
from tests.planner.planning import judge_text
from tests.planner.plans import absent, exists, order, plan, requiring
from tests.warm_checker import tools_with

FAULTY = plan(
    order(1, preconditions=exists("b.py"), acceptance_commands=["a | b", "python x.py"]),
    order(3, preconditions=exists("a.py") + absent("a.py"), allowed_files=["src/*"]),
    verify_contract=requiring("v.sh"),
)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["WO-01", "WO-02", "a.py", "../a", "*", "file_exists", "file_absent", "a\0"])
    | st.sampled_from(["python -c 'import a'", 'python -c "', "python -m", "bash -c 'a;b'"])
    | st.sampled_from(["python -c 'from a import f; f(1).x'", "python -c 'import b; C(b.x)'"])
    | st.sampled_from(["env", "env -u", "env -u A", "bash -o", "bash -c", "python -W", "python --"])
)
ORDER_KEYS = [*WorkOrder.model_fields, "kind", "path"]
KEYS = st.sampled_from([*ORDER_KEYS, "work_orders", "verify_contract", "requires", "x"])
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=8),
    max_leaves=30,
)
STUBS = st.sampled_from(
    [
        "",
        "x: int",
        "def f(a: int) -> str: ...",
        "class C(Base):\n    def m(self) -> 'C': ...",
        "def f(",
        "from b import *",
        "```\nx: Missing\n```",
        "f = g = 1; a, *b = 2",
        "x: '" + "[" * 70,
        "\0",
    ]
)
INTERFACES = st.lists(
    st.fixed_dictionaries({"path": st.sampled_from(["a.py", "b.pyi", "../a", "*", "types.py"]),
                           "stub": STUBS | SCALARS}),
    max_size=3,
)  # fmt: skip
LIKE_AN_ORDER = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["WO-01", "WO-02", "WO-03", "WO-1", ""]) | SCALARS,
        "title": SCALARS,
        "intent": SCALARS,
        "allowed_files": st.lists(SCALARS, max_size=3) | SCALARS,
        "acceptance_commands": st.lists(SCALARS, max_size=3) | SCALARS,
        "preconditions": ANYTHING,
        "postconditions": st.lists(
            st.fixed_dictionaries({"kind": st.just("file_exists"), "path": SCALARS}), max_size=3
        ),
        "depends_on": ANYTHING,
        "interfaces": INTERFACES | ANYTHING,
        "changes": st.lists(SCALARS, max_size=2) | ANYTHING,
    },
)
LIKE_A_PLAN = st.fixed_dictionaries(
    {"work_orders": st.lists(LIKE_AN_ORDER | ANYTHING, max_size=4)},
    optional={"verify_contract": ANYTHING | st.fixed_dictionaries({"requires": ANYTHING})},
)


def faulty() -> Report:
    return judge(parse_plan(FAULTY))


def test_findings_are_sorted_by_order_then_code_then_field() -> None:
    assert faulty().render() == (
        '[E106] plan verify_contract.requires[0]: "v.sh" does not exist, not even after the last '
        "order",
        "[E003] WO-01 acceptance_commands[0]: `|` outside quotes is a shell operator; no shell "
        "reads it",
        '[E101] WO-01 preconditions[0]: "b.py" must exist, but neither the repo nor an earlier '
        "order has it",
        '[E241] WO-01 acceptance_commands[1]: runs "x.py", which does not exist by then',
        "[E001] WO-03 id: WO-02 is missing before WO-03",
        '[E004] WO-03 allowed_files[0]: "src/*" has `*`: paths are taken literally',
        '[E102] WO-03 preconditions[1]: "a.py" cannot both exist and be absent',
    )


def test_fields_are_sorted_by_number() -> None:
    commands = ["a | b"] * 12
    fields = [
        each.field for each in judge(parse_plan(plan(order(acceptance_commands=commands)))).findings
    ]
    assert fields == [f"acceptance_commands[{index}]" for index in range(12)]


def test_the_report_as_json_counts_and_carries_the_remedies() -> None:
    document = faulty().to_json()
    assert (document["ok"], document["errors"], document["warnings"]) == (False, 7, 0)
    assert document["findings"][0] == {
        "code": "E106",
        "severity": "error",
        "work_order": None,
        "field": "verify_contract.requires[0]",
        "message": '"v.sh" does not exist, not even after the last order',
        "remedy": RULE_BY_CODE["E106"].remedy,
    }
    assert {each["severity"] for each in document["findings"]} == {"error"}
    assert json.loads(json.dumps(document)) == document


def test_warnings_alone_do_not_stop_a_plan() -> None:
    report = judge(parse_plan(plan(order(acceptance_commands=["python -c 'import x'"]))))
    assert report.ok
    assert [each.code for each in report.warnings] == ["W101", "W230"]


# The checker is one for the whole session, and so it may be one for all examples.
@pytest.mark.rest
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(document=LIKE_A_PLAN | ANYTHING, has_script=st.booleans())
def test_whatever_a_model_writes_is_judged_without_an_error(
    document: JsonValue, has_script: bool, checker: TypeChecker
) -> None:
    repo = ["scripts/verify.sh", "a.py"] if has_script else []
    subject = skip_bootstrap(parse_plan(document), repo)
    report = judge(subject, repo, tools=tools_with(checker))
    exempted_orders(subject, repo)
    json.dumps(report.to_json())
    assert all(RULE_BY_CODE[each.code].severity == each.severity for each in report.findings)
    assert judge(subject, set(repo), tools=tools_with(checker)) == report
    if report.ok:
        assert subject.drafts
        assert all(draft.order for draft in subject.drafts)


def test_keys_in_another_order_give_the_same_report() -> None:
    shuffled = json.loads(json.dumps(FAULTY))
    for each in shuffled["work_orders"]:
        items = list(each.items())
        random.Random(7).shuffle(items)
        each.clear()
        each.update(items)
    assert judge(parse_plan(shuffled)) == faulty()


def hostile(entry: str, count: int = 100) -> str:
    return '{"work_orders": [' + ",".join([entry] * count) + "]}"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (hostile("{}", 20_000), "has 20000 entries"),
        (hostile('{"preconditions": [' + ",".join(["{}"] * 500) + "]}"), "over 500 places"),
        (hostile('{"allowed_files": [' + ",".join(["0"] * 20_000) + "]}", 1), "has 20000"),
        (hostile('{"acceptance_commands": [' + ",".join(['"a|b"'] * 400) + "]}"), "shell operator"),
        (hostile('{"x": {' + ",".join(f'"{n}": 0' for n in range(900)) + "}}"), "is missing"),
    ],
    ids=["orders", "faults", "list", "commands", "keys"],
)
def test_megabytes_of_nonsense_give_a_report_of_bounded_size(text: str, first: str) -> None:
    _, report = judge_text(text)
    assert first in report.findings[0].message
    assert len(report.findings) <= 5000
