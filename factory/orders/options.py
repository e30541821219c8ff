"""What the caller of the factory decides, in one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.orders.model_choice import ModelChoice
from factory.repo.preflight import BranchPolicy
from shared.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Where to work, with which model, by which settings, and what else a run was asked for."""

    repo: Path
    settings: Settings
    models: ModelChoice
    python: Path
    branch: str | None = None
    policy: BranchPolicy = BranchPolicy.EITHER
    start: str | None = None
    retry_flaky: int = 0
    install_dependencies: bool = False
    jobs: int = 1
    keep_going: bool = False
    allow_verify_exempt: bool = False
    patience_seconds: float = 10.0
    """For what is tried beside the model's call, once the reply is there: about as long as a model
    takes itself; a replay must not wait for more."""
    allow_repo_filters: bool = False
    push: bool = False
    out: Path | None = None
