"""What is only called is shown without the bodies of its functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import Offer, ReplyFormat
from factory.proposal.prompt import doubt_about_parts, render_prompt, show_more_of
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import (
    ShownFile,
    WantedPart,
    elided_lines,
    show_what_is_called,
    without_bodies,
)
from shared.work_order.parse_order import parse_document, sha256_bytes
from shared.work_order.work_order import Interface, WorkOrder
from tests.harness import order

LONG = "".join(f"    total = total * 1000000007 + {n}\n" for n in range(20))
PYTHON = f'''import os

LIMIT = 3


class Cart:
    """Hold what is bought."""

    size: int = 0

    def total(
        self,
        rate: int,
    ) -> int:
        """Return the total.

        Raises `ValueError` without a rate.
        """
{LONG.replace("    ", "        ")}        return total


def _step(x: int) -> int:
{LONG}    return x


def plain() -> None: ...
'''
SHORT = '''import os

LIMIT = 3


class Cart:
    """Hold what is bought."""

    size: int = 0

    def total(
        self,
        rate: int,
    ) -> int:
        """Return the total.

        Raises `ValueError` without a rate.
        """
        ... (45 lines)


def plain() -> None: ...
'''
GO = "package cart\n\ntype Cart struct {\n\tSize int\n}\n\nfunc (c *Cart) Total(rate int) int {\n"
TS = (
    "export interface Cart {\n  size: number;\n}\n\nexport function total(rate: number): number {\n"
)


def file(path: str, text: str) -> ShownFile:
    return ShownFile(path, FileState(FileKind.FILE, sha256_bytes(text.encode())), text)


def work_order(**changes: Any) -> WorkOrder:
    return parse_document(WorkOrder, order(**{"allowed_files": ["new.py"], **changes}))


def test_a_function_keeps_its_signature_and_docstring() -> None:
    assert [*elided_lines(without_bodies(file("cart.py", PYTHON)))] == SHORT.splitlines()


@pytest.mark.parametrize(("path", "head"), [("cart.go", GO), ("cart.ts", TS)])
def test_declarations_of_other_languages_stay(path: str, head: str) -> None:
    shown = without_bodies(file(path, f"{head}{LONG}\treturn total\n}}\n"))
    found = "\n".join(elided_lines(shown))
    assert found.startswith(head.rstrip("\n"))
    assert found.endswith("(21 lines)\n}")


def test_a_file_that_is_short_anyway_is_shown_whole() -> None:
    assert without_bodies(file("a.py", "def f(x: int) -> int:\n    return x\n")).parts is None
    assert without_bodies(file("a.py", "def f(:\n" + LONG)).parts is None
    assert without_bodies(file("a.txt", PYTHON)).parts is None


@given(st.lists(st.sampled_from(PYTHON.splitlines(keepends=True))))
def test_what_is_left_out_is_counted(lines: list[str]) -> None:
    text = "".join(lines)
    shown = without_bodies(file("a.py", text))
    if shown.parts is None:
        return
    counted = 0
    for line in elided_lines(shown):
        marked = line.strip().startswith("... (")
        counted += int(line.split("(")[1].split(" ")[0]) if marked else 1
    assert counted == len(text.splitlines())


def test_files_that_are_only_read_come_first_and_as_the_plan_declares_them() -> None:
    files = [
        file("b.py", PYTHON), file("new.py", PYTHON), file("a.py", PYTHON),
        file("tests/test_a.py", PYTHON),
    ]  # fmt: skip
    known = (Interface(path="a.py", stub="x: int"), Interface(path="b.py", stub="x: int"))
    shown = show_what_is_called(work_order(), known, files)
    assert [(each.path, each.elides) for each in shown] == [
        ("a.py", True), ("b.py", True), ("tests/test_a.py", False), ("new.py", False),
    ]  # fmt: skip


def test_a_model_can_ask_once_for_a_body() -> None:
    shown = show_what_is_called(work_order(), (), [file("cart.py", PYTHON)])
    first = render_prompt(work_order(), shown, (), Offer(ReplyFormat.FILES))
    assert "the body of a function is left out" in first
    wanted = [WantedPart("cart.py", "Cart.total")]
    more = show_more_of(shown, wanted)
    again = render_prompt(work_order(), more, (), Offer(ReplyFormat.FILES))
    assert "+ 19" in again and "the body of a function is left out" not in again
    assert "_step" not in again
    assert "No more of cart.py" in doubt_about_parts(more, wanted).note
