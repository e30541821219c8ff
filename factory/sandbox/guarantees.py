"""Names what a backend guarantees, in one vocabulary for records, descriptions and tests."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Guarantee(StrEnum):
    """Name one thing that a backend guarantees while a command runs."""

    FILES = "files"  # nothing outside the workspace and the private /tmp is written
    METADATA = "metadata"  # modes, owners and times of those files do not change
    SECRETS = "secrets"  # files outside the allow-list cannot be read
    GIT_DIR = "git_dir"  # the git directory and the workspace's `.git` stay as they are
    GIT_CREDENTIALS = "git_credentials"  # credentials in the git directory cannot be read
    NETWORK = "network"  # no TCP or UDP except on the command's own loopback
    UNIX_SOCKETS = "unix_sockets"  # no socket of the host, by path or abstract name
    PROCESSES = "processes"  # no other process can be read, traced or signalled
    PROCESS_LIMIT = "process_limit"  # the limit on processes is enforced
    LIMITS = "limits"  # the limits on memory, CPU time, file size and output are enforced
    NAMESPACES = "namespaces"  # a command cannot make namespaces of its own
    SURVIVORS = "survivors"  # no process is left when the command has ended
    LOOPBACK = "loopback"  # a server on the command's own loopback works
    MULTIPROCESSING = "multiprocessing"  # semaphores and shared memory work


Guarantees = Mapping[Guarantee, bool]


def holding(*held: Guarantee) -> Guarantees:
    """Return the map in which exactly the guarantees `held` are true."""
    return MappingProxyType({each: each in held for each in Guarantee})


def render(guarantees: Guarantees) -> str:
    """Return one line that says what holds and what does not."""
    held = ", ".join(each for each in Guarantee if guarantees[each])
    gaps = ", ".join(each for each in Guarantee if not guarantees[each])
    return f"holds: {held or 'nothing'}; does not hold: {gaps or 'nothing'}"
