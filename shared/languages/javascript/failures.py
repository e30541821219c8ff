"""Tells which package of Node a failed command lacks, by what it printed. Pure."""

from __future__ import annotations

from typing import Final

from shared.languages.capabilities.failures import Installable, Lack
from shared.languages.javascript.packages import missed_packages

_INSTALL: Final = (
    "install the packages in the checkout (`npm install`), whose node_modules commands then see, "
    "or pass --deps auto, which installs what the lock names"
)


class NodeFailures:
    """Implement `Failures` for packages of Node."""

    def find_lack(self, output: str, project: Installable) -> Lack | None:
        """Return the first declared package that Node did not find."""
        for package in missed_packages(output):
            if package in project.declared:
                return Lack(f"The Node package {package!r} is not installed.", (_INSTALL,))
        return None

    def ways_to_program(self, program: str, *, is_command: bool) -> tuple[str, ...]:
        """Return how a program of a package is run, or installed."""
        # npx looks into node_modules, which is not on the PATH.
        npx = f"write `npx {program}` if a package of the repo has it"
        return (npx if is_command else _INSTALL,)
