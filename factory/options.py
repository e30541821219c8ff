"""What the caller of the factory decides, in one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.llm import ModelChoice
from factory.preflight import BranchPolicy
from factory.sandbox import Backend


@dataclass(frozen=True, slots=True)
class SandboxChoice:
    """How untrusted commands are contained and what is let through to them."""

    backend: Backend
    network_host: bool = False
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    environment: tuple[str, ...] = ()
    """Names of variables that the configuration passes on."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Where to work, with which model, within which bounds."""

    repo: Path
    artifacts: Path
    models: ModelChoice
    sandbox: SandboxChoice
    python: Path
    branch: str | None = None
    policy: BranchPolicy = BranchPolicy.EITHER
    start: str | None = None
    max_attempts: int = 5
    timeout_seconds: float = 600.0
    retry_flaky: int = 0
    install_dependencies: bool = False
    jobs: int = 1
    keep_going: bool = False
    protected: frozenset[str] = frozenset({"main", "master"})
    allow_verify_exempt: bool = False
    strict_acceptance: bool = False
    patience_seconds: float = 10.0
    """For what is tried beside the model's call, once the reply is there: about as long as a model
    takes itself; a replay must not wait for more."""
    allow_repo_filters: bool = False
    push: bool = False
    out: Path | None = None
