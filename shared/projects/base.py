"""Defines what is read out of a repository's manifests, for any build tool.

A build tool is one file beside this one and one entry of `registry.BUILD_TOOLS`. All paths are
relative to the root of the repository and use slashes. Nothing here runs a program or follows a
link: manifests are a stranger's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class RepoFiles(Protocol):
    """Read the files of one tree: a checkout, a commit, or a workspace."""

    @property
    def paths(self) -> Sequence[str]:
        """Return the paths of all files that git tracks, sorted."""

    def text(self, path: str) -> str | None:
        """Return the text of a file.

        The result is `None` where there is no regular file without a link on its way, or where the
        file is too large or not UTF-8.
        """


@dataclass(frozen=True, slots=True)
class VerifyCommand:
    """Hold a command that verifies a repository.

    `origin` names the place that the command comes from, as a person would look it up
    (`package.json: scripts.test`). `defined` is a command that does the same without that place;
    it is empty where the command does not depend on a definition that an order could change.
    """

    text: str
    origin: str
    defined: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """Hold what the manifest of one build tool says.

    `tool` is the build tool's name as people write it (`npm`, `Cargo`), and `manifest` the path
    of its file. `scripts` are the named commands that the manifest defines, and `dependencies`
    the packages that it declares, each as declared. `verify` is empty where nothing in the files
    says how the project is tested; `notes` then tell a person why, in sentences.
    """

    tool: str
    manifest: str
    name: str = ""
    scripts: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    verify: tuple[VerifyCommand, ...] = ()
    notes: tuple[str, ...] = ()


class BuildTool(Protocol):
    """Read the manifests of one build tool."""

    @property
    def name(self) -> str:
        """Return the tool's name as people write it."""

    def read(self, files: RepoFiles) -> Project | None:
        """Return what the manifest at the root says; `None` where the tool has none there.

        A manifest that cannot be read is a project with a note and without commands.
        """
