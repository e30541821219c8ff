"""Where a demo's replies come from: the example's transcript, or a model."""

from __future__ import annotations

from llmch.examples import Example
from llmch.wiring import live_source
from shared.llm.stack import Mode, ModelSource
from shared.llm.transcript import Transcript
from shared.settings import Settings


def demo_source(mode: str, example: Example, settings: Settings) -> ModelSource:
    """Return the source for `mode`. Raises `ModelUnavailable` where a live one has no key."""
    if mode == Mode.LIVE:
        return live_source(settings, settings.planner)
    return ModelSource(Mode.REPLAY, transcript=example.transcript)


def demo_models(mode: str, example: Example, settings: Settings) -> tuple[str, str]:
    """Return the models that plan and that write; a replay's are those its transcript names."""
    if mode == Mode.LIVE:
        return settings.planner.model, settings.factory.model
    with Transcript.read(example.transcript) as transcript:
        origin = transcript.origin
    model = origin.get("model", "unknown")
    return origin.get("planner_model", model), origin.get("factory_model", model)
