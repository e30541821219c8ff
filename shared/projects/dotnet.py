"""Finds the solution or the project of .NET at the root of a repository."""

from __future__ import annotations

import re
import shlex
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import bounded, one_line

_SOLUTIONS: Final = (".sln", ".slnx")
_PROJECTS: Final = (".csproj", ".fsproj", ".vbproj")
_PACKAGE = re.compile(
    r"<PackageReference\s+Include=\"([^\"\n]{1,200})\"(?:\s+Version=\"([^\"\n]{1,60})\")?"
)


class DotNet:
    """Read which solution or project the root holds."""

    name = ".NET"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the solution, or the project where there is no solution.

        Where there are several, `dotnet test` needs to be told which, so the first is named.
        """
        found = _at_root(files, _SOLUTIONS) or _at_root(files, _PROJECTS)
        if not found:
            return None
        several = len(found) > 1
        command = f"dotnet test {shlex.quote(found[0])}" if several else "dotnet test"
        named = [f"{name} {version}".strip() for name, version in _packages(files)]
        others = ", ".join(found[1:4])
        note = f"{others} not run: `--verify 'dotnet test FILE'` names another"
        return Project(
            tool=self.name,
            manifest=one_line(found[0]),
            name=one_line(found[0].rpartition(".")[0]),
            dependencies=bounded(map(one_line, named)),
            verify=(VerifyCommand(command, one_line(found[0])),),
            notes=(note,) if several else (),
        )


def _at_root(files: RepoFiles, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files of these kinds at the root, without those whose name is no plain word."""
    named = (path for path in files.paths if "/" not in path and path.endswith(suffixes))
    return [path for path in named if path == one_line(path)]


def _packages(files: RepoFiles) -> list[tuple[str, str]]:
    texts = (files.text(path) or "" for path in _at_root(files, _PROJECTS))
    return [found for text in texts for found in _PACKAGE.findall(text)]
