"""Defines what a command may do. The caller decides this once for all commands of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from factory.sandbox.linked import Linked
from factory.sandbox.toolchains.found import NO_TOOLCHAINS, Toolchains
from shared.settings.sandbox import SandboxBackend, SandboxNet

GIB = 1024**3
MIB = 1024**2


Backend: TypeAlias = SandboxBackend


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold the limits on one command and its children. A large test suite fits the defaults."""

    # Writable memory of each process: 500 threads' stacks or a large numeric test fit, a runaway
    # allocation ends before the machine swaps.
    memory_bytes: int = 4 * GIB
    # CPU time of each process. A test suite normally meets the deadline in wall time first;
    # this limit ends a spinning process even where that deadline is generous.
    cpu_seconds: int = 3600
    # Size of each file written: a wheel or a data fixture fits, a filled disk does not.
    file_bytes: int = 1 * GIB
    # Processes and threads together: a parallel test run on a large machine stays below it,
    # a fork bomb is stopped while the machine still answers.
    processes: int = 1024
    # Bytes of both streams together; a command that prints more is ended. Far less is kept.
    output_bytes: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Policy:
    """Define where a command runs and what it can reach. All paths are absolute."""

    workspace: Path
    """The working directory of commands, writable except for its `.git`."""
    git_dir: Path | None
    """The common git directory: never writable, and readable only without its credentials."""
    private: Path
    """An existing directory of the host, outside the workspace, for this sandbox alone."""
    python: Path
    """The interpreter that `python`, `pytest` and `pip` mean."""
    network: SandboxNet = SandboxNet.NONE
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    linked: tuple[Linked, ...] = ()
    """Folders of the user's checkout that commands find in the workspace and cannot write to."""
    toolchains: Toolchains = NO_TOOLCHAINS
    """What commands see of the toolchains on the user's PATH."""
    go_seed: Path | None = None
    """What the private build cache of Go begins with."""
    limits: Limits = Limits()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables that the user's configuration names, added to the allow-list."""

    @property
    def temporary(self) -> Path:
        """Return the host's path of the command's /tmp and HOME, which the sandbox makes."""
        return self.private / "tmp"

    @property
    def go_cache(self) -> Path:
        """Return the folder of Go's build cache, which commands find under the same path."""
        return self.private / "go-build"
