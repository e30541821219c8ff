import pytest

from wordgame.scoring import score


@pytest.mark.parametrize(
    ("answer", "guess", "marks"),
    [
        ("CRANE", "CRANE", "HHHHH"),
        ("CRANE", "MOIST", "-----"),
        ("CRANE", "NACRE", "PPPPH"),
        ("LLAMA", "LABEL", "HP--P"),
        ("LABEL", "LLAMA", "HPP--"),
    ],
)
def test_each_letter_gets_its_mark(answer, guess, marks):
    assert "".join(score(answer, guess)) == marks


def test_words_of_different_length_are_refused():
    with pytest.raises(ValueError):
        score("CRANE", "CRANES")
