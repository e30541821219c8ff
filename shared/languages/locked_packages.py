"""Knows that a tool refuses packages that no lock file names, without knowing which. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LockedPackages:
    """Implement `Packages` for a language whose tool names the lock file, and not the package.

    `manifest` is the name of the file that declares packages, and `refused` what the tool prints.
    """

    manifest: str
    refused: re.Pattern[str]

    def declares(self, path: str) -> bool:
        """Return whether the file is the manifest, in whatever folder."""
        return path.rpartition("/")[2] == self.manifest

    def declared(self, text: str) -> frozenset[str]:
        """Return nothing: what such a manifest declares is not read here."""
        return frozenset()

    def normal_name(self, name: str) -> str:
        """Return the name as it is: a package has one spelling."""
        return name

    def provides(self, names: Collection[str], module: str) -> bool:
        """Return whether the package of that name is among `names`."""
        return module in names

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        """Return a package without a name where the tool refused one."""
        return ("A package",) if self.refused.search(output) else ()
