from functools import reduce

import pytest

from wordgame.game import MAX_GUESSES, Game, Status


def game_after(answer, *guesses):
    return reduce(Game.play, guesses, Game(answer))


def test_a_new_game_waits_for_a_guess():
    assert Game("LLAMA").status is Status.PLAYING


def test_guessing_the_answer_wins():
    assert game_after("LLAMA", "LABEL", "LLAMA").status is Status.WON


def test_the_last_guess_can_still_win():
    misses = ["LABEL"] * (MAX_GUESSES - 1)
    assert game_after("LLAMA", *misses, "LLAMA").status is Status.WON


def test_six_misses_lose():
    assert game_after("LLAMA", *["LABEL"] * MAX_GUESSES).status is Status.LOST


def test_playing_leaves_the_old_game_as_it_was():
    start = Game("LLAMA")
    start.play("LABEL")
    assert start == Game("LLAMA")


def test_a_turn_keeps_the_guess_and_its_marks():
    (turn,) = game_after("LLAMA", "LABEL").turns
    assert (turn.guess, "".join(turn.marks)) == ("LABEL", "HP--P")


@pytest.mark.parametrize("guesses", [["LLAMA"], ["LABEL"] * MAX_GUESSES])
def test_a_game_that_is_over_takes_no_more_guesses(guesses):
    with pytest.raises(ValueError, match="the game is over"):
        game_after("LLAMA", *guesses, "CRANE")


def test_absent_letters_are_those_the_answer_does_not_have():
    assert game_after("LLAMA", "LABEL", "CRANE").absent_letters() == "BCENR"
