"""Defines what a preparation starts from and what it comes to, for every ecosystem."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from factory.dependencies.manifests import Manifests
from factory.sandbox.linked import Linked
from shared.errors import EnvironmentFault
from shared.process import Finished, ToolFailed, ToolMissing, run_tool

INSTALL_SECONDS: Final = 900.0
"""The limit for each step of the installation: numeric libraries on a slow line stay below it."""

# How the user's own clients are set up: where they find programs, registries and certificates.
_PASSED_ON = re.compile(
    r"PATH|HOME|LANG|(PIP|UV|SSL|XDG|NPM|NPM_CONFIG|GO|CARGO|RUSTUP|VOLTA|FNM|NVM)_\w+"
    r"|GO(PROXY|PRIVATE|SUMDB|NOSUMDB|NOPROXY|INSECURE|VCS|AUTH|ROOT|ENV|PATH)"
    r"|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|(https?|no|all)_proxy",
    re.IGNORECASE,
)


_UNREACHABLE: Final = re.compile(
    r"NewConnectionError|Failed to establish a new connection|Temporary failure in name resolution"
    r"|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|Could not resolve host|dial tcp"
    r"|error sending request|Failed to connect|Couldn't connect to server|Network is unreachable"
)


class RegistryUnreachable(EnvironmentFault):
    """Say that an installer could not reach a registry, so that no other manifest would help."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Hold what commands get of what was prepared.

    They may `read` these folders, have the variables of `environment`, find the folders of `linked`
    in the workspace, and find `python` under that name. `notes` say to a person, in sentences,
    what was left out or is missing.
    """

    read: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    linked: tuple[Linked, ...] = ()
    python: Path | None = None
    notes: tuple[str, ...] = ()

    def joined(self, other: Prepared) -> Prepared:
        """Return both together. Two ecosystems set no variable in common."""
        return Prepared(
            (*self.read, *other.read),
            {**self.environment, **other.environment},
            (*self.linked, *other.linked),
            self.python or other.python,
            (*self.notes, *other.notes),
        )


@dataclass(frozen=True, slots=True)
class Workshop:
    """Hold where dependencies are prepared: the cache, the base Python, the user's variables.

    `present` are the paths in the workspace at which commands find installed packages already.
    """

    cache: Path
    python: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    present: frozenset[str] = frozenset()

    @property
    def variables(self) -> dict[str, str]:
        """Return those of the user's variables that an installer may have."""
        return {name: value for name, value in self.environ.items() if _PASSED_ON.fullmatch(name)}


Preparation: TypeAlias = Callable[[Manifests, Workshop], Prepared]


def run_installer(
    argv: list[str], cwd: Path, variables: Mapping[str, str], *, remedy: str
) -> Finished:
    """Run a trusted installer in `cwd`.

    Raises `EnvironmentFault` with the installer's own words where it fails or cannot be started.
    """
    try:
        done = run_tool(argv, cwd=cwd, env=variables, timeout_seconds=INSTALL_SECONDS)
    except (ToolMissing, ToolFailed) as error:
        raise EnvironmentFault(str(error), remedy) from error
    if done.timed_out or done.exit_code != 0:
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
    return done
