"""Prices of a shop, in whole cents."""


def price(number: int) -> int:
    """Return the price of so many things: the tenth of each ten is free."""
    if number < 0:
        raise ValueError(f"{number} is a negative number of things")
    return 3 * (number - number // 10)
