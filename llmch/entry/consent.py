"""Asks a person at the terminal, once, whether to go on without a sandbox."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from factory.orders.options import RunOptions
from factory.sandbox import Backend
from llmch.console import Console
from llmch.console.asking import agrees, someone_is_there
from shared.errors import SandboxUnavailable
from shared.events.messages import Warned

T = TypeVar("T")


def with_consent(run: Callable[[RunOptions], T], options: RunOptions, console: Console) -> T:
    """Return the result of `run`; where no sandbox works, first ask whether to run without one.

    The question is asked only for the backend `auto`: a backend that the user named is never
    given up. Raises `SandboxUnavailable` where the answer is no or nobody is there to answer.
    """
    try:
        return run(options)
    except SandboxUnavailable as refused:
        if options.settings.sandbox.backend is not Backend.AUTO or not _asked_and_agreed(refused):
            raise
    console(Warned("no sandbox: commands run with your own rights, as you agreed"))
    bare = replace(options.settings.sandbox, backend=Backend.OFF)
    return run(replace(options, settings=replace(options.settings, sandbox=bare)))


def _asked_and_agreed(refused: SandboxUnavailable) -> bool:
    return someone_is_there() and agrees(
        f"{refused.message}\n{refused.hint}\n"
        "Commands that a model wrote would run with your own rights. Go on this once?"
    )
