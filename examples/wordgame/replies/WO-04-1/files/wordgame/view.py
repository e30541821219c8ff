"""What a game looks like in a terminal."""

from wordgame.game import MAX_GUESSES, Game, Status, Turn


def render(game: Game) -> str:
    """Return the board: a line for each guess, the absent letters, and how the game stands."""
    lines = [_turn_line(number, turn) for number, turn in enumerate(game.turns, start=1)]
    if absent := game.absent_letters():
        lines.append(f"Not in the word: {' '.join(absent)}")
    lines.append(_standing(game))
    return "\n".join(lines)


def _turn_line(number: int, turn: Turn) -> str:
    squares = "".join(mark.square for mark in turn.marks)
    return f"{number}  {turn.guess}  {squares}"


def _standing(game: Game) -> str:
    used = len(game.turns)
    match game.status:
        case Status.WON:
            return f"Solved with guess {used} of {MAX_GUESSES}."
        case Status.LOST:
            return f"Out of guesses. The word was {game.answer}."
        case Status.PLAYING:
            return f"{MAX_GUESSES - used} of {MAX_GUESSES} guesses left."
