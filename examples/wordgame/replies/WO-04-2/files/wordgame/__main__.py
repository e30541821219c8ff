"""The command line: `python -m wordgame --answer WORD [GUESS ...]`."""

import argparse
from collections.abc import Sequence

from wordgame.game import Game
from wordgame.view import render
from wordgame.word import parse_word


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the scripted game, print the board and return the exit code.

    Arguments default to the process's own. A word that is no word, or a guess after the end of
    the game, exits with code 2 and a message on stderr.
    """
    parser = argparse.ArgumentParser(prog="wordgame", description="Play a scripted word game.")
    parser.add_argument("--answer", required=True, help="the secret word")
    parser.add_argument("guesses", nargs="*", metavar="GUESS", help="the guesses, in order")
    options = parser.parse_args(arguments)
    try:
        game = play(options.answer, options.guesses)
    except ValueError as error:
        parser.error(str(error))
    print(render(game))
    return 0


def play(answer: str, guesses: Sequence[str]) -> Game:
    """Return the game after all guesses.

    Raises ValueError for a word that is no word, or a guess after the end of the game.
    """
    game = Game(parse_word(answer))
    for guess in guesses:
        game = game.play(parse_word(guess))
    return game


if __name__ == "__main__":
    raise SystemExit(main())
