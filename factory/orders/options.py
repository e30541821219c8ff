"""Defines one value for everything that the caller of the factory decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from factory.orders.model_choice import ModelChoice
from factory.repo.preflight import BranchPolicy
from shared.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Hold where to work, the models, the settings and the other choices of the caller."""

    repo: Path
    settings: Settings
    models: ModelChoice
    python: Path
    python_why: str = field(default="", kw_only=True)
    """Why commands get this interpreter, in a few words for the first lines of a run."""
    branch: str | None = None
    policy: BranchPolicy = BranchPolicy.EITHER
    start: str | None = None
    retry_flaky: int = 0
    install_dependencies: bool = False
    jobs: int = 1
    keep_going: bool = False
    allow_verify_exempt: bool = False
    allow_red: bool = False
    """Whether orders may begin on a base whose verification fails; then none may make more fail."""
    allow_dirty: bool = False
    """Whether a run may begin from HEAD beside uncommitted changes, which it does not see."""
    allow_changed: bool = False
    """Whether orders are made though files that the plan was made for have changed since."""
    allow_lost: bool = False
    """Whether orders are made again whose commits the branch once had and then lost."""
    patience_seconds: float = 10.0
    """How long to wait, once a model's reply has arrived, for trials started beside the call.
    The default is about the time that a model takes itself; a replay must not wait longer."""
    allow_repo_filters: bool = False
    push: bool = False
    date: str = ""
    """The date of all commits, in git's form; the time at which the run begins where it is ""."""
    out: Path | None = None
