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

    A letter is marked at most as often as the answer has it.
    Raises ValueError when the words differ in length.
    """
    remaining = Counter(answer)
    marks: list[Mark] = []
    for wanted, letter in zip(answer, guess, strict=True):
        if letter == wanted:
            marks.append(Mark.HIT)
        elif remaining[letter] > 0:
            marks.append(Mark.PRESENT)
        else:
            marks.append(Mark.ABSENT)
        remaining[letter] -= 1
    return tuple(marks)
