"""A word-guessing game: five letters, six guesses."""
