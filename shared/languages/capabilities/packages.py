"""Defines the capability to know a project's packages by what its manifests declare."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Packages(Protocol):
    """Read which packages a project declares, and what commands print of missing ones."""

    def declares(self, path: str) -> bool:
        """Return whether a file of this path declares what a project requires."""

    def declared(self, text: str) -> frozenset[str]:
        """Return the names that such a file declares, in normal form. Its text may be anything."""

    def normal_name(self, name: str) -> str:
        """Return a package's name in the form in which two spellings are equal."""

    def provides(self, names: Collection[str], module: str) -> bool:
        """Return whether one of the packages `names`, in normal form, has the top-level module."""

    def not_installed(self, text: str, output: str) -> tuple[str, ...]:
        """Return what the declaration `text` has and a command's `output` misses.

        Each is the subject of a sentence that ends in "is not installed".
        """
