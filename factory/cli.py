"""The flags of `run` and `run-all`, and what they mean to the factory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from factory.options import RunOptions, SandboxChoice
from factory.preflight import BranchPolicy
from factory.sandbox import Backend
from factory.state import ModelChoice
from shared.errors import InvalidInput
from shared.settings import MAX_ATTEMPTS, Settings


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add everything that `run` and `run-all` have in common."""
    parser.add_argument("--repo", type=Path, required=True, metavar="DIR", help="the git repo")
    _add_branch_arguments(parser.add_argument_group("branch"))
    _add_attempt_arguments(parser.add_argument_group("attempts"))
    _add_sandbox_arguments(parser.add_argument_group("commands"))


def options_from(args: argparse.Namespace, settings: Settings, artifacts: Path) -> RunOptions:
    """Return what the flags ask for, the settings standing in for what they leave open.

    Raises `InvalidInput` where a value is out of range.
    """
    return RunOptions(
        repo=args.repo,
        artifacts=artifacts,
        models=_model_choice(args, settings),
        sandbox=_sandbox_choice(args, settings),
        python=_interpreter(args.python or settings.python),
        branch=args.branch,
        policy=_policy(args),
        start=args.commit_hash,
        max_attempts=settings.factory_attempts,
        timeout_seconds=_timeout(args.timeout_seconds or settings.timeout_seconds),
        protected=settings.protected_branches,
        allow_verify_exempt=args.allow_verify_exempt,
        allow_repo_filters=args.allow_repo_filters,
        push=args.push,
        out=args.out,
    )
