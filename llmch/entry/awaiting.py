"""Waits for a submitted plan on behalf of `submit --wait` and `fleet wait`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Outcome

if TYPE_CHECKING:
    from factory.fleet.link import Link
    from shared.settings.settings import Settings


def await_plan(link: Link, plan: str, settings: Settings, console: Console) -> Outcome:
    """Return how a submitted plan ended, as `run-all` would; its records are here then.

    Raises the error that ended the run.
    """
    from factory.fleet.plans.awaiting import Awaited
    from llmch.answers.orders import BatchDocument
    from llmch.entry.execution import exit_code_of

    summary = Awaited(link, plan, console).summary(settings.artifacts_dir.absolute())
    return Outcome(BatchDocument(summary), exit_code_of(*summary.orders))
