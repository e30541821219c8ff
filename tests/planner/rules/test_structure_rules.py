from __future__ import annotations

from typing import Any

import pytest

from shared.work_order.work_order import order_id
from tests.planner.plans import creating, exists, findings, messages, order, plan, requiring


def with_ids(*ids: object) -> list[str]:
    """Return what is found in a plan whose orders have these ids; None stands for no id."""
    orders = [order(id=each) for each in ids]
    for each in orders:
        if each["id"] is None:
            del each["id"]
    return findings(plan(*orders))


# E000


def test_a_small_plan_has_no_findings() -> None:
    assert findings(plan(order(1), order(2))) == []


@pytest.mark.parametrize("document", [None, 3, "plan", [], [order()], True])
def test_what_is_no_object_is_no_plan(document: object) -> None:
    assert findings(document) == ["E000 plan"]


@pytest.mark.parametrize("orders", [None, {}, "WO-01", 7, []])
def test_work_orders_is_a_list_with_something_in_it(orders: object) -> None:
    assert findings({"work_orders": orders}) == ["E000 plan work_orders"]


def test_work_orders_must_be_there() -> None:
    assert findings({}) == ["E000 plan work_orders"]


@pytest.mark.parametrize("entry", [None, 1, "WO-01", []])
def test_an_element_that_is_no_object_is_one_finding_and_the_rest_is_judged(entry: object) -> None:
    document = plan(order(1), entry, order(3, acceptance_commands=["a | b"]))
    assert findings(document) == ["E000 #2", "E003 WO-03 acceptance_commands[0]"]


@pytest.mark.parametrize("contract", [3, "bash scripts/verify.sh", [], True])
def test_a_verify_contract_is_null_or_an_object(contract: object) -> None:
    assert findings(plan(order(), verify_contract=contract)) == ["E000 plan verify_contract"]


@pytest.mark.parametrize("contract", [None, {}, {"command": "x"}, {"requires": []}])
def test_a_verify_contract_may_require_nothing(contract: object) -> None:
    assert findings(plan(order(), verify_contract=contract)) == []


@pytest.mark.parametrize(
    ("requires", "field"),
    [
        (None, "requires"),
        ("a.py", "requires"),
        (["a.py"], "requires[0]"),
        ([{"kind": "file_exists"}], "requires[0].path"),
        ([{"kind": "exists", "path": "a.py"}], "requires[0].kind"),
        ([{"kind": "file_exists", "path": "../a.py"}], "requires[0].path"),
    ],
)
def test_malformed_requirements_are_a_fault_of_the_document(requires: object, field: str) -> None:
    document = plan(order(), verify_contract={"requires": requires})
    assert findings(document) == [f"E000 plan verify_contract.{field}"]


@pytest.mark.parametrize("value", [None, 3, "x", [], {}])
def test_schema_version_and_provenance_are_not_judged_in_a_plan(value: object) -> None:
    document = plan(order(), schema_version=value, provenance=value, system_overview=value)
    assert findings(document) == []


# E001


def test_ids_count_on_past_ninety_nine() -> None:
    assert with_ids(*(order_id(number) for number in range(1, 104))) == []


@pytest.mark.parametrize(
    "wrong",
    ["WO-1", "WO-001", "wo-01", "WO01", "01", "", "WO-01 ", " WO-01", "WO-\u0661\u0662", "WO-1e1"],
)
def test_an_id_of_the_wrong_form_is_one_finding(wrong: str) -> None:
    assert with_ids("WO-01", wrong, "WO-03") == ["E001 #2 id"]
    assert with_ids("WO-01", wrong, "WO-02") == ["E001 #2 id"]


def test_an_id_that_is_missing_or_no_string_is_for_the_schema_alone() -> None:
    assert with_ids("WO-01", None, "WO-03") == ["E005 #2 id"]
    assert with_ids("WO-01", 2, "WO-03") == ["E005 #2 id"]


@pytest.mark.parametrize(
    ("ids", "culprit"),
    [
        (("WO-01", "WO-01", "WO-02"), "WO-01"),  # a duplicate put in between
        (("WO-01", "WO-02", "WO-02", "WO-04"), "WO-02"),  # a duplicate in another's place
        (("WO-01", "WO-02", "WO-05", "WO-06"), "WO-05"),  # a gap
        (("WO-01", "WO-03", "WO-02", "WO-04"), "WO-03"),  # two in the wrong order
        (("WO-03", "WO-02", "WO-01"), "WO-03"),
        (("WO-02", "WO-03", "WO-04"), "WO-02"),
        (("WO-00", "WO-01", "WO-02"), "WO-00"),
        (("WO-00", "WO-02"), "WO-00"),
        (("WO-99", "WO-100", "WO-101"), "WO-99"),
        (("WO-999999999", "WO-01"), "WO-999999999"),
    ],
)
def test_one_fault_in_the_numbering_is_one_finding(ids: tuple[str, ...], culprit: str) -> None:
    assert with_ids(*ids) == [f"E001 {culprit} id"]


def test_two_gaps_are_two_findings() -> None:
    assert with_ids("WO-01", "WO-03", "WO-04", "WO-06") == ["E001 WO-03 id", "E001 WO-06 id"]


def test_a_late_order_is_found_where_no_gap_announced_it() -> None:
    assert with_ids("WO-01", "WO-x", "WO-03", "WO-02") == ["E001 #2 id", "E001 WO-02 id"]


def test_an_id_of_a_million_digits_is_only_wrong() -> None:
    assert with_ids("WO-" + "1" * 1_000_000) == ["E001 #1 id"]


# E004


@pytest.mark.parametrize("path", ["src/*.py", "a?.py", "[ab].py", "/abs/*", "../*", "a\\*"])
def test_a_path_with_glob_characters_has_that_one_finding(path: str) -> None:
    assert findings(plan(order(allowed_files=[path]))) == ["E004 WO-01 allowed_files[0]"]


