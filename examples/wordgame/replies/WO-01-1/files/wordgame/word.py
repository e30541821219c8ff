"""The words the game is played with."""

WORD_LENGTH = 5


def parse_word(text: str) -> str:
    """Return the word in capitals, without surrounding spaces.

    Raises ValueError unless the text is exactly five letters from A to Z.
    """
    word = text.strip()
    # isalpha() alone would let in letters such as Å, and upper() turns ß into SS.
    if len(word) != WORD_LENGTH or not (word.isascii() and word.isalpha()):
        raise ValueError(f"{text!r} is not a word of {WORD_LENGTH} letters from A to Z")
    return word.upper()
