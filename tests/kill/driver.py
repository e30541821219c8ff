"""One `run-all` in a process of its own, with a scripted model that keeps its account on disk.

What it is told comes as JSON, because it may have been told to die at any moment.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from factory.batch.batch import run_all
from factory.orders.documents import ReplyFormat
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.task import RunOptions
from factory.sandbox.policy import Backend
from shared.errors import LlmchError
from shared.events.events import Event, Warned
from shared.llm.model_client import Completion, Request, Usage
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings, Settings
from tests.fakes import proposal
from tests.kill.faults import TELL

INTERNAL = 70


@dataclass(frozen=True)
class Order:
    """What the driver is told to do."""

    repo: str
    plan: str
    artifacts: str
    calls: str
    """Where each call that reaches the model is noted, before it is answered."""
    result: str
    jobs: int
    replies: Mapping[str, list[dict[str, str]]]
    """For each order what its n-th attempt writes, by path."""
    environment: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    sandbox: str = Backend.OFF.value
    kill_after: float | None = None
    """Seconds after which the process is killed."""
    kill_tree: bool = False
    """Whether all it has started dies with it, as when the power goes."""
    faults: Mapping[str, Any] | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class CountingModel:
    """Answers by order and attempt, so that a second process goes on as the first would have."""

    def __init__(self, order: Order) -> None:
        self._order = order

    def complete(self, request: Request) -> Completion:
        place = request.place
        assert place.order is not None
        TELL(Path(self._order.calls), f"{place.order} {place.attempt}")
        time.sleep(self._order.latency)
        files = self._order.replies[place.order][place.attempt - 1]
        usage = Usage(calls=1, input_tokens=100, output_tokens=10)
        return Completion(text=proposal(files)(request), model=request.model, usage=usage)


def perform(order: Order) -> int:
    """Run the plan and return the exit code that the command line would."""
    os.environ.update(order.environment)
    warnings: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Warned):
            warnings.append(event.message)

    outcome: dict[str, Any] = {}
    try:
        summary = run_all(
            Path(order.plan), options_of(order), source_of(CountingModel(order)), watch
        )
        outcome = {"states": [each.state for each in summary.orders], "verdict": summary.verdict}
        code = 0 if summary.verdict == "PASS" else 1
    except LlmchError as error:
        outcome, code = {"error": error.message, "hint": error.hint}, int(error.exit_code)
    except KeyboardInterrupt:
        outcome, code = {"error": "interrupted"}, 130
    except Exception as error:  # a bug: the test says so
        outcome, code = {"error": repr(error), "traceback": traceback.format_exc()}, INTERNAL
    TELL(Path(order.result), json.dumps({**outcome, "warnings": warnings}))
    return code


def options_of(order: Order) -> RunOptions:
    return RunOptions(
        repo=Path(order.repo),
        settings=Settings(
            artifacts_dir=Path(order.artifacts),
            factory_attempts=3,
            sandbox=SandboxSettings(backend=Backend(order.sandbox)),
        ),
        models=ModelChoice((Rung("scripted"),), reply_format=ReplyFormat.JSON),
        python=Path(sys.executable),
        branch="work",
        jobs=order.jobs,
    )


def source_of(model: CountingModel) -> ModelSource:
    return ModelSource(Mode.LIVE, lambda emit: model)
