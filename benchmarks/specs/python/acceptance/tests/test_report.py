from tally.journal import parse_journal
from tally.report import balance_lines, settle_lines, summary_lines

JOURNAL = parse_journal(
    "people Cy Bob Ada\npaid Bob 9 for tea\npaid Ada 12.50 for bread among Bob\n"
    "paid Cy 9 for jam\nrepaid Bob 1 to Ada\n"
)


# R-7075ee
def test_balance():
    assert balance_lines(JOURNAL) == ["Ada: 5.50", "Bob: -8.50", "Cy: 3.00"]


# R-8197a6
def test_settle():
    assert settle_lines(JOURNAL) == ["Bob pays Ada 5.50", "Bob pays Cy 3.00"]
    assert settle_lines(parse_journal("people Ada Bob")) == ["all settled"]


# R-cb06de
def test_summary():
    assert summary_lines(JOURNAL) == [
        "entries: 4", "spent: 30.50", "Ada paid 12.50", "Bob paid 9.00", "Cy paid 9.00",
    ]  # fmt: skip
    assert summary_lines(parse_journal("people Ada Bob")) == ["entries: 0", "spent: 0.00"]