def test_a_glob_path_is_one_finding_however_often_it_stands() -> None:
    everywhere = creating(1, "src/*.py", preconditions=exists("src/*.py"))
    assert findings(plan(everywhere | {"context_files": ["src/*.py"]})) == [
        "E004 WO-01 preconditions[0].path"
    ]


def test_each_glob_path_has_its_own_finding() -> None:
    document = plan(order(allowed_files=["*.py", "?.md"], context_files=["ok.py", "[a]"]))
    assert findings(document, ["ok.py"]) == [
        "E004 WO-01 allowed_files[0]",
        "E004 WO-01 allowed_files[1]",
        "E004 WO-01 context_files[1]",
    ]


def test_a_glob_is_found_beside_a_schema_problem_elsewhere() -> None:
    document = plan(order(title=3, allowed_files=["*.py"]))
    assert findings(document) == ["E004 WO-01 allowed_files[0]", "E005 WO-01 title"]


def test_a_glob_keeps_the_chain_quiet_about_the_files_it_may_have_meant() -> None:
    document = plan(
        order(1, allowed_files=["src/*.py"], postconditions=exists("src/a.py", "docs/b.md")),
        order(2, preconditions=exists("src/a.py")),
    )
    assert findings(document) == ["E004 WO-01 allowed_files[0]", "E103 WO-01 postconditions[1]"]


def test_a_glob_in_a_promise_keeps_later_preconditions_quiet() -> None:
    document = plan(
        creating(1, "src/*.py"),
        order(2, preconditions=exists("src/a.py", "docs/b.md")),
    )
    assert findings(document) == [
        "E004 WO-01 postconditions[0].path",
        "E101 WO-02 preconditions[1]",
    ]


def test_a_glob_in_the_verify_contract_is_found_and_not_also_unmet() -> None:
    document = plan(order(), verify_contract=requiring("tests/*.py"))
    assert findings(document) == ["E004 plan verify_contract.requires[0].path"]


# E005


def test_every_field_at_fault_has_one_finding() -> None:
    document = plan(
        order(title=None, allowed_files=["a.py", "/b.py", 3], verify_exempt="yes", notes=1)
    )
    assert findings(document) == [
        "E005 WO-01 allowed_files[1]",
        "E005 WO-01 allowed_files[2]",
        "E005 WO-01 notes",
        "E005 WO-01 title",
        "E005 WO-01 verify_exempt",
    ]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"acceptance_commands": []}, "acceptance_commands"),
        ({"acceptance_commands": "pytest"}, "acceptance_commands"),
        ({"acceptance_commands": [7]}, "acceptance_commands[0]"),
        ({"context_files": ["a.py"] * 11}, "context_files"),
        ({"postconditions": [{"kind": "file_absent", "path": "a"}]}, "postconditions[0].kind"),
        ({"preconditions": [{"kind": "file_exists"}]}, "preconditions[0].path"),
        ({"preconditions": {}}, "preconditions"),
        ({"forbidden": [1]}, "forbidden[0]"),
        ({"intent": ["x"]}, "intent"),
        ({"allowed_files": ["src/"]}, "allowed_files[0]"),
        ({"allowed_files": [""]}, "allowed_files[0]"),
        ({"context_files": ["a\\b"]}, "context_files[0]"),
        ({"context_files": ["C:x"]}, "context_files[0]"),
        ({"context_files": ["a\x7f"]}, "context_files[0]"),
        ({"provenance": 3}, "provenance"),
    ],
)
def test_what_does_not_fit_the_schema_names_its_field(fields: dict[str, Any], field: str) -> None:
    assert findings(plan(order(**fields))) == [f"E005 WO-01 {field}"]


def test_an_order_that_may_write_nothing_does_not_fit_the_schema() -> None:
    assert findings(plan(order(allowed_files=[]))) == ["E005 WO-01 allowed_files"]


@pytest.mark.parametrize(
    "missing",
    ["title", "intent", "allowed_files", "forbidden", "context_files", "acceptance_commands"],
)
def test_a_missing_field_is_one_finding(missing: str) -> None:
    document = order()
    del document[missing]
    assert findings(plan(document)) == [f"E005 WO-01 {missing}"]


def test_paths_that_only_need_normalising_pass_and_are_compared_normalised() -> None:
    document = plan(
        order(1, allowed_files=["./a.py"], postconditions=exists("src/../a.py")),
        order(2, preconditions=exists("x/..//a.py")),
        verify_contract=requiring("./a.py"),
    )
    assert findings(document) == []


def test_a_message_says_what_is_wrong_and_where() -> None:
    assert messages(plan(order(allowed_files=["../a"], intent=7))) == [
        '"../a" leads outside the repo by `..`',
        "must be a string, not a number",
    ]


# W102


def test_unknown_keys_are_named_where_they_stand_and_dropped() -> None:
    document = plan(
        order(1, acceptance_command=["x"], preconditions=[{**exists("a")[0], "why": "it"}]),
        verify_contract={"requires": [{**exists("a")[0], "x": 1}], "commands": []},
        orders=3,
    )
    assert findings(document, repo=["a"]) == [
        "W102 plan orders",
        "W102 plan verify_contract.commands",
        "W102 plan verify_contract.requires[0].x",
        "W102 WO-01 acceptance_command",
        "W102 WO-01 preconditions[0].why",
    ]


def test_the_keys_of_a_manifest_are_known() -> None:
    document = plan(
        order(1, depends_on=[], notes=None, forbidden=[], context_files=[], verify_exempt=True),
        schema_version="1.0",
        provenance=None,
        system_overview=["x"],
    )
    assert findings(document) == []
