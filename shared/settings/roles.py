"""Declares how the model of each role is asked: the planner, the reviewer and the factory."""

from __future__ import annotations

from dataclasses import dataclass

from shared.settings.declaration import Flag, FlagGroup, setting
from shared.settings.values.names import read_ladder, read_model
from shared.settings.values.numbers import Number, WholeNumber
from shared.settings.values.words import read_effort, read_url

_OUTPUT_TOKENS = WholeNumber(1, 10_000_000)
_TEMPERATURE = Number(0, 2)

# What the settings of all roles mean alike.
_AN_EFFORT = "a word that the server knows"
_HOW_RANDOM = "how random replies are; not sent to a model that refuses it"


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """Say which model answers for a role, on which server, and how it is asked.

    `None` stands for the server's default. Only the factory's ladder may have more than one model:
    later models answer later attempts.
    """

    ladder: tuple[str, ...]
    base_url: str | None
    reasoning_effort: str | None
    max_output_tokens: int | None
    temperature: float | None

    @property
    def model(self) -> str:
        """Return the model that is asked first."""
        return self.ladder[0]


@dataclass(frozen=True, slots=True)
class PlannerSettings(RoleSettings):
    """Say how the model that plans is asked."""

    ladder: tuple[str, ...] = setting(
        read_model,
        ("gpt-5.2-codex",),
        "the model that plans",
        name="planner.model",
        flag=Flag("--model", FlagGroup.PLANNER, "M"),
    )
    base_url: str | None = setting(
        read_url,
        None,
        "the planner's server",
        name="planner.base_url",
        default_words="`OPENAI_BASE_URL`",
        guarded=True,
    )
    reasoning_effort: str | None = setting(
        read_effort,
        "medium",
        "a word that the server knows, such as low or high",
        name="planner.reasoning_effort",
        flag=Flag("--reasoning-effort", FlagGroup.PLANNER, "E"),
    )
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        64_000,
        "room for the reply, reasoning included",
        name="planner.max_output_tokens",
        flag=Flag("--max-output-tokens", FlagGroup.PLAN_ALONE, "N"),
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        0.0,
        _HOW_RANDOM,
        name="planner.temperature",
    )


@dataclass(frozen=True, slots=True)
class ReviewerSettings(RoleSettings):
    """Say how the model that reviews a valid plan is asked."""

    ladder: tuple[str, ...] = setting(
        read_model,
        (),
        "the model that reviews",
        name="reviewer.model",
        flag=Flag("--reviewer-model", FlagGroup.REVIEW, "M"),
        like="planner.model",
    )
    base_url: str | None = setting(
        read_url,
        None,
        "the reviewer's server",
        name="reviewer.base_url",
        guarded=True,
        like="planner.base_url",
    )
    reasoning_effort: str | None = setting(
        read_effort,
        None,
        _AN_EFFORT,
        name="reviewer.reasoning_effort",
        like="planner.reasoning_effort",
    )
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        None,
        "room for the review",
        name="reviewer.max_output_tokens",
        like="planner.max_output_tokens",
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        None,
        _HOW_RANDOM,
        name="reviewer.temperature",
        like="planner.temperature",
    )


@dataclass(frozen=True, slots=True)
class FactorySettings(RoleSettings):
    """Say how the model that writes code is asked."""

    # The default differs from the planner's. The planner's model answers on the Responses API
    # only, and the factory uses Chat Completions, which every compatible server has.
    ladder: tuple[str, ...] = setting(
        read_ladder,
        ("gpt-5.2",),
        "the model that writes code; a list (`small,large`) escalates",
        name="factory.model",
        flag=Flag("--llm-model", FlagGroup.ATTEMPTS, "M"),
    )
    base_url: str | None = setting(
        read_url,
        None,
        "the factory's server",
        name="factory.base_url",
        default_words="`OPENAI_BASE_URL`",
        guarded=True,
    )
    reasoning_effort: str | None = setting(
        read_effort,
        None,
        _AN_EFFORT,
        name="factory.reasoning_effort",
        default_words="the server's",
    )
    # A proposal's largest single file, 200 KB of code, is about 50,000 tokens; an order that needs
    # half of that is already too large. Reasoning counts too.
    max_output_tokens: int | None = setting(
        _OUTPUT_TOKENS,
        32_000,
        "room for a proposal, reasoning included",
        name="factory.max_output_tokens",
    )
    temperature: float | None = setting(
        _TEMPERATURE,
        0.0,
        _HOW_RANDOM,
        name="factory.temperature",
        flag=Flag("--llm-temperature", FlagGroup.ATTEMPTS, "T"),
    )
