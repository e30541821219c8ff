"""Says which options of a run hold on all machines of a fleet. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from factory.orders.model_choice import ModelChoice
from factory.orders.options import RunOptions


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """Hold the options that decide what is asked and how it is judged, on any machine."""

    models: ModelChoice
    timeout_seconds: float
    strict_acceptance: bool
    verify: tuple[str, ...]
    dependencies: tuple[str, ...]
    attempts: int
    retry_flaky: int
    install_dependencies: bool
    allow_red: bool
    patience_seconds: float
    max_tokens: int | None
    max_cost: Decimal | None


def shared_options(options: RunOptions) -> SharedOptions:
    """Return the options of a run that hold on all machines."""
    settings = options.settings
    return SharedOptions(
        options.models,
        settings.timeout_seconds,
        settings.strict_acceptance,
        settings.verify,
        settings.dependencies,
        settings.factory_attempts,
        options.retry_flaky,
        options.install_dependencies,
        options.allow_red,
        options.patience_seconds,
        settings.max_tokens,
        settings.max_cost,
    )


def with_shared(options: RunOptions, shared: SharedOptions) -> RunOptions:
    """Return this machine's options with what must be the same on all machines."""
    settings = replace(
        options.settings,
        timeout_seconds=shared.timeout_seconds,
        strict_acceptance=shared.strict_acceptance,
        verify=shared.verify,
        dependencies=shared.dependencies,
        factory_attempts=shared.attempts,
        max_tokens=shared.max_tokens,
        max_cost=shared.max_cost,
    )
    return replace(
        options,
        settings=settings,
        models=shared.models,
        retry_flaky=shared.retry_flaky,
        install_dependencies=shared.install_dependencies,
        allow_red=shared.allow_red,
        patience_seconds=shared.patience_seconds,
    )
