from __future__ import annotations

from typing import Any

import pytest

from shared.files.strict_documents import at
from shared.work_order.parse_order import DocumentInvalid, glob_paths, parse_document, unknown_keys
from shared.work_order.work_order import Manifest, WorkOrder, order_id, order_number

MINIMAL: dict[str, Any] = {
    "id": "WO-01",
    "title": "The greeting",
    "intent": "Provide greet().",
    "allowed_files": ["hello.py"],
    "forbidden": [],
    "context_files": [],
    "acceptance_commands": ["python hello.py"],
}


def problems(**changed: object) -> list[str]:
    """Return `field: message` for each problem of the minimal order with these fields changed."""
    with pytest.raises(DocumentInvalid) as caught:
        parse_document(WorkOrder, {**MINIMAL, **changed})
    return [f"{each.field}: {each.message}" for each in caught.value.problems]


def order(**changed: object) -> WorkOrder:
    return parse_document(WorkOrder, {**MINIMAL, **changed})


def test_seven_fields_make_an_order() -> None:
    parsed = order()
    assert (parsed.forbidden, parsed.context_files, parsed.preconditions) == ((), (), ())
    assert parsed.notes is None
    assert parsed.verify_exempt is False


@pytest.mark.parametrize("field", MINIMAL)
def test_none_of_the_seven_may_be_missing(field: str) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        parse_document(WorkOrder, {key: each for key, each in MINIMAL.items() if key != field})
    assert [(each.field, each.message) for each in caught.value.problems] == [(field, "is missing")]


def test_an_order_writes_something() -> None:
    empty = "allowed_files: must not be empty, unless the order has removed_files"
    assert problems(allowed_files=[]) == [empty]
    assert problems(allowed_files=[], removed_files=[]) == [empty]
    assert order(allowed_files=[], removed_files=["old.py"]).allowed_files == ()
    assert problems(allowed_files=[], title=7) == ["title: must be a string, not a number", empty]


def test_paths_are_normalised() -> None:
    parsed = order(
        allowed_files=["./a.py"],
        context_files=["src//b.py"],
        preconditions=[{"kind": "file_exists", "path": "x/../a.py"}],
    )
    assert parsed.allowed_files == ("a.py",)
    assert parsed.context_files == ("src/b.py",)
    assert parsed.preconditions[0].path == "a.py"


def test_types_are_strict_and_every_field_has_its_own_problem() -> None:
    assert problems(
        title=3,
        notes=["x"],
        verify_exempt="yes",
        forbidden="x",
        allowed_files=["ok", 3, "../a"],
        preconditions=[{"kind": "maybe"}, 7],
    ) == [
        "title: must be a string, not a number",
        "preconditions[0].kind: must be 'file_exists' or 'file_absent', not \"maybe\"",
        "preconditions[0].path: is missing",
        "preconditions[1]: must be an object, not a number",
        "allowed_files[1]: must be a string, not a number",
        'allowed_files[2]: "../a" leads outside the repo by `..`',
        "forbidden: must be a list, not a string",
        "notes: must be a string, not a list",
        "verify_exempt: must be true or false, not a string",
    ]


def test_a_postcondition_can_only_promise_a_file() -> None:
    assert problems(postconditions=[{"kind": "file_absent", "path": "a"}]) == [
        "postconditions[0].kind: must be 'file_exists', not \"file_absent\""
    ]


def test_an_order_has_a_command_and_at_most_ten_context_files() -> None:
    assert problems(acceptance_commands=[], context_files=["a"] * 11) == [
        "acceptance_commands: must not be empty",
        "context_files: has 11 entries, at most 10 may be",
    ]
    assert len(order(context_files=["a"] * 10).context_files) == 10


@pytest.mark.parametrize("value", [None, 3, "x", [], [MINIMAL]])
def test_what_is_no_object_is_no_order(value: object) -> None:
    with pytest.raises(DocumentInvalid, match="must be an object"):
        parse_document(WorkOrder, value)


