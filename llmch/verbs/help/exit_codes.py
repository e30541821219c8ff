"""Explains the exit codes."""

from __future__ import annotations

from llmch.verbs.help.topic import Part, Term, Topic
from shared.errors import EXIT_CODE_MEANINGS, ExitCode


def explain_exit_codes() -> Topic:
    """Return what each exit code means."""
    terms = tuple(
        Term(f"{code.value} {code.name}", (EXIT_CODE_MEANINGS[code],)) for code in ExitCode
    )
    return Topic(
        "exit-codes",
        ("Every command ends with one of these codes. With --json, an error has them too.",),
        (Part("", terms),),
        "`llmch help stages` says at which stages an order can fail.",
    )
