"""Reads which targets a makefile has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import bounded, first_tracked, unreadable

_NAMES: Final = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks
# `test` first: in many projects `check` is a linter.
_WANTED: Final = ("test", "check")
_NAMES_OF_RULE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_. -]{0,300}")


class Make:
    """Read a makefile. It counts only where no other tool says how the project is tested."""

    name = "make"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project, with its targets as scripts."""
        manifest = first_tracked(files, _NAMES)
        if not manifest:
            return None
        text = files.text(manifest)
        if text is None:
            return Project(self.name, manifest, notes=(unreadable(manifest),))
        named = bounded(_targets_of(text))
        wanted = next((each for each in _WANTED if each in named), "")
        command = VerifyCommand(f"make {wanted}", f"{manifest}: {wanted}")
        return Project(
            tool=self.name,
            manifest=manifest,
            scripts={each: f"make {each}" for each in named},
            verify=(command,) if wanted else (),
            notes=() if wanted else (f"{manifest} has no target `test` or `check`",),
        )


def _targets_of(text: str) -> Iterator[str]:
    for line in text.splitlines():
        names, colon, rest = line.partition(":")
        # `name := value` and `name ::= value` define variables.
        if colon and not rest.lstrip(":").startswith("=") and _NAMES_OF_RULE.fullmatch(names):
            yield from (each for each in names.split() if not each.startswith("."))
