"""What a reply to the plan before may say: E310 to E316."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.replan.merge_plans import merge
from tests.planner.plans import exists
from tests.planner.replanning import follow_up, judged, judged_report, predecessor, writing

BEFORE = {"R1": "Five letters.", "R2": "A guess scores.", "R3": "A score is kept."}
FIRST, SECOND, THIRD = writing(1, "R1"), writing(2, "R2"), writing(3, "R3")
SIX = BEFORE | {"R1": "Six letters."}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


class Case:
    """The plan of three orders, of which the first landed; a change; and what a reply breaks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "before"
        self.orders = [FIRST, SECOND, THIRD]
        self.landed = ["WO-01"]
        self.repo = {"part_01.txt": "done\n"}

    def found(self, texts: dict[str, str], *orders: Any, **more: Any) -> list[str]:
        before = predecessor(self.folder, BEFORE, *self.orders, landed=self.landed)
        reply = {"work_orders": list(orders), **more}
        return judged(follow_up(before, texts), reply, repo=self.repo)


def without(*names: str) -> dict[str, str]:
    return {name: text for name, text in BEFORE.items() if name not in names}


def test_a_new_order_for_what_changed_breaks_nothing(case: Case) -> None:
    assert case.found(SIX, writing(4, "R1")) == []


def test_an_order_that_landed_stays_as_it_was(case: Case) -> None:
    changed = FIRST | {"title": "Six letters"}
    assert case.found(SIX, changed, writing(4, "R1")) == ["E310 WO-01 id"]


def test_an_order_that_landed_may_be_repeated_word_for_word(case: Case) -> None:
    assert case.found(SIX, FIRST, writing(4, "R1")) == []


def test_a_kept_order_is_replaced_only_for_a_requirement_of_its_own(case: Case) -> None:
    changed = SECOND | {"title": "Another score"}
    assert case.found(SIX, changed, writing(4, "R1")) == ["E311 WO-02 id"]
    two = BEFORE | {"R2": "A guess scores twice."}
    assert case.found(two, changed) == []


def test_what_landed_is_not_done_again(case: Case) -> None:
    assert case.found(SIX, writing(4, "R1"), writing(5, "R2")) == ["E311 WO-05 covers"]
    assert case.found(SIX, writing(4, "R1"), writing(5)) == ["E311 WO-05 covers"]


def test_a_requirement_that_nobody_carried_out_before_may_be_carried_out_now(case: Case) -> None:
    case.orders = [FIRST, SECOND]
    assert case.found(SIX, writing(3, "R1"), writing(4, "R3")) == []


def test_each_changed_and_added_requirement_needs_an_order(case: Case) -> None:
    texts = SIX | {"R4": "A hint is shown."}
    assert case.found(texts) == ["E312 plan requirements[0]", "E312 plan requirements[3]"]
    assert case.found(texts, writing(4, "R1", "R4")) == []


def test_a_replacement_carries_out_what_stands_of_the_order_it_replaces(case: Case) -> None:
    case.orders = [FIRST, writing(2, "R2", "R3")]
    texts = BEFORE | {"R2": "A guess scores twice."}
    changed = writing(2, "R2", title="Twice")
    assert case.found(texts, changed) == ["E312 plan requirements[2]"]
    assert case.found(texts, changed, writing(3, "R3")) == ["E311 WO-03 covers"]
    assert case.found(texts, changed | {"covers": ["R2", "R3"]}) == []


def test_what_landed_for_a_removed_requirement_is_taken_away_or_stays_for_a_reason(
    case: Case,
) -> None:
    gone = without("R1")
    assert case.found(gone) == ["E313 plan"]
    assert case.found(gone, writing(4, "R1")) == []
    assert case.found(gone, not_removed=[{"requirement": "R1", "reason": "Others use it."}]) == []
    blank = [{"requirement": "R1", "reason": " "}]
    assert case.found(gone, not_removed=blank) == ["E313 plan"]


def test_what_is_not_begun_is_not_carried_out_for_a_removed_requirement(case: Case) -> None:
    gone = without("R3")
    assert case.found(gone) == ["E313 plan"]
    assert case.found(gone, withdrawn=[{"id": "WO-03", "reason": "Removed."}]) == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [(5, ["E314 WO-05 id"]), (4, [])],
    ids=["a gap", "the next one"],
)
def test_new_orders_go_on_after_the_last_one(case: Case, number: int, expected: list[str]) -> None:
    assert case.found(SIX, writing(number, "R1")) == expected


