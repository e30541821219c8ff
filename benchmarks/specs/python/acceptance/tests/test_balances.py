from tally.balances import balances
from tally.journal import parse_journal

TEXT = """people Ada Bob Cy
paid Ada 10 for dinner
paid Bob 0.05 for gum among Cy Ada Cy
people Dan
paid Dan 1.01 for tea
repaid Cy 2 to Ada
"""


# R-950048 R-bdb01a
def test_balances():
    # Ada 10.00-3.34-0.02-0.26-2.00, Bob -3.33+0.05-0.25, Cy -3.33-0.03-0.25+2.00, Dan 1.01-0.25
    assert balances(parse_journal(TEXT)) == {"Ada": 438, "Bob": -353, "Cy": -161, "Dan": 76}


def test_sum_is_zero_after_every_entry():
    lines = TEXT.splitlines()
    for count in range(len(lines) + 1):
        assert sum(balances(parse_journal("\n".join(lines[:count]))).values()) == 0
