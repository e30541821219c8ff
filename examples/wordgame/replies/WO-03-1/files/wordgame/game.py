"""A game as a value: playing a guess gives a new game."""

from dataclasses import dataclass, replace
from enum import Enum, auto

from wordgame.scoring import Mark, score

MAX_GUESSES = 6


class Status(Enum):
    """How a game stands."""

    PLAYING = auto()
    WON = auto()
    LOST = auto()


@dataclass(frozen=True, slots=True)
class Turn:
    """One guess and its marks."""

    guess: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Game:
    """The answer, and the turns taken so far. All words are as parse_word() returns them."""

    answer: str
    turns: tuple[Turn, ...] = ()

    @property
    def status(self) -> Status:
        """Return whether the game goes on, and otherwise how it ended."""
        if any(turn.guess == self.answer for turn in self.turns):
            return Status.WON
        return Status.LOST if len(self.turns) == MAX_GUESSES else Status.PLAYING

    def play(self, guess: str) -> "Game":
        """Return the game after this guess; raises ValueError when the game is over."""
        if self.status is not Status.PLAYING:
            raise ValueError(f"the game is over, {guess} can't be played")
        turn = Turn(guess, score(self.answer, guess))
        return replace(self, turns=(*self.turns, turn))

    def absent_letters(self) -> str:
        """Return the guessed letters that the answer doesn't have, in alphabetical order."""
        guessed = {letter for turn in self.turns for letter in turn.guess}
        return "".join(sorted(guessed - set(self.answer)))
