"""The note on a landed commit says what verified it, and is read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factory.orders.commit_note import parse_proof, render_note
from factory.orders.verified_by import CountedTests, JudgingCommand, VerifiedBy


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
