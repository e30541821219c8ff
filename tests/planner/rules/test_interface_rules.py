from __future__ import annotations

from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from tests.planner.plans import creating, exists, findings, messages, order, plan


def declaring(number: int, stubs: dict[str, str], **fields: object) -> dict[str, Any]:
    """Return an order that writes these files and declares them."""
    interfaces = [{"path": path, "stub": stub} for path, stub in stubs.items()]
    return creating(number, *stubs, **{"interfaces": interfaces, **fields})


def codes(document: Any, code: str, **more: Any) -> list[str]:
    """Return the fields at which this one code is found."""
    report = judge(parse_plan(document), **more)
    return [f"{each.order} {each.field}" for each in report.findings if each.code == code]


# E201


def test_a_broken_stub_is_told_with_its_own_line() -> None:
    document = plan(declaring(1, {"a.py": "x: int\ndef f(x: int -> str: ..."}))
    assert findings(document) == ["E201 WO-01 interfaces[0].stub"]
    assert messages(document)[0].endswith(' in line 2, "def f(x: int -> str: ..."')


def test_a_stub_in_a_fence_is_read() -> None:
    assert findings(plan(declaring(1, {"a.py": "```python\ndef f() -> int: ...\n```"}))) == []


# E202


@pytest.mark.parametrize(
    "path", ["b.py", "", "/a.py", "../a.py", "a\\b.py", "a/", "a.txt", "a", "*.py"]
)
def test_an_interface_belongs_to_a_python_file_that_the_order_writes(path: str) -> None:
    document = plan(
        creating(1, "a.py", "a.txt", "a", interfaces=[{"path": path, "stub": "x: int"}])
    )
    assert findings(document) == ["E202 WO-01 interfaces[0].path"]


@pytest.mark.parametrize(
    "stub", ["export function f(a: string): void;", "def f(x: Missing): ...", "type T = [string]"]
)
def test_a_stub_for_another_language_is_one_finding(stub: str) -> None:
    document = plan(creating(1, "a.rb", interfaces=[{"path": "a.rb", "stub": stub}] * 2))
    assert findings(document) == [
        "E202 WO-01 interfaces[0].path",
        "E202 WO-01 interfaces[1].path",
    ]
    globbed = plan(order(allowed_files=["*.rb"], interfaces=[{"path": "*.rb", "stub": stub}]))
    assert findings(globbed) == ["E004 WO-01 allowed_files[0]"]


def test_a_path_is_compared_normalised() -> None:
    document = plan(creating(1, "a.py", interfaces=[{"path": "./x/../a.py", "stub": ""}]))
    assert findings(document) == []


def test_a_pattern_that_is_allowed_has_its_finding_already() -> None:
    document = plan(order(1, allowed_files=["*.py"], interfaces=[{"path": "*.py", "stub": ""}]))
    assert findings(document) == ["E004 WO-01 allowed_files[0]"]


def test_an_interface_of_another_shape_is_a_fault_of_the_schema() -> None:
    document = plan(creating(1, "a.py", interfaces=[{"path": "a.py"}, 3], changes="x"))
    assert findings(document) == [
        "E005 WO-01 changes",
        "E005 WO-01 interfaces[0].stub",
        "E005 WO-01 interfaces[1]",
    ]


def test_an_unknown_key_of_an_interface_is_dropped_with_a_warning() -> None:
    document = plan(creating(1, "a.py", interfaces=[{"path": "a.py", "stub": "", "lang": "py"}]))
    assert findings(document) == ["W102 WO-01 interfaces[0].lang"]


# E203


def test_a_stub_must_define_or_import_what_it_uses() -> None:
    document = plan(declaring(1, {"a.py": "x: int\ndef f(m: Maze) -> None: ..."}))
    assert findings(document) == ["E203 WO-01 interfaces[0].stub"]
    assert '"Maze" in line 2' in messages(document)[0]


