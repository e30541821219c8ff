from __future__ import annotations

from shared.languages.python.merge_stubs import contracts_in_force
from shared.work_order.work_order import Interface, WorkOrder


def order(number: int, stubs: dict[str, str], *changes: str) -> WorkOrder:
    return WorkOrder(
        id=f"WO-{number:02d}",
        title="t",
        intent="i",
        allowed_files=tuple(stubs),
        forbidden=(),
        context_files=(),
        acceptance_commands=("pytest",),
        interfaces=tuple(Interface(path=path, stub=stub) for path, stub in stubs.items()),
        changes=changes,
    )


def in_force(*orders: WorkOrder) -> dict[str, str]:
    return {each.path: each.stub for each in contracts_in_force(orders)}


def test_the_last_word_of_each_name_is_in_force() -> None:
    assert in_force(
        order(1, {"a.py": "def f(x: int) -> int: ...\nclass G:\n    x: int", "b.py": "y: int"}),
        order(2, {"a.py": "```\ndef f(x: str) -> int: ...\nclass G:\n    z: int\n```"}, "f"),
    ) == {
        "a.py": "class G:\n    x: int\n    z: int\n\ndef f(x: str) -> int:\n    ...",
        "b.py": "y: int",
    }


def test_a_name_that_is_changed_without_saying_how_binds_nobody() -> None:
    first = order(1, {"a.py": "x: int\nclass G:\n    m: int\n    n: int", "b.py": "x: int"})
    assert in_force(first, order(2, {"a.py": "y: int"}, "x", "a.G.m")) == {
        "a.py": "class G:\n    n: int\ny: int",
        "b.py": "x: int",
    }


def test_a_stub_that_does_not_parse_declares_nothing() -> None:
    assert in_force(order(1, {"a.py": "def f("}), order(2, {"a.py": "x: int"})) == {
        "a.py": "x: int"
    }
    assert in_force() == {}
