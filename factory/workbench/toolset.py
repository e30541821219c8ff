"""Finds the toolchains of a run's commands, and prepares what Go's build cache begins with."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.sandbox.seeds import go_seed, seed_is_kept, standard_imports
from factory.sandbox.toolchains.found import NO_TOOLCHAINS, Toolchains
from factory.sandbox.toolchains.search import find_toolchains, with_named
from factory.sandbox.visible.environment import SYSTEM_PATH
from factory.workbench.workspace import Workspace, seeds_root
from shared.errors import CommandFailed
from shared.events.event import Emit
from shared.events.messages import Noted, Warned
from shared.files.repo_sources import RepoSources
from shared.git import trees
from shared.settings.sandbox import SandboxBackend, SandboxSettings

_MOST_SOURCES: Final = 2_000  # Go files that are read for their imports


@dataclass(frozen=True, slots=True)
class Toolset:
    """Hold the toolchains that commands see, and the seed of Go's cache where the repo has Go."""

    toolchains: Toolchains = NO_TOOLCHAINS
    go_seed: Path | None = None


def find_toolset(
    workspace: Workspace, checkout: Path, settings: SandboxSettings, emit: Emit
) -> Toolset:
    """Return the toolset for a workspace whose tree is its baseline.

    No folder inside `checkout`, the user's own tree, is taken for a toolchain. Raises
    `InvalidInput` where the setting `sandbox.path` names something else than a folder.
    """
    toolchains = toolchains_for(workspace.root, checkout, settings)
    files = trees.files_of(workspace.git, workspace.baseline)
    if not any(path.rpartition("/")[2] == "go.mod" for path in files):
        return Toolset(toolchains)
    system = SYSTEM_PATH
    if settings.backend is SandboxBackend.OFF:
        system = toolchains.bare_path or SYSTEM_PATH
    path = toolchains.search_path(system)
    go = shutil.which("go", path=path)
    sources = _go_sources(RepoSources(workspace.root), files)
    return Toolset(toolchains, _seed(Path(go), path, sources, emit) if go else None)


def toolchains_for(
    tree: Path | None, checkout: Path | None, settings: SandboxSettings
) -> Toolchains:
    """Return the toolchains for the commands of the repo whose files are in `tree`, if any.

    Raises `InvalidInput` as `find_toolset` does.
    """
    text_of = RepoSources(tree).read if tree else _no_text
    return with_named(find_toolchains(checkout, text_of), settings.path)


def seed_of_tests(program: str, toolchains: Toolchains) -> Path | None:
    """Return what the cache of `program` begins with where it compiles tests; `None` if nothing."""
    go = shutil.which("go", path=toolchains.search_path(SYSTEM_PATH)) if program == "go" else None
    if go is None:
        return None
    try:
        path = toolchains.search_path(SYSTEM_PATH)
        return go_seed(Path(go), path, frozenset({"testing"}), seeds_root())
    except (CommandFailed, OSError):
        return None  # the first question then takes longer


def _no_text(path: str) -> None:
    return None


def _go_sources(sources: RepoSources, files: Iterable[str]) -> Iterator[str]:
    paths = [each for each in files if each.endswith(".go")][:_MOST_SOURCES]
    return (text for each in paths if (text := sources.read(each)) is not None)


def _seed(go: Path, path: str, sources: Iterator[str], emit: Emit) -> Path | None:
    """Return the seed of Go's cache; without one, each attempt compiles the standard library."""
    packages, kept = standard_imports(sources, go), seeds_root()
    try:
        if not seed_is_kept(go, packages, kept):
            emit(Noted("compiling the parts of Go's standard library that the repo imports, once"))
        return go_seed(go, path, packages, kept)
    except (CommandFailed, OSError) as error:
        reason = error.message if isinstance(error, CommandFailed) else error.strerror or str(error)
        emit(Warned(f"Go's standard library could not be compiled beforehand: {reason}"))
        return None
