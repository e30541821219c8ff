"""Reads a single word or line: a text, one of several options, a switch, an effort, a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from shared.errors import InvalidInput
from shared.settings.values.given import Given

E = TypeVar("E", bound=StrEnum)

_EFFORT = re.compile(r"[a-z]{1,20}")


def read_text(given: Given) -> str:
    """Return one line of text."""
    value = given.value
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value.strip()
    raise given.refused("a line of text")


@dataclass(frozen=True, slots=True)
class Choice(Generic[E]):
    """Read one of `options`."""

    options: type[E]

    def __call__(self, given: Given) -> E:
        """Return the option whose value is given."""
        found = next((each for each in self.options if each == given.value), None)
        if found is None:
            raise given.refused(f"one of {', '.join(self.options)}")
        return found

    @property
    def range(self) -> str:
        """Return the allowed values in words."""
        return ", ".join(f"`{each}`" for each in self.options)


def read_switch(given: Given) -> bool:
    """Return whether a switch is on."""
    if isinstance(given.value, bool):
        return given.value
    if given.as_text and given.value in ("true", "false"):
        return given.value == "true"
    raise given.refused("true or false")


def read_effort(given: Given) -> str:
    """Return a reasoning effort: any word such as `medium`, because servers know different ones."""
    text = read_text(given)
    if not _EFFORT.fullmatch(text):
        raise given.refused("a word such as low, medium or high")
    return text


def read_url(given: Given) -> str:
    """Return an http or https URL without credentials."""
    from urllib.parse import urlsplit

    text = read_text(given)
    try:
        parts = urlsplit(text)
        well_formed = parts.scheme in ("http", "https") and bool(parts.hostname)
        secret = parts.username is not None or parts.password is not None
        _ = parts.port  # raises where the text is not a port
    except ValueError:
        well_formed, secret = False, False
    if secret:
        # The message leaves the URL out, because the URL holds the secret.
        raise InvalidInput(
            f"{given.source}: {given.name} holds credentials", "put the key in OPENAI_API_KEY"
        )
    if not well_formed:
        raise given.refused("an http or https URL such as http://127.0.0.1:8080/v1")
    return text
