import pytest

from tally.settle import Payment, settle


# R-b24122
@pytest.mark.parametrize(
    ("balances", "payments"),
    [
        ({}, []),
        ({"Ada": 0, "Bob": 0}, []),
        ({"Ada": 5, "Bob": -5}, [("Bob", "Ada", 5)]),
        ({"Ada": 7, "Bob": -3, "Cy": -4}, [("Cy", "Ada", 4), ("Bob", "Ada", 3)]),
        ({"Dan": 5, "Bob": 5, "Cy": -5, "Ada": -5}, [("Ada", "Bob", 5), ("Cy", "Dan", 5)]),
        ({"Ada": 6, "Bob": 2, "Cy": -8}, [("Cy", "Ada", 6), ("Cy", "Bob", 2)]),
    ],
)
def test_payments(balances, payments):
    assert settle(balances) == [Payment(*each) for each in payments]


# R-6c0428 R-7a29d4
def test_every_balance_is_zero_afterwards():
    start = {"Ada": 101, "Bob": -70, "Cy": 33, "Dan": -99, "Eve": 35}
    payments, left = settle(start), dict(start)
    for each in payments:
        assert each.cents > 0
        left[each.payer] += each.cents
        left[each.receiver] -= each.cents
    assert set(left.values()) == {0}
    assert len(payments) < len(start)
    assert start["Ada"] == 101
