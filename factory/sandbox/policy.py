"""Defines what a command may do, what a backend guarantees, and how a command ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from factory.sandbox.lent_folders import Linked
from factory.sandbox.toolchains import NO_TOOLCHAINS, Toolchains
from shared.settings.settings import SandboxBackend, SandboxNet

GIB = 1024**3
MIB = 1024**2


Backend: TypeAlias = SandboxBackend


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold the limits on one command and its children. A large test suite fits the defaults."""

    # Writable memory of each process: 500 threads' stacks or a large numeric test fit, a runaway
    # allocation ends before the machine swaps.
    memory_bytes: int = 4 * GIB
    # All that a command keeps in /dev/shm: a browser and a data loader fit.
    shared_bytes: int = 1 * GIB
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


GO_CACHE: Final = "GOCACHE"
"""The variable that names Go's build cache. Go has one even where nothing was compiled before."""


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
    """The parts of the toolchains on the user's PATH that commands see."""
    seeds: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))
    """The initial content of build caches, each by the variable that names its folder.

    One whose name ends in a slash is at this path of the workspace.
    """
    limits: Limits = Limits()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables that the user's configuration names, added to the allow-list."""
    keeps_bytecode: bool = True
    """Whether what is installed for Python is found compiled; to prepare it takes 20 ms."""
    like_private: Path | None = None
    """The private folder of another open sandbox, whose copy of /etc serves here as well."""
    place: Path | None = None
    """Where commands find the workspace, if not at its own path; for `BWRAP` alone."""
    shown: Mapping[Path, Path] = field(default_factory=lambda: MappingProxyType({}))
    """Files and folders that are shown read-only elsewhere, by that path; for `BWRAP` alone."""

    @property
    def seen(self) -> Path:
        """Return the path at which commands find the workspace."""
        return self.place or self.workspace

    @property
    def temporary(self) -> Path:
        """Return the host's path of the command's /tmp and HOME, which the sandbox makes."""
        return self.private / "tmp"

    def cache(self, name: str) -> Path:
        """Return the folder of a build cache, which commands find under the same path."""
        in_tree = name.endswith("/")
        return self.workspace / name if in_tree else self.private / f"cache-{name.lower()}"

    @property
    def named_caches(self) -> Mapping[str, Path]:
        """Return the private folders of build caches, by the variables that name them."""
        names = (GO_CACHE, *self.seeds)
        return {each: self.cache(each) for each in names if not each.endswith("/")}


class Guarantee(StrEnum):
    """Name one thing that a backend guarantees while a command runs."""

    FILES = "files"
    METADATA = "metadata"
    SECRETS = "secrets"
    WATCHES = "watches"
    GIT_DIR = "git_dir"
    GIT_CREDENTIALS = "git_credentials"
    NETWORK = "network"
    UNIX_SOCKETS = "unix_sockets"
    PROCESSES = "processes"
    PROCESS_LIMIT = "process_limit"
    LIMITS = "limits"
    NAMESPACES = "namespaces"
    SURVIVORS = "survivors"
    LOOPBACK = "loopback"
    MULTIPROCESSING = "multiprocessing"


MEANINGS: Final = {
    Guarantee.FILES: "nothing outside the workspace and the private /tmp is written",
    Guarantee.METADATA: "modes, owners and times of those files do not change",
    Guarantee.SECRETS: "files outside the allow-list cannot be read",
    Guarantee.WATCHES: "names that change in folders outside the allow-list cannot be watched",
    Guarantee.GIT_DIR: "the git directory and the workspace's `.git` stay as they are",
    Guarantee.GIT_CREDENTIALS: "credentials in the git directory cannot be read",
    Guarantee.NETWORK: "no TCP or UDP except on the command's own loopback",
    Guarantee.UNIX_SOCKETS: "no socket of the host, by path or abstract name",
    Guarantee.PROCESSES: "no other process can be read, traced, signalled or slowed down",
    Guarantee.PROCESS_LIMIT: "the limit on processes is enforced",
    Guarantee.LIMITS: "the limits on a process's own memory and CPU time, on file size and output "
    "are enforced",
    Guarantee.NAMESPACES: "a command cannot make namespaces of its own",
    Guarantee.SURVIVORS: "no process is left when the command has ended",
    Guarantee.LOOPBACK: "a server on the command's own loopback works",
    Guarantee.MULTIPROCESSING: "semaphores and shared memory work",
}
"""Each guarantee as a sentence without its end."""

Guarantees = Mapping[Guarantee, bool]


def holding(*held: Guarantee) -> Guarantees:
    """Return the map in which exactly the guarantees `held` are true."""
    return MappingProxyType({each: each in held for each in Guarantee})


def render(guarantees: Guarantees) -> str:
    """Return one line that says what holds and what does not."""
    held = ", ".join(each for each in Guarantee if guarantees[each])
    gaps = ", ".join(each for each in Guarantee if not guarantees[each])
    return f"holds: {held or 'nothing'}; does not hold: {gaps or 'nothing'}"


class Cause(StrEnum):
    """Say why a command ended. Only `EXITED` means that the command chose its exit code."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    CPU_LIMIT = "cpu_limit"
    OUTPUT_LIMIT = "output_limit"
    NOT_FOUND = "not_found"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Captured:
    """Hold one stream. When truncated, `text` is its head and tail with a mark between."""

    text: str
    total_bytes: int
    truncated: bool
    log: Path
    """A file with the stream, bounded too: it holds a longer head, a mark and the tail."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Record how a command ended. `exit_code` is 128 + N when signal N ended it, as in a shell."""

    argv: tuple[str, ...]
    exit_code: int
    cause: Cause
    stdout: Captured
    stderr: Captured
    duration_seconds: float
    backend: Backend
    reason: str = ""
    """Why the command was not started or was ended, or what had to be put back; else empty."""
    doubt: str = ""
    """Why an exit with 0 shows no success. The exit code is then 1; else empty."""

    @property
    def ok(self) -> bool:
        """Return whether the command ended by itself with exit code 0."""
        return self.cause is Cause.EXITED and self.exit_code == 0

    @property
    def output(self) -> str:
        """Return both streams, as far as they were kept in memory."""
        return f"{self.stdout.text}\n{self.stderr.text}"


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """Record how an interactive command ended; `reason` is as in `Ended`."""

    exit_code: int
    reason: str = ""
