"""Reads numbers within bounds, and amounts of money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from shared.settings.values.given import Given


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """Read a whole number from `low` to `high`."""

    low: int
    high: int

    def __call__(self, given: Given) -> int:
        """Return the number that is given."""
        number = _number(given)
        inside = number is not None and self.low <= number <= self.high
        if number is None or number != number.to_integral_value() or not inside:
            raise given.refused(f"a whole number from {self.low} to {self.high:,}")
        return int(number)

    @property
    def range(self) -> str:
        """Return the allowed values in words."""
        return f"{self.low} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class Number:
    """Read a number from `low` to `high`."""

    low: float
    high: float

    def __call__(self, given: Given) -> float:
        """Return the number that is given."""
        number = _number(given)
        if number is None or not self.low <= number <= self.high:
            raise given.refused(f"a number from {self.range}")
        return float(number)

    @property
    def range(self) -> str:
        """Return the allowed values in words."""
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Clamped:
    """Read a whole number of any size; `clamp` brings it into bounds with a warning."""

    low: int
    high: int

    def __call__(self, given: Given) -> int:
        """Return the number as it is given."""
        return WholeNumber(-(2**31), 2**31)(given)

    def clamp(self, number: int, name: str) -> tuple[int, str | None]:
        """Return `number` in bounds, and a warning where it was out of them.

        `name` names the setting in the warning.
        """
        clamped = min(max(number, self.low), self.high)
        if clamped == number:
            return number, None
        bounds = f"the limits are {self.low} and {self.high}"
        return clamped, f"{name} is {number}: {clamped} attempts are made, {bounds}"

    @property
    def range(self) -> str:
        """Return the allowed values in words."""
        return f"{self.low} to {self.high}"


def read_dollars(given: Given) -> Decimal:
    """Return an amount in US dollars, with exactly the digits that were written."""
    number = _number(given)
    if number is None or number < 0:
        raise given.refused("an amount in US dollars, 0 or more")
    return number


def _number(given: Given) -> Decimal | None:
    """Return the value as a finite number of at most 30 digits, or `None` where it is not one."""
    match given.value:
        case bool():
            return None
        case str() if not given.as_text:
            return None
        case int() | float() | Decimal() | str():
            try:
                number = Decimal(str(given.value).strip())
            except (InvalidOperation, ValueError):
                return None
            return number if number.is_finite() and number.adjusted() < 30 else None
        case _:
            return None
