"""Waits for a submitted plan on behalf of `submit --wait` and `fleet wait`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Outcome
from shared.errors import InterruptedRun

if TYPE_CHECKING:
    from factory.fleet.link import Link
    from llmch.entry.reports import Reports
    from shared.settings.settings import Settings


def await_plan(
    link: Link, plan: str, settings: Settings, reports: Reports, console: Console
) -> Outcome:
    """Return how a submitted plan ended, as `run-all` would; its records are here then.

    They are reported as `reports` asks. Raises the error that ended the run. Whoever stops to wait
    does not stop the plan.
    """
    from factory.fleet.plans.awaiting import Awaited
    from llmch.answers.orders import BatchDocument
    from llmch.entry.execution import exit_code_of
    from llmch.entry.reports import report_records

    try:
        summary = Awaited(link, plan, console).summary(settings.artifacts_dir.absolute())
    except KeyboardInterrupt as interrupt:
        hint = f"the plan goes on: `llmch fleet wait {plan}` waits for it again"
        raise InterruptedRun(hint) from interrupt
    report_records(reports, Path(summary.run_dir), settings.artifacts_dir, console)
    return Outcome(BatchDocument(summary), exit_code_of(*summary.orders))