def test_unknown_keys_are_dropped_and_can_be_named() -> None:
    parsed = order(zebra=1, apple=2)
    assert not hasattr(parsed, "zebra")
    assert unknown_keys(WorkOrder, {**MINIMAL, "zebra": 1, "apple": 2}) == ("apple", "zebra")
    assert unknown_keys(WorkOrder, MINIMAL) == ()
    assert unknown_keys(WorkOrder, 3) == ()


def test_an_order_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        order().title = "other"


def test_a_path_with_glob_characters_fits_the_schema_and_is_named() -> None:
    parsed = order(id="WO-1", allowed_files=["src/*.py", "a.py"], context_files=["/abs/[x]"])
    assert glob_paths(parsed) == (
        (at("allowed_files", 0), "src/*.py"),
        (at("context_files", 0), "/abs/[x]"),
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("WO-01", 1),
        ("WO-99", 99),
        ("WO-100", 100),
        ("WO-00", 0),
        ("WO-1", None),
        ("WO-001", None),
        ("wo-01", None),
        ("WO-01 ", None),
        ("WO-01\n", None),
        ("WO-\u0661\u0662", None),
        ("WO-" + "9" * 5000, None),
        ("", None),
    ],
)
def test_the_number_of_an_order_is_read_from_an_id_of_the_right_form(
    text: str, number: int | None
) -> None:
    assert order_number(text) == number
    assert number is None or order_id(number) == text


def test_a_manifest_reads_an_overview_of_one_paragraph_or_several() -> None:
    one = parse_document(Manifest, {"system_overview": "x", "work_orders": [MINIMAL]})
    several = parse_document(Manifest, {"system_overview": ["x", "y"], "work_orders": [MINIMAL]})
    assert (one.system_overview, several.system_overview) == (("x",), ("x", "y"))
    assert one.verify_contract is None
    assert one.work_orders[0].id == "WO-01"


def test_an_interface_keeps_a_bad_path_for_its_own_rule_and_normalises_a_good_one() -> None:
    parsed = order(interfaces=[{"path": "./a.py", "stub": "x: int"}, {"path": "/b", "stub": ""}])
    assert [each.path for each in parsed.interfaces] == ["a.py", "/b"]
    assert problems(interfaces=[{"path": "a.py"}, 3], changes="x") == [
        "interfaces[0].stub: is missing",
        "interfaces[1]: must be an object, not a number",
        "changes: must be a list, not a string",
    ]


def test_an_order_without_interfaces_is_the_document_it_always_was() -> None:
    dumped = order().model_dump(mode="json")
    assert {"interfaces", "changes"}.isdisjoint(dumped)
    declaring = order(interfaces=[{"path": "a.py", "stub": ""}], changes=["f"])
    assert parse_document(WorkOrder, declaring.model_dump(mode="json")) == declaring


def test_lists_are_bounded_each_by_its_own_figure() -> None:
    assert len(order(allowed_files=["a"] * 1000).allowed_files) == 1000
    assert problems(allowed_files=["a"] * 1001, preconditions=[3] * 2000) == [
        "allowed_files: has 1001 entries, at most 1000 may be",
        "preconditions: has 2000 entries, at most 1000 may be",
    ]
    assert len(order(acceptance_commands=["a"] * 100).acceptance_commands) == 100
    assert problems(acceptance_commands=["a"] * 101) == [
        "acceptance_commands: has 101 entries, at most 100 may be"
    ]
    assert len(parse_document(Manifest, {"work_orders": [MINIMAL] * 2000}).work_orders) == 2000
    with pytest.raises(DocumentInvalid, match="2001 entries, at most 2000 may be"):
        parse_document(Manifest, {"work_orders": [MINIMAL] * 2001})


def test_an_order_full_of_faults_names_the_first_fifty_or_their_number() -> None:
    assert len(problems(allowed_files=[3] * 60)) == 50
    assert problems(allowed_files=[3] * 600) == [": does not fit the schema in over 500 places"]
