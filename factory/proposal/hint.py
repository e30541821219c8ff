"""Checks a person's hint for an order, and shows it to the model as the person's words. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from factory.orders.decision import MAX_HINT_CHARACTERS, MAX_REASON_CHARACTERS
from factory.proposal.files_format import fence_for
from shared.errors import InvalidInput
from shared.secrets.redaction import redact

_HEADING = "# What the person who runs this task says to you"
_LAYOUT = "\n\t"


def parse_hint(text: str, secrets: Iterable[str]) -> str:
    """Return the hint without blanks around it, and with the secrets masked.

    The model is not shown a secret either. Raises `InvalidInput` for a text that is too long, or
    that a prompt or a record could not hold.
    """
    return _checked(text, "--hint", MAX_HINT_CHARACTERS, secrets)


def parse_reason(text: str, secrets: Iterable[str]) -> str:
    """Return the reason on one line, checked as a hint is. Raises `InvalidInput` if it is empty."""
    reason = " ".join(_checked(text, "--reason", MAX_REASON_CHARACTERS, secrets).split())
    if not reason:
        raise InvalidInput("--reason is empty", "say in a few words why the order is left out")
    return reason


def render_hint(hint: str) -> str:
    """Return the section of a prompt that has the hint; no text in it can end the section."""
    fence = fence_for(hint)
    return f"{_HEADING}\n\n{fence}\n{hint}\n{fence}"


def _checked(text: str, option: str, limit: int, secrets: Iterable[str]) -> str:
    text = redact(text.replace("\r\n", "\n").strip(), secrets)
    if len(text) > limit:
        raise InvalidInput(
            f"{option} has {len(text):,} characters, over the limit of {limit:,}",
            "say it in fewer words; what every order needs to know belongs into the plan",
        )
    for each in text:
        if each not in _LAYOUT and unicodedata.category(each) in ("Cc", "Cs"):
            raise InvalidInput(
                f"{option} contains the character U+{ord(each):04X}, which is not text",
                "give it as plain UTF-8 text",
            )
    return text
