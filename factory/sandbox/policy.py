"""What a command may do: decided once by the caller, the same for every command of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from factory.sandbox.linked import Linked
from shared.settings.settings import SandboxBackend, SandboxNet

GIB = 1024**3
MIB = 1024**2


Backend: TypeAlias = SandboxBackend


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command and its children may use. The defaults leave room for a large test suite."""

    # Writable memory of each process: 500 threads' stacks or a large numeric test fit, a runaway
    # allocation ends before the machine swaps.
    memory_bytes: int = 4 * GIB
    # CPU time of each process. The wall deadline is what a test suite normally meets first;
    # this ends a spinning process even where that deadline is generous.
    cpu_seconds: int = 3600
    # Size of each file written: a wheel or a data fixture fits, a filled disk does not.
    file_bytes: int = 1 * GIB
    # Processes and threads together: a parallel test run on a large machine stays below it,
    # a fork bomb is stopped while the machine still answers.
    processes: int = 1024
    # Both streams together; a command that prints more is ended. What is kept is far less.
    output_bytes: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Policy:
    """Where a command runs and what it can reach. All paths are absolute."""

    workspace: Path
    """Writable but for its `.git`, and the working directory."""
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
    limits: Limits = Limits()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables that the user's configuration names, added to the allow-list."""

    @property
    def temporary(self) -> Path:
        """The host's name of the command's /tmp and HOME; the sandbox makes it."""
        return self.private / "tmp"
