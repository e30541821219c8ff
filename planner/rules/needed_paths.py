"""Finds the scripts and test files that a command names and that do not exist by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.rules.placed_command import PlacedCommand
from shared.files.paths import path_inside
from shared.languages.capabilities.chain import Need
from shared.languages.capabilities.commands import Command
from shared.languages.fault_words import missing_path, provided_later, unprovided
from shared.languages.registry import language_named
from shared.projects.programs import BUILDERS, GENERATED_FOLDERS


def unmet_script(placed: PlacedCommand, written: str) -> Iterator[Need]:
    """Yield the script that a command runs and that is not there by then, if it is missing."""
    path = path_inside(written)
    if not path or _has_script(path, placed, placed.after):
        return
    if _may_be_made(path, placed):
        yield unprovided("runs", path)
    else:
        yield _late_or_never("runs", path, placed, _has_script)


def _has_script(path: str, placed: PlacedCommand, after: int) -> bool:
    language = language_named(placed.command.language)
    reader = language.commands if language is not None else None
    paths = reader.script_paths(path) if reader is not None else (path,)
    return any(placed.file_is_there(each, after) for each in paths)


def _may_be_made(path: str, placed: PlacedCommand) -> bool:
    """Say whether a tool, or an earlier command that builds or names it, may make the file."""
    return (
        path.startswith(".")
        or path.split("/", 1)[0] in GENERATED_FOLDERS
        or any(
            _makes_files(each) or path in each.text
            for index, each in placed.step.commands
            if index < placed.index
        )
    )


def _makes_files(command: Command) -> bool:
    language = language_named(command.language)
    if language is None or language.commands is None:
        return command.program in BUILDERS
    return language.commands.makes_files(command)


def unmet_paths(placed: PlacedCommand, paths: Sequence[str]) -> Iterator[Need]:
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
) -> Need:
    later = placed.first_with(lambda after: has(path, placed, after))
    if later is not None:
        return provided_later(verb, path, placed.step.source(later))
    remover = placed.chain.remover(path, placed.after)
    return missing_path(verb, path, placed.step.source(remover) if remover else "")
