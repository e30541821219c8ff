"""Describes what a plan is judged against: the repo it is for, and what the user allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.projects.base import VerifyCommand


@dataclass(frozen=True, slots=True)
class Allowed:
    """Hold the programs and packages that `[tool.llmch]` allows besides the repo's own."""

    programs: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()


NOTHING_MORE: Final = Allowed()


@dataclass(frozen=True, slots=True)
class TargetRepo:
    """Hold the repo's files as git lists them, and what the user allows.

    `sources` has the texts of the files that rules read, as far as they could be read: Python
    modules and stubs, `pyproject.toml`, and requirements files. Rules ask for few of them.
    `verification` are the commands that verify the repo, where they are known and the repo has no
    script of its own for that.
    """

    files: frozenset[str] = frozenset()
    sources: Mapping[str, str] = field(default_factory=dict)
    allowed: Allowed = NOTHING_MORE
    verification: tuple[VerifyCommand, ...] = ()
