"""Lists the build tools. A new one is a file beside this one and an entry here."""

from __future__ import annotations

from typing import Final

from shared.projects.base import BuildTool, Project, RepoFiles
from shared.projects.dotnet import DotNet
from shared.projects.go import Go
from shared.projects.jvm import Gradle, Maven
from shared.projects.make import Make
from shared.projects.node import Node
from shared.projects.python import Python
from shared.projects.rust import Cargo

BUILD_TOOLS: Final[tuple[BuildTool, ...]] = (
    Python(),
    Node(),
    Go(),
    Cargo(),
    Maven(),
    Gradle(),
    DotNet(),
    Make(),
)


def find_projects(files: RepoFiles) -> tuple[Project, ...]:
    """Return the projects at the root of a repository, in the order of `BUILD_TOOLS`."""
    found = (tool.read(files) for tool in BUILD_TOOLS)
    return tuple(each for each in found if each is not None)
