"""Chooses the source of a demo's replies: the example's transcript, or a model."""

from __future__ import annotations

from factory.cli import model_choice
from factory.orders.ladder import Rung
from factory.orders.model_choice import ModelChoice
from factory.orders.reply_format import ReplyFormat
from llmch.entry.wiring import live_source
from llmch.verbs.demo.examples import Example
from planner.cli import planning_model
from planner.compile.model import PlannerModel
from shared.llm.record.origin import ReplyOrigin
from shared.llm.record.transcript import Transcript
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import Settings


def demo_source(mode: str, example: Example, settings: Settings) -> ModelSource:
    """Return the source of replies in `mode`.

    Raises `ModelUnavailable` where a live model has no key.
    """
    if mode == Mode.LIVE:
        return live_source(settings, settings.planner)
    return ModelSource(Mode.REPLAY, transcript=example.transcript)


def demo_models(
    mode: str, example: Example, settings: Settings
) -> tuple[PlannerModel, ModelChoice]:
    """Return the models that plan and write; a replay uses those that its transcript names."""
    if mode == Mode.LIVE:
        return planning_model(settings.planner), model_choice(settings)
    with Transcript.read(example.transcript) as transcript:
        return recorded_models(transcript.origin)


def recorded_models(origin: ReplyOrigin) -> tuple[PlannerModel, ModelChoice]:
    """Return the models that a transcript's header names, to be asked as they were then."""
    model = origin.model or "unknown"
    factory_model = origin.factory_model or model
    return (
        PlannerModel(origin.planner_model or model, None, None),
        ModelChoice(
            (Rung(factory_model),),
            reply_format=ReplyFormat(origin.reply_format or ReplyFormat.JSON),
        ),
    )
