"""Where a demo's replies come from: the example's transcript, or a model."""

from __future__ import annotations

import os

from llmch.examples import Example
from shared.errors import CommandFailed
from shared.events import Emit
from shared.llm.access import check_access
from shared.llm.client import LlmClient
from shared.llm.stack import Mode, ModelSource
from shared.llm.transcript import Transcript
from shared.llm.usage import Budget
from shared.settings import Settings


def demo_source(mode: str, example: Example, settings: Settings) -> ModelSource:
    """Return the source for `mode`. Raises `ModelUnavailable` where a live one has no key."""
    if mode == Mode.REPLAY:
        return ModelSource(Mode.REPLAY, _never_live, example.transcript)
    access = check_access(os.environ, settings.planner.base_url)

    def open_live(emit: Emit) -> LlmClient:
        from shared.llm.live import LiveClient  # not needed to replay

        return LiveClient(access, emit)

    budget = Budget(settings.max_tokens, settings.max_cost)
    return ModelSource(Mode.LIVE, open_live, budget=budget, prices=settings.prices)


def demo_models(mode: str, example: Example, settings: Settings) -> tuple[str, str]:
    """Return the models that plan and that write; a replay names those of its transcript."""
    if mode == Mode.LIVE:
        return settings.planner.model, settings.factory.model
    with Transcript.read(example.transcript) as transcript:
        model = transcript.origin.get("model")
    if not model:
        raise CommandFailed(
            f"{example.transcript} does not say which model its requests name",
            "install llmch again: its examples are damaged",
        )
    return model, model


def _never_live(emit: Emit) -> LlmClient:
    raise AssertionError("a replay asks no model")
