import pytest

from tally.money import divide, format_amount, parse_amount


def test_parse_whole_amount():
    assert parse_amount("7") == 700


def test_parse_decimals():
    assert parse_amount("7.05") == 705


@pytest.mark.parametrize("text", ["7.5", "-7", "7,00", "0", "1000000.01", "seven"])
def test_parse_refuses(text):
    with pytest.raises(ValueError):
        parse_amount(text)


def test_format():
    assert format_amount(705) == "7.05"
    assert format_amount(-5) == "-0.05"


def test_round_trip():
    for cents in (1, 99, 100, 12345):
        assert parse_amount(format_amount(cents)) == cents


@pytest.mark.parametrize("parts", range(1, 8))
def test_shares_sum_up(parts):
    assert sum(divide(1001, parts)) == 1001
    assert max(divide(1001, parts)) - min(divide(1001, parts)) <= 1
