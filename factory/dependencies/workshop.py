"""Starts installers with the user's own variables, and keeps what they made."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from factory.dependencies.store import kept
from factory.sandbox.visible.interpreter import Interpreter, interpreter_of, virtual_root
from shared.errors import EnvironmentFault
from shared.languages.registry import LANGUAGES
from shared.process import ToolFailed, ToolMissing, run_tool

INSTALL_SECONDS: Final = 900.0
"""The limit for each step of the installation: numeric libraries on a slow line stay below it."""

# Where any client finds programs, its settings, certificates and the way out.
_PASSED_ON: Final = r"PATH|HOME|LANG|(SSL|XDG)_\w+|(https?|no|all)_proxy"

_UNREACHABLE: Final = re.compile(
    r"NewConnectionError|Failed to establish a new connection|Temporary failure in name resolution"
    r"|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|Could not resolve host|dial tcp"
    r"|error sending request|Failed to connect|Couldn't connect to server|Network is unreachable"
)


class RegistryUnreachable(EnvironmentFault):
    """Say that an installer could not reach a registry, so that no other manifest would help."""


@dataclass(frozen=True, slots=True)
class LocalWorkshop:
    """Implement `Workshop` on this machine.

    What was made is kept below `cache`. `python` is the interpreter of commands, `environ` holds
    the user's variables, and `present` the paths at which commands find installed packages already.
    """

    cache: Path
    python: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    present: frozenset[str] = frozenset()

    @property
    def variables(self) -> dict[str, str]:
        """Return those of the user's variables that an installer may have."""
        passed_on = _passed_on()
        return {name: value for name, value in self.environ.items() if passed_on.fullmatch(name)}

    def base_python(self) -> Interpreter:
        """Return the Python of commands, or the one below its virtual environment.

        The packages of an environment may run at start.
        """
        python = self.python.absolute()
        return interpreter_of(python.resolve() if virtual_root(python) else python)

    def elsewhere(self) -> Path:
        """Return the cache, which no tree is in."""
        self.cache.mkdir(parents=True, exist_ok=True)
        return self.cache

    def program(self, name: str) -> str | None:
        """Return the path of a program on the user's PATH; `None` where it is not installed."""
        return shutil.which(name, path=self.environ.get("PATH", os.defpath))

    def kept(self, key: str, make: Callable[[Path], None]) -> Path:
        """Return the folder for `key`; `make` fills it the first time."""
        return kept(self.cache, key, make)

    def run(
        self, argv: list[str], folder: Path, variables: Mapping[str, str], *, remedy: str
    ) -> str:
        """Run an installer in `folder` and return its standard output.

        Raises `RegistryUnreachable` where it found no registry, and `EnvironmentFault` with its own
        words where it fails otherwise or cannot be started.
        """
        try:
            done = run_tool(argv, cwd=folder, env=variables, timeout_seconds=INSTALL_SECONDS)
        except (ToolMissing, ToolFailed) as error:
            raise EnvironmentFault(str(error), remedy) from error
        if not done.timed_out and done.exit_code == 0:
            return done.stdout.decode("utf-8", "replace")
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-2000:]
        name = Path(argv[0]).name
        if done.timed_out or _UNREACHABLE.search(said):
            reason = f"no end after {INSTALL_SECONDS:g} s" if done.timed_out else said
            raise RegistryUnreachable(
                f"{name} could not reach the registry of the target's dependencies: {reason}",
                f"look at the network and at the settings of {name}, or {remedy}",
            )
        raise EnvironmentFault(
            f"the target's dependencies could not be installed ({name}): {said}", remedy
        )


@cache
def _passed_on() -> re.Pattern[str]:
    known = (each.dependencies.variables for each in LANGUAGES if each.dependencies is not None)
    return re.compile("|".join((_PASSED_ON, *known)), re.IGNORECASE)
