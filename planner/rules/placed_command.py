"""Represents a command at its place in the plan, and what it needs there without having it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from planner.plan.projection import Projection
from planner.rules.dependencies import Dependencies
from planner.steps.step import Step
from shared.files.paths import PathProblem, check_path
from shared.languages.capabilities.commands import Command
from shared.rule_text import quoted


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold facts about the whole chain that every command needs.

    `packages` are the folders with Python files in them, and all folders above those. `stems` are
    the paths of files without their suffixes.
    """

    packages: frozenset[str]
    stems: frozenset[str]
    dependencies: Dependencies


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """Hold one command, its place in the plan, and the folders that it imports from (`roots`)."""

    step: Step
    index: int
    command: Command
    roots: tuple[str, ...]
    layout: Layout

    @property
    def chain(self) -> Projection:
        return self.step.chain

    @property
    def after(self) -> int:
        return self.step.draft.position

    def file_is_there(self, path: str, after: int) -> bool:
        return self.chain.may_exist(path, after) or self.chain.is_unread(path, after)

    def first_with(self, holds: Callable[[int], bool]) -> int | None:
        """Return the position of the first later order after which `holds` is true.

        Orders never remove a file, so `holds` stays true from then on.
        """
        positions = range(self.after + 1, len(self.step.plan.drafts) + 1)
        if not positions or not holds(positions[-1]):
            return None
        return positions[bisect_left(positions, True, key=holds)]


@dataclass(frozen=True, slots=True)
class Unmet:
    """Hold the code, the name and the message of a need that nothing meets."""

    code: str
    name: str
    message: str


def layout_of(chain: Projection, dependencies: Dependencies) -> Layout:
    """Return the facts about a chain that its files and `dependencies` give."""
    paths = (*chain.first, *chain.possible)
    packages = {
        folder
        for path in paths
        if path.endswith((".py", ".pyi"))
        for folder in accumulate(path.split("/")[:-1], lambda above, name: f"{above}/{name}")
    }
    return Layout(frozenset(packages), frozenset(map(_stem, paths)), dependencies)


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.split('.', 1)[0]}"


def unprovided(verb: str, name: str) -> Unmet:
    """Return the need of something that is perhaps provided where we cannot see it."""
    message = f"{verb} {quoted(name)}, which neither the repo nor an order up to here has"
    return Unmet("W101", name, message)


def path_inside(path: str) -> str:
    """Return the normal form of a path within the repo, and the empty string for any other path."""
    try:
        return check_path(path)
    except PathProblem:
        return ""
