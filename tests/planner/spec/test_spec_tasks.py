"""Tasks: what they name, which are done, and how they are ticked."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.spec.requirements import Requirement
from planner.spec.spec_folders import (
    NamedRequirements,
    TaskState,
    judge_tasks,
    parse_tasks,
    render_tasks,
    stories_in,
    tick,
)
from tests.planner.spec.kept_folders import KIRO, SPEC_KIT

NAMES = NamedRequirements(
    frozenset({
        *("FR-001", "FR-002", "FR-003", "1.1", "1.2", "1.3", "1.10", "2.1", "R-6a8c1a"),
        *("cart.total", "cart.sum-of-all"),
    }),
    {"1": ("R-6a8c1a",), "2": ("FR-002", "R-6a8c1a")},
    {"sum of all": "cart.sum-of-all"},
)  # fmt: skip


def named_by(*lines: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    (task,) = parse_tasks("\n".join((f"- [ ] {lines[0]}", *(f"  {each}" for each in lines[1:]))))
    return NAMES.named_by(task)


@pytest.mark.parametrize(
    ("lines", "names", "unknown"),
    [
        (("T001 Write it (FR-001, FR-003)",), ("FR-001", "FR-003"), ()),
        (("FR-001/FR-002",), ("FR-001", "FR-002"), ()),
        (("T001 FR-001 to FR-003",), ("FR-001", "FR-002", "FR-003"), ()),
        (("T001 FR-001\u2013FR-003.",), ("FR-001", "FR-002", "FR-003"), ()),
        (("T001 FR-009",), (), ("FR-009",)),
        (("1.1 Take 1.2 steps",), (), ()),
        (("1. Go", "- _Requirements: 1.1, 2.1_"), ("1.1", "2.1"), ()),
        (("1. Go", "- _Requirements: 1.1-1.3_"), ("1.1", "1.2", "1.3"), ()),
        (("1. Go", "- _Requirements: 2_"), ("2.1",), ()),
        (("1. Go", "- **Validates: Requirements 1.1, 1.2**"), ("1.1", "1.2"), ()),
        (("1. Go", "- **Requirements:** 9.9"), (), ("9.9",)),
        (("1. Go", "- Requirements: all"), (), ()),
        (("1.1 Take cart.total",), ("cart.total",), ()),
        (("1.1 Take `Sum  of all`",), ("cart.sum-of-all",), ()),
        (("T002 [P] [US1] Write",), ("R-6a8c1a",), ()),
        (("T002 [US2] Write FR-001",), ("FR-001",), ()),
        (("T002 [US9] Write",), (), ("US9",)),
        (("Write it all",), (), ()),
    ],
)
def test_what_a_task_names(
    lines: tuple[str, ...], names: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    assert named_by(*lines) == (names, unknown)


def states(text: str, *landed: str) -> str:
    outlooks = judge_tasks(parse_tasks(text), NAMES, frozenset(landed))
    return "".join(each.state.value[0] if each.reason else "x" for each in outlooks)


def test_a_task_is_done_where_all_it_names_has_landed_and_its_parts_are() -> None:
    text = KIRO[".kiro/specs/timer/tasks.md"]
    assert states(text) == "ooouu"
    assert states(text, "1.1", "1.2") == "xxxuu"
    assert states("- [ ] 1. A\n- [ ] 1.1 b FR-001\n- [x] 1.2 c\n", "FR-001") == "xxx"
    assert states("- [ ] 1. A\n- [ ] 1.1 b FR-001\n- [ ] 1.2 c\n", "FR-001") == "oxu"
    assert states("- [ ] FR-001\n  - [ ] FR-002\n- [ ] FR-003\n", "FR-001") == "ooo"
    assert states("- [ ] FR-002\n  - [x] FR-001\n", "FR-002") == "xx"
    outlook = judge_tasks(parse_tasks("- [ ] FR-001 and FR-002"), NAMES, {"FR-001"})[0]
    assert outlook.reason == "not landed: FR-002"


def test_stories_have_the_requirements_of_their_sections() -> None:
    text = SPEC_KIT["specs/003-word-count/spec.md"]
    lines = text.split("\n")
    words = {"three words, **When**": "A", "`a bcd ef`": "B", "**FR-001**": "FR-001"}
    found = [
        Requirement(name, "", next(n for n, each in enumerate(lines, 1) if said in each))
        for said, name in words.items()
    ]
    assert stories_in(text, found) == {"1": ("A",), "2": ("B",)}


def test_code_comments_and_other_lists_hold_no_tasks() -> None:
    text = "```\n- [ ] FR-001\n```\n<!--\n- [ ] FR-001\n-->\n- FR-001\n- [link](x) FR-001\n"
    assert parse_tasks(text) == ()
    assert tick(text, judge_tasks(parse_tasks(text), NAMES, {"FR-001"})) == text


LINES = st.lists(
    st.one_of(
        st.text(alphabet="ab -[]x*<!->`\r\tü", max_size=20),
        st.sampled_from(["- [ ] FR-001 a", "  * [ ] FR-002 b\r", "- [x] FR-001", "- [-] FR-001 c"]),
    ),
    max_size=12,
)


@given(LINES)
def test_a_tick_changes_one_character_of_each_line_that_is_ticked(lines: list[str]) -> None:
    text = "\n".join(lines)
    outlooks = judge_tasks(parse_tasks(text), NAMES, {"FR-001"})
    after = tick(text, outlooks)
    changed = [n for n, (a, b) in enumerate(zip(text, after, strict=True)) if a != b]
    wanted = [each for each in outlooks if each.state is TaskState.TICKED]
    assert len(changed) == len(wanted)
    assert {text.count("\n", 0, n) + 1 for n in changed} == {each.task.line for each in wanted}
    assert all(text[n - 1 : n + 2] in ("[ ]", "[-]") and after[n] == "x" for n in changed)
    assert render_tasks(after) == render_tasks(text)
    again = judge_tasks(parse_tasks(after), NAMES, {"FR-001"})
    assert tick(after, again) == after


@pytest.mark.rest
def test_five_thousand_tasks_are_judged_at_once() -> None:
    tasks = "".join(f"- [ ] {n}. Say it\n  - _Requirements: 7.{n % 900}, 8_\n" for n in range(5000))
    names = NamedRequirements(frozenset(f"7.{n}" for n in range(900)) | {"8.1"}, {}, {})
    began = time.process_time()
    outlooks = judge_tasks(parse_tasks(tasks), names, names.ids)
    assert time.process_time() - began < 3
    assert len(outlooks) == 5000
    assert not any(each.reason for each in outlooks)
