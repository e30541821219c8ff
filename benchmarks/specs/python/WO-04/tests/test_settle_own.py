from tally.settle import Payment, settle


def test_nothing_to_settle():
    assert settle({"Ada": 0, "Bob": 0}) == []


def test_one_payment():
    assert settle({"Ada": 50, "Bob": -50}) == [Payment("Bob", "Ada", 50)]


def test_largest_first():
    assert settle({"Ada": 50, "Bob": -20, "Cy": -30}) == [
        Payment("Cy", "Ada", 30),
        Payment("Bob", "Ada", 20),
    ]


def test_equal_sums_by_name():
    assert settle({"Bob": -10, "Ada": -10, "Dan": 10, "Cy": 10}) == [
        Payment("Ada", "Cy", 10),
        Payment("Bob", "Dan", 10),
    ]
