"""Finds the scripts and test files that a command names and that do not exist by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from planner.rules.placed_command import PlacedCommand, Unmet, path_inside, unprovided
from shared.rule_text import quoted

_BUILDS: Final = frozenset({"make", "cmake", "gcc", "cc", "g++", "clang", "cargo", "go", "npm"})
# Tools put files into these folders, and git ignores them, so a listing does not show them.
_GENERATED: Final = frozenset({"node_modules", "vendor", "target", "build", "dist", "venv"})


def unmet_script(placed: PlacedCommand, written: str) -> Iterator[Unmet]:
    """Yield the script that a command runs and that is not there by then, if it is missing."""
    path = path_inside(written)
    if not path or _has_script(path, placed, placed.after):
        return
    if _may_be_made(path, placed):
        yield unprovided("runs", path)
    else:
        yield _late_or_never("runs", path, placed, _has_script)


def _has_script(path: str, placed: PlacedCommand, after: int) -> bool:
    return placed.file_is_there(path, after) or placed.file_is_there(f"{path}/__main__.py", after)


def _may_be_made(path: str, placed: PlacedCommand) -> bool:
    """Say whether a tool, or an earlier command that builds or names it, may make the file."""
    return (
        path.startswith(".")
        or path.split("/", 1)[0] in _GENERATED
        or any(
            each.program in _BUILDS or path in each.text
            for index, each in placed.step.commands
            if index < placed.index
        )
    )


def unmet_paths(placed: PlacedCommand, paths: Sequence[str]) -> Iterator[Unmet]:
    """Yield those of `paths` that a command names and that are not there by then."""
    if placed.command.operator:
        return  # then some of the arguments are not paths
    for written in paths:
        path = path_inside(written.rstrip("/"))
        if path and not _has_path(path, placed, placed.after) and not _may_be_made(path, placed):
            yield _late_or_never("names", path, placed, _has_path)


def _has_path(path: str, placed: PlacedCommand, after: int) -> bool:
    return placed.file_is_there(path, after) or placed.chain.may_be_folder(path, after)


def _late_or_never(
    verb: str, path: str, placed: PlacedCommand, has: Callable[[str, PlacedCommand, int], bool]
) -> Unmet:
    later = placed.first_with(lambda after: has(path, placed, after))
    if later is not None:
        source = placed.step.source(later)
        return Unmet("E217", path, f"{verb} {quoted(path)}, which only {source} provides")
    return Unmet("E241", path, f"{verb} {quoted(path)}, which does not exist by then")
