import pytest

from tally.money import divide, format_amount, parse_amount


# R-0589be R-eaf634
@pytest.mark.parametrize(
    ("text", "cents"), [("12", 1200), ("12.50", 1250), ("0.01", 1), ("1000000.00", 100000000)]
)
def test_amount(text, cents):
    assert parse_amount(text) == cents


@pytest.mark.parametrize(
    "text", ["12.5", "-3", "1,000", "0", "0.00", "1000000.01", "", "1.234", " 1", "1e3", "\u0663"]
)
def test_not_an_amount(text):
    with pytest.raises(ValueError):
        parse_amount(text)


# R-2e4cc7
@pytest.mark.parametrize(
    ("cents", "text"), [(0, "0.00"), (-5, "-0.05"), (123456789, "1234567.89"), (-1250, "-12.50")]
)
def test_format(cents, text):
    assert format_amount(cents) == text


# R-c5107f
@pytest.mark.parametrize(
    ("cents", "parts", "shares"),
    [(1000, 3, [334, 333, 333]), (2, 3, [1, 1, 0]), (900, 3, [300, 300, 300]), (5, 1, [5])],
)
def test_divide(cents, parts, shares):
    assert divide(cents, parts) == shares
