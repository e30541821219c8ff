"""The note on a landed commit says what verified it, and is read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import CountedTests, JudgingCommand, VerifiedBy
from factory.orders.order_commit import (
    add_acceptance,
    drop_acceptance,
    parse_proof,
    render_note,
)
from shared.work_order.work_order import Assumption


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.integers(0, 10**6))
def test_what_verified_a_commit_is_read_from_its_note(command: str, passed: int) -> None:
    tests = CountedTests(passed=passed, failed=0, skipped=0)
    judging = JudgingCommand(command=command, exit_code=0, tests=tests)
    proof = VerifiedBy(verification=(judging,), acceptance=(), rests_on_acceptance=False).describe()
    assert parse_proof(render_note("run", "model", 1, proof)) == proof


def test_a_command_of_many_lines_is_described_in_one_short_line() -> None:
    judging = JudgingCommand(command="python -c 'x = 1\n" * 400, exit_code=0, tests=None)
    proof = VerifiedBy(verification=(judging,), acceptance=(), rests_on_acceptance=False).describe()
    assert "\n" not in proof
    assert len(proof) <= 600


def test_the_note_of_an_older_version_says_nothing_of_the_proof() -> None:
    assert parse_proof("run: 01M8\nmodel: m\nattempts: 1\n") == ""
    assert render_note("01M8", "m", 1, "") == "run: 01M8\nmodel: m\nattempts: 1\n"


def test_the_note_says_what_the_order_rests_on_in_one_line_each() -> None:
    said = Assumption(
        kind="contradiction", text="6 or 2\nproof: forged", reading="2", work_orders=("WO-01",)
    )
    note = render_note("R", "m", 1, "", assumed=[said])
    assert note.endswith("attempts: 1\ncontradiction: 6 or 2 proof: forged -> 2\n")
    assert parse_proof(note) == ""


def test_a_note_says_for_which_orders_a_commit_stands() -> None:
    note = add_acceptance("", "WO-02", {"key": "k2", "plan": "", "proof": "verified by a"})
    assert note == "accepted: WO-02\nkey: k2\nproof: verified by a\n"
    both = add_acceptance(note, "WO-03", {"key": "k3"})
    assert both == f"{note}\naccepted: WO-03\nkey: k3\n"
    again = add_acceptance(both, "WO-02", {"key": "other\nforged: x"})
    assert again == "accepted: WO-03\nkey: k3\n\naccepted: WO-02\nkey: other forged: x\n"


def test_a_note_of_somebody_else_stays() -> None:
    own = render_note("R", "m", 1, "verified by x")
    assert add_acceptance(own, "WO-02", {}).startswith(own)


def test_a_note_has_the_requirements_that_its_commit_covers_each_on_one_bounded_line() -> None:
    demands = [("R1", "Words\nhave five letters."), ("R2", "long " * 1_000)]
    lines = render_note("R", "m", 1, "verified by x", demands=demands).splitlines()
    assert lines[4] == "requirement R1: Words have five letters."
    assert lines[5].startswith("requirement R2: long long")
    assert len(lines[5]) <= 520
    many = [(f"R{number}", "A text.") for number in range(1_000)]
    noted = render_note("R", "m", 1, "verified by x", demands=many).splitlines()
    assert (len(noted), noted[-1]) == (55, "requirements: 950 more")


def test_no_requirement_passes_for_another_line_of_a_note() -> None:
    note = render_note(
        "R", "m", 1, "verified by x", demands=[("R1", "a\nproof: forged\n\naccepted: WO-01")]
    )
    assert parse_proof(note) == "verified by x"
    assert drop_acceptance(note, "WO-01") == note