def test_an_id_stands_once_in_a_reply(case: Case) -> None:
    again = writing(4, "R1", title="Again")
    assert case.found(SIX, writing(4, "R1"), again) == ["E314 WO-04 id"]


@pytest.mark.parametrize("given", ["WO-1", "four", None, 4])
def test_an_id_of_another_form_is_one_fault(case: Case, given: object) -> None:
    found = case.found(SIX, writing(4, "R1") | {"id": given})
    assert [each for each in found if each.startswith("E314")] == ["E314 #4 id"]
    assert not any(each.startswith("E001") for each in found)


def test_a_withdrawn_id_is_never_used_again(case: Case) -> None:
    case.orders = [FIRST, SECOND]
    texts = {**without("R2"), "R1": "Six letters."}
    withdrawn = [{"id": "WO-02", "reason": "Removed."}]
    assert case.found(texts, writing(3, "R1"), withdrawn=withdrawn) == []
    both = case.found(texts, writing(2, "R1"), withdrawn=withdrawn)
    assert "E316 plan withdrawn[0]" in both


def test_a_new_order_answers_for_what_it_breaks_in_a_kept_one(case: Case) -> None:
    needs = writing(3, "R3", preconditions=exists("part_02.txt"))
    case.orders = [FIRST, SECOND, needs]
    texts = BEFORE | {"R2": "A guess scores twice."}
    other = writing(2, "R2", allowed_files=["b.txt"], postconditions=exists("b.txt"))
    assert case.found(texts, other) == ["E315 WO-03 preconditions[0]"]


@pytest.mark.parametrize(
    ("fields", "faults"),
    [({}, []), ({"preconditions": exists("part_02.txt")}, ["E315 WO-03 preconditions[0]"])],
)
def test_a_kept_order_may_lose_an_order_that_it_waits_for_but_not_what_it_needs(
    case: Case, fields: dict[str, Any], faults: list[str]
) -> None:
    case.orders = [FIRST, SECOND, writing(3, "R3", depends_on=["WO-02"], **fields)]
    found = case.found(without("R2"), withdrawn=[{"id": "WO-02", "reason": "Removed."}])
    assert found == faults


def test_a_fault_that_a_kept_order_had_before_is_not_the_new_orders(case: Case) -> None:
    case.orders = [FIRST, SECOND, writing(3, "R3", preconditions=exists("lost.txt"))]
    assert case.found(SIX, writing(4, "R1")) == []


@pytest.mark.parametrize(
    ("name", "texts"),
    [("WO-01", without("R1")), ("WO-02", without("R1")), ("WO-09", without("R1"))],
    ids=["landed", "stands", "unknown"],
)
def test_an_order_that_landed_or_is_due_is_not_withdrawn(
    case: Case, name: str, texts: dict[str, str]
) -> None:
    withdrawn = [{"id": name, "reason": "Nobody needs it."}]
    assert case.found(texts, writing(4, "R1"), withdrawn=withdrawn) == ["E316 plan withdrawn[0]"]


def test_a_withdrawal_needs_a_reason(case: Case) -> None:
    withdrawn = [{"id": "WO-03", "reason": ""}]
    assert case.found(without("R3"), withdrawn=withdrawn) == ["E316 plan withdrawn[0].reason"]


def test_a_new_order_relies_on_the_files_of_the_branch_alone(case: Case) -> None:
    needs = writing(4, "R1", preconditions=exists("part_01.txt", "part_02.txt"))
    assert case.found(SIX, needs) == []
    lost = writing(4, "R1", context_files=["part_09.txt"])
    assert case.found(SIX, lost) == ["E243 WO-04 context_files[0]"]
    case.landed = ["WO-01", "WO-02"]  # and the branch does not have part_02.txt any more
    assert case.found(SIX, needs) == ["E101 WO-04 preconditions[1]"]


