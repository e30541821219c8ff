"""Defines a submitted plan and what came of it, as they go through the queue. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from factory.fleet.jobs import Refusal
from factory.fleet.shared_options import SharedOptions
from shared.git.identity import Identity


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """Hold a plan with all that its coordinator needs, whichever worker that is.

    `files` are the plan's, by name. The branch begins at the commit `base` of `base_branch`, where
    the remote does not have it yet. `author`, `subject` and `date` are those of all commits.
    """

    remote: str
    repo: str
    """The name of the repo's folder, which is the name of each workspace."""
    base_branch: str
    base: str
    branch: str
    files: Mapping[str, str]
    author: Identity | None
    subject: str
    date: str
    options: SharedOptions
    protected_branches: frozenset[str]
    train: int
    keep_going: bool
    allow_verify_exempt: bool
    allow_changed: bool
    allow_lost: bool


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """Hold how the run of a plan ended: its summary, or the error that ended it before.

    `files` are its records, which were below `folder` where it ran.
    """

    summary: Mapping[str, Any] | None
    error: Refusal | None
    folder: str
    files: Mapping[str, str]
