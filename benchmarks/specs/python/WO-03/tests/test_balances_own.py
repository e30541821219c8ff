from tally.balances import balances
from tally.journal import parse_journal


def test_nothing_happened():
    assert balances(parse_journal("people Ada Bob")) == {"Ada": 0, "Bob": 0}


def test_paid_for_everybody():
    journal = parse_journal("people Ada Bob Cy\npaid Ada 10 for cake")
    assert balances(journal) == {"Ada": 666, "Bob": -333, "Cy": -333}


def test_paid_for_another():
    journal = parse_journal("people Ada Bob\npaid Ada 10 for cake among Bob")
    assert balances(journal) == {"Ada": 1000, "Bob": -1000}


def test_repaid():
    journal = parse_journal("people Ada Bob\nrepaid Bob 3 to Ada")
    assert balances(journal) == {"Ada": -300, "Bob": 300}
