"""How a guess compares with the answer."""

from collections import Counter
from enum import StrEnum


class Mark(StrEnum):
    """The verdict on one letter of a guess."""

    HIT = "H"
    PRESENT = "P"
    ABSENT = "-"

    @property
    def square(self) -> str:
        """Return the mark as it is drawn."""
        return {Mark.HIT: "🟩", Mark.PRESENT: "🟨", Mark.ABSENT: "⬜"}[self]


def score(answer: str, guess: str) -> tuple[Mark, ...]:
    """Return one mark for each letter of `guess`.

    A letter is marked at most as often as the answer has it. Hits come first; the letters they
    leave over are given out from left to right.
    Raises ValueError when the words differ in length.
    """
    pairs = list(zip(answer, guess, strict=True))
    left_over = Counter(wanted for wanted, letter in pairs if wanted != letter)
    marks: list[Mark] = []
    for wanted, letter in pairs:
        if letter == wanted:
            marks.append(Mark.HIT)
        elif left_over[letter] > 0:
            left_over[letter] -= 1
            marks.append(Mark.PRESENT)
        else:
            marks.append(Mark.ABSENT)
    return tuple(marks)
