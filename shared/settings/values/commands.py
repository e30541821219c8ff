"""Reads lists of commands, which are run without a shell."""

from __future__ import annotations

from shared.errors import InvalidInput
from shared.settings.values.given import Given
from shared.settings.values.texts import read_texts
from shared.shell_words import UnsplittableError, Words, is_too_long, split_words


def read_commands(given: Given) -> tuple[str, ...]:
    """Return commands from a list, or from a text with one command on each line."""
    commands = read_texts(given, "\n")
    for command in commands:
        words = _split(command, given)
        if words.operator is not None:
            raise InvalidInput(
                f"{given.source}: {given.name} has {words.operator!r} in `{command}`, and no shell "
                "runs it",
                "give each command on its own, or write it as bash -c '...'",
            )
    return commands


def _split(command: str, given: Given) -> Words:
    try:
        words = split_words(command)
    except UnsplittableError as error:
        raise InvalidInput(
            f"{given.source}: {given.name}: `{command}` {error}", "close the quote"
        ) from error
    if not words.texts[0] or any(map(is_too_long, words.texts)):
        raise given.refused("commands that can be started")
    return words
