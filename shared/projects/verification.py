"""Decides what verifies a repository, and says where each command comes from. Pure.

The first of these that says anything decides: the setting `verify`; `scripts/verify.sh`; the
manifests, all of them, with a makefile only where no other does; and, where nothing says how the
repository is tested, what is usual for Python, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.nested import nested_notes
from shared.projects.python import COMMANDS, Python
from shared.projects.reading import is_tracked
from shared.projects.registry import find_projects
from shared.work_order.schemas import VERIFY_SCRIPT

_SETTING: Final = "the setting verify"
_USUAL: Final = "usual for Python"


class Ground(StrEnum):
    """Name what a verification rests on.

    `USUAL` and `NOTHING` prove nothing about the repository: commits on it rest on acceptance.
    """

    SETTING = "setting"
    SCRIPT = "script"
    MANIFESTS = "manifests"
    USUAL = "usual"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Verification:
    """Hold the commands that verify a tree, and what they rest on.

    `projects` are those whose manifests were read; empty where these decide nothing. `notes` say
    in sentences what is not run, and why.
    """

    commands: tuple[VerifyCommand, ...]
    ground: Ground
    projects: tuple[Project, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether the user or the repository says how it is verified."""
        return self.ground not in (Ground.USUAL, Ground.NOTHING)

    def describe(self) -> str:
        """Return the commands, and where they come from, as one line."""
        if not self.is_known:
            return (
                "nothing says how this repo is verified, so commits rest on the acceptance "
                "commands alone: --verify CMD names a command"
            )
        return f"verified by {', '.join(self._by_origin())}"

    def _by_origin(self) -> Iterator[str]:
        for origin in dict.fromkeys(each.origin for each in self.commands):
            texts = [f"`{each.text}`" for each in self.commands if each.origin == origin]
            yield f"{' and '.join(texts)} ({origin})"


def find_verification(
    files: RepoFiles, chosen: Sequence[str] = (), known: tuple[Project, ...] | None = None
) -> Verification:
    """Return what verifies the tree of `files`; `chosen` is the setting `verify`.

    `known` are the projects of the tree; without them, they are looked for where they count.
    """
    if chosen:
        commands = tuple(VerifyCommand(each, _SETTING) for each in chosen)
        return Verification(commands, Ground.SETTING)
    if files.text(VERIFY_SCRIPT) is not None:
        command = VerifyCommand(f"bash {VERIFY_SCRIPT}", VERIFY_SCRIPT)
        return Verification((command,), Ground.SCRIPT)
    projects = find_projects(files) if known is None else known
    notes = (*_script_notes(files), *_project_notes(projects), *nested_notes(files, projects))
    if commands := _commands_of(projects):
        return Verification(commands, Ground.MANIFESTS, projects, notes)
    if all(each.tool in (Python.name, "make") for each in projects):
        usual = tuple(VerifyCommand(each, _USUAL) for each in COMMANDS)
        return Verification(usual, Ground.USUAL, projects, notes)
    return Verification((), Ground.NOTHING, projects, notes)


def _commands_of(projects: Sequence[Project]) -> tuple[VerifyCommand, ...]:
    """Return the commands of all projects; those of a makefile only where no other has any."""
    own = [each for project in projects if project.tool != "make" for each in project.verify]
    return tuple(own or (each for project in projects for each in project.verify))


def _project_notes(projects: Sequence[Project]) -> Iterator[str]:
    others = any(each.verify for each in projects if each.tool != "make")
    for each in projects:
        if each.tool != "make" or not others:
            yield from each.notes


def _script_notes(files: RepoFiles) -> Iterator[str]:
    if is_tracked(files, VERIFY_SCRIPT):
        yield f"{VERIFY_SCRIPT} is not run: it is a link, too large, or not UTF-8"
