"""Prices of a shop, in whole cents."""


def price(number: int) -> int:
    """Return the price of so many things: the tenth of each ten is free."""
    return 3 * (number - number // 10)
