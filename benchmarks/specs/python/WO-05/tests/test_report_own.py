from tally.journal import parse_journal
from tally.report import balance_lines, settle_lines, summary_lines

TEXT = "people Bob Ada\npaid Bob 4 for cake\npaid Ada 4 for tea\npaid Bob 1 for milk among Ada"


def test_balance_lines_are_sorted():
    assert balance_lines(parse_journal(TEXT)) == ["Ada: -1.00", "Bob: 1.00"]


def test_settle_lines():
    assert settle_lines(parse_journal(TEXT)) == ["Ada pays Bob 1.00"]


def test_nothing_to_settle():
    assert settle_lines(parse_journal("people Ada Bob")) == ["all settled"]


def test_summary_lines():
    assert summary_lines(parse_journal(TEXT)) == [
        "entries: 3",
        "spent: 9.00",
        "Bob paid 5.00",
        "Ada paid 4.00",
    ]
