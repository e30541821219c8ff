import pytest

from wordgame.__main__ import main


def test_a_solved_game_shows_each_guess_and_the_result(capsys):
    assert main(["--answer", "llama", "crane", "label", "llama"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1  CRANE  ⬜⬜🟩⬜⬜",
        "2  LABEL  🟩🟨⬜⬜🟨",
        "3  LLAMA  🟩🟩🟩🟩🟩",
        "Not in the word: B C E N R",
        "Solved with guess 3 of 6.",
    ]


def test_an_unfinished_game_says_how_many_guesses_are_left(capsys):
    main(["--answer", "CRANE", "EERIE"])
    assert capsys.readouterr().out.endswith("5 of 6 guesses left.\n")


def test_a_lost_game_gives_the_word_away(capsys):
    main(["--answer", "CRANE", *["EERIE"] * 6])
    assert capsys.readouterr().out.endswith("Out of guesses. The word was CRANE.\n")


@pytest.mark.parametrize(
    ("guesses", "message"),
    [
        (["LLAMAS"], "'LLAMAS' is not a word of 5 letters"),
        (["LL4MA"], "'LL4MA' is not a word of 5 letters"),
        (["LLAMA", "LABEL"], "the game is over"),
    ],
)
def test_a_game_that_cannot_be_played_exits_with_2(guesses, message, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--answer", "LLAMA", *guesses])
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err