def test_a_test_of_an_order_that_landed_is_replaced_by_a_test_alone(case: Case) -> None:
    test = {"path": "tests/test_part.py", "content": "def test_it():\n    assert 1 + 1 == 2\n"}
    case.orders = [FIRST | {"acceptance_files": [test]}, SECOND, THIRD]
    run = ["python -m pytest -q tests/test_part.py"]
    new = writing(4, "R1", acceptance_files=[test], acceptance_commands=run)
    assert case.found(SIX, new) == []
    paths = ["tests/test_part.py"]
    written = writing(4, "R1", allowed_files=paths, postconditions=exists(*paths))
    assert "E107 WO-04 allowed_files[0]" in case.found(SIX, written)


def test_all_requirements_may_be_replaced(case: Case) -> None:
    texts = {"N1": "A new game."}
    withdrawn = [{"id": each, "reason": "Removed."} for each in ("WO-02", "WO-03")]
    new = writing(4, "N1", "R1")
    assert case.found(texts, new, withdrawn=withdrawn) == []


@pytest.mark.parametrize(
    "reply",
    [None, [], "text", {}, {"work_orders": None}, {"work_orders": 3}],
    ids=repr,
)
def test_a_reply_without_a_list_of_orders_has_one_fault(case: Case, reply: Any) -> None:
    before = predecessor(case.folder, BEFORE, *case.orders, landed=case.landed)
    found = judged(follow_up(before, SIX), reply)
    assert [each.split()[0] for each in found] == ["E000"]


CODE = "def score(guess: str) -> int:\n    return len(guess)\n"
DECLARED = {"path": "score.py", "stub": "def score(guess: str) -> int: ..."}


def scoring(number: int, command: str, **fields: Any) -> Any:
    """Return an order that writes `score.py` and calls it in a command."""
    run = [f'python -c "from score import score; assert {command}"']
    paths = ["score.py"]
    defaults = {"allowed_files": paths, "postconditions": exists(*paths), "interfaces": [DECLARED]}
    return writing(number, "R1", acceptance_commands=run, **(defaults | fields))


def test_what_landed_declares_nothing_any_more(case: Case) -> None:
    case.orders = [scoring(1, "score('a') == 1"), SECOND, THIRD]
    case.repo |= {"score.py": CODE}
    stub = "def score(guess: str, answer: str) -> int: ..."
    new = scoring(4, "score('a', 'b') == 0", interfaces=[{"path": "score.py", "stub": stub}])
    assert case.found(SIX, new) == []


def test_a_new_order_is_held_to_what_it_declares_itself(case: Case) -> None:
    case.orders = [scoring(1, "score('a') == 1"), SECOND, THIRD]
    case.repo |= {"score.py": CODE}
    assert case.found(SIX, scoring(4, "score('a', 2) == 1")) == [
        "E212 WO-04 acceptance_commands[0]"
    ]


def test_a_missing_requirement_is_one_fault_where_each_has_to_be_covered(case: Case) -> None:
    before = predecessor(case.folder, BEFORE, FIRST, SECOND, landed=case.landed)
    task = follow_up(before, SIX | {"R4": "A hint is shown."})
    merged = merge(parse_plan({"work_orders": [writing(3, "R1")]}), task, require_coverage=True)
    report = judged_report(task, merged, case.repo)
    found = [(each.code, each.field) for each in report.errors]
    assert found == [("E302", "requirements[2]"), ("E312", "requirements[3]")]


def test_what_a_kept_order_needs_may_not_be_taken_away(case: Case) -> None:
    case.orders = [FIRST, SECOND, writing(3, "R3", preconditions=exists("part_01.txt"))]
    removing = writing(4, "R1", removed_files=["part_01.txt"])
    assert case.found(without("R1"), removing) == []  # WO-03 comes before, and finds the file
    case.orders = [FIRST, writing(2, "R1", "R2"), case.orders[2]]
    earlier = writing(2, "R2", title="Part 2 alone", removed_files=["part_01.txt"])
    assert case.found(without("R1"), earlier, writing(4, "R1")) == ["E315 WO-03 preconditions[0]"]


def test_what_landed_is_taken_away_by_a_new_order(case: Case) -> None:
    assert case.found(without("R1"), writing(4, "R1", removed_files=["part_01.txt"])) == []
    lost = writing(4, "R1", removed_files=["part_09.txt"])
    assert case.found(without("R1"), lost) == ["E111 WO-04 removed_files[0]"]
