"""Explains the variables that llmch reads."""

from __future__ import annotations

from llmch.verbs.help.topic import Part, Term, Topic
from shared.settings.environment import VARIABLES
from shared.settings.settings import KEYS


def explain_environment() -> Topic:
    """Return the variables, those of the settings last."""
    own = tuple(Term(name, (meaning,)) for name, meaning in VARIABLES.items())
    settings = tuple(Term(key.variable, (key.help,)) for key in KEYS.values())
    return Topic(
        "environment",
        (
            "A variable that begins with LLMCH_ and is not known is refused, except for "
            "LLMCH_TEST_.",
        ),
        (Part("", own), Part("Settings", settings)),
        "`llmch help settings` says what values they take.",
    )
