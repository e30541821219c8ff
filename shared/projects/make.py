"""Reads which targets a makefile has."""

from __future__ import annotations

import re
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import first_tracked, one_line, unreadable

_NAMES: Final = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks
# `test` first: in many projects `check` is a linter.
_WANTED: Final = ("test", "check")
_RULE = re.compile(r"^([A-Za-z0-9_.][A-Za-z0-9_. -]{0,300}?) *::?(?!=)", re.MULTILINE)


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
        targets = [name for rule in _RULE.findall(text) for name in rule.split()]
        named = [each for each in dict.fromkeys(targets) if not each.startswith(".")][:200]
        wanted = next((each for each in _WANTED if each in named), "")
        command = VerifyCommand(f"make {wanted}", f"{manifest}: {wanted}")
        return Project(
            tool=self.name,
            manifest=manifest,
            scripts={one_line(each): f"make {each}" for each in named},
            verify=(command,) if wanted else (),
            notes=() if wanted else (f"{manifest} has no target `test` or `check`",),
        )
