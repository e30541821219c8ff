import pytest

from tally.journal import Paid, Repaid, parse_journal


def test_comments_and_blank_lines():
    journal = parse_journal("# first\n\npeople Ada Bob\n")
    assert journal.people == ["Ada", "Bob"]
    assert journal.errors == []


def test_paid_for_everybody():
    journal = parse_journal("people Ada Bob\npaid Ada 2 for cake")
    assert journal.entries == [Paid("Ada", 200, "cake", ("Ada", "Bob"))]


def test_paid_among():
    journal = parse_journal("people Ada Bob\npaid Ada 2 for cake among Bob Bob")
    assert journal.entries == [Paid("Ada", 200, "cake", ("Bob", "Bob"))]


def test_repaid():
    journal = parse_journal("people Ada Bob\nrepaid Bob 2 to Ada")
    assert journal.entries == [Repaid("Bob", 200, "Ada")]


@pytest.mark.parametrize(
    "line", ["paid Eve 2 for cake", "repaid Ada 2 to Ada", "lent Ada 2", "people bob"]
)
def test_errors_have_the_number_of_their_line(line):
    journal = parse_journal(f"people Ada Bob\n\n{line}\n")
    assert journal.errors[0].startswith("line 3: ")
    assert journal.entries == []


def test_one_person_is_not_enough():
    assert parse_journal("people Ada").errors[0].startswith("line 1: ")