def test_a_delta_may_use_what_the_file_has_from_before() -> None:
    document = plan(
        declaring(1, {"a.py": "from b import Maze\nclass Cell: ..."}),
        declaring(2, {"a.py": "def f(m: Maze) -> Cell: ..."}),
        declaring(3, {"r.py": "def f(m: Path) -> Old: ..."}),
    )
    sources = {"r.py": "from pathlib import Path\nclass Old: ..."}
    assert findings(document, sources, sources=sources) == []


def test_what_a_file_has_that_nobody_knows_may_define_anything() -> None:
    document = plan(
        creating(1, "a.py"),
        declaring(2, {"a.py": "def f(m: Maze) -> None: ..."}),
        declaring(3, {"r.py": "def f(m: Maze) -> None: ..."}),
    )
    assert findings(document, {"r.py"}) == []


# E204


def test_a_second_declaration_must_say_the_same() -> None:
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ...\nclass G:\n    def play(self): ..."}),
        declaring(2, {"a.py": "def f(x: str) -> int: ...\nclass G:\n    def play(self, x): ..."}),
    )
    assert codes(document, "E204") == ["WO-02 interfaces[0].stub"] * 2
    assert (
        '"f" in line 1 of the stub of "a.py": WO-01 declares `def f(x: int) -> int`, '
        "here it is `def f(x: str) -> int`"
    ) in messages(document)


@pytest.mark.parametrize(
    "changes",
    [["f", "G.play"], ["f()", "G"], ["a.f", "a.G.play"], ["a.py:f", "play"]],
)
def test_it_may_say_something_else_on_purpose(changes: list[str]) -> None:
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ...\nclass G:\n    def play(self): ..."}),
        declaring(
            2,
            {"a.py": "def f(x: str) -> int: ...\nclass G:\n    def play(self, x): ..."},
            changes=changes,
        ),
    )
    assert codes(document, "E204") == []


def test_two_stubs_of_one_order_must_agree_too() -> None:
    document = plan(
        creating(
            1,
            "a.py",
            interfaces=[
                {"path": "a.py", "stub": "x: int"},
                {"path": "a.py", "stub": "y: int\nx: str"},
            ],
        )
    )
    assert findings(document) == ["E204 WO-01 interfaces[1].stub"]
    assert "this order declares `x: int`, here it is `x: str`" in messages(document)[0]


def test_existing_code_binds_nobody_who_declares_it_anew() -> None:
    sources = {"r.py": "def f(a, b): ..."}
    document = plan(declaring(1, {"r.py": "def f(a: int) -> int: ..."}))
    assert findings(document, sources, sources=sources) == []


# W223


def test_a_new_python_file_has_an_interface() -> None:
    assert codes(plan(creating(1, "a.py", "b.txt", "pkg/c.py")), "W223") == [
        "WO-01 allowed_files[0]",
        "WO-01 allowed_files[2]",
    ]
    assert codes(plan(declaring(1, {"a.py": ""})), "W223") == []


@pytest.mark.parametrize(
    "path",
    ["tests/test_a.py", "test_a.py", "a_test.py", "tests/tools.py", "pkg/__init__.py", "a.sh"],
)
def test_a_file_whose_names_nobody_imports_needs_none(path: str) -> None:
    assert codes(plan(creating(1, path)), "W223") == []


def test_an_order_that_leaves_the_names_of_a_file_as_they_are_need_not_repeat_them() -> None:
    document = plan(
        declaring(1, {"a.py": "x: int"}), order(2, allowed_files=["a.py"]), creating(3, "r.py")
    )
    sources = {"r.py": "y = 1"}
    assert codes(document, "W223", repo_files=sources, sources=sources) == []
    assert codes(document, "W223", repo_files=sources) == ["WO-03 allowed_files[0]"]


def test_interfaces_change_no_other_finding() -> None:
    document = plan(declaring(1, {"a.py": "x: int"}, preconditions=exists("b.py")))
    assert findings(document) == ["E101 WO-01 preconditions[0]"]
