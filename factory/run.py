"""Executes one work order: preflight, workspace, graph, landing, summary."""

from __future__ import annotations

from pathlib import Path

from factory.commit_facts import identify
from factory.options import RunOptions
from factory.orders import LoadedOrder, decide_exempt
from factory.preflight import Repo, Target, choose_target, inspect_repo
from factory.recording import RecordedRun, begin_record
from factory.schemas import RunSummary
from factory.session import open_session, refuse_inside
from factory.summary import public_json
from shared.atomic_io import write_json
from shared.events import Emit, Warned
from shared.llm.client import LlmClient
from shared.llm.usage import Meter


def run_order(
    loaded: LoadedOrder, options: RunOptions, record: RecordedRun, client: LlmClient, meter: Meter
) -> RunSummary:
    """Run one order and return what became of it.

    Raises `PreflightRefused`, `Busy`, `SandboxUnavailable` before anything is changed, and what
    the model layer raises when asking again would not help; the run's record tells in any case.
    """
    raise NotImplementedError
