"""Reads `Cargo.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import (
    Table,
    bounded,
    is_tracked,
    one_line,
    parse_toml,
    table,
    text_at,
    unreadable,
)

MANIFEST: Final = "Cargo.toml"
_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")


class Cargo:
    """Read what the crate or the workspace at the root says."""

    name = "Cargo"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the crate; a workspace is tested as a whole."""
        if not is_tracked(files, MANIFEST):
            return None
        document = parse_toml(files.text(MANIFEST))
        if document is None:
            return Project(self.name, MANIFEST, notes=(unreadable(MANIFEST),))
        whole = " --workspace" if "workspace" in document else ""
        return Project(
            tool=self.name,
            manifest=MANIFEST,
            name=text_at(table(document, "package"), "name"),
            dependencies=bounded(_dependencies_of(document)),
            verify=(VerifyCommand(f"cargo test{whole}", MANIFEST),),
        )


def _dependencies_of(document: Table) -> Iterator[str]:
    for parent in (document, table(document, "workspace")):
        for each in _TABLES:
            for name, value in table(parent, each).items():
                version = value if isinstance(value, str) else _version_in(value)
                yield one_line(f"{name} {version}")


def _version_in(value: object) -> str:
    return text_at(value, "version") if isinstance(value, dict) else ""
