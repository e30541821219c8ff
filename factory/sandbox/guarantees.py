"""Names what a backend guarantees, in one vocabulary for records, descriptions and tests."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Guarantee(StrEnum):
    """Name one thing that a backend guarantees while a command runs."""

    FILES = "files"
    METADATA = "metadata"
    SECRETS = "secrets"
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
    Guarantee.GIT_DIR: "the git directory and the workspace's `.git` stay as they are",
    Guarantee.GIT_CREDENTIALS: "credentials in the git directory cannot be read",
    Guarantee.NETWORK: "no TCP or UDP except on the command's own loopback",
    Guarantee.UNIX_SOCKETS: "no socket of the host, by path or abstract name",
    Guarantee.PROCESSES: "no other process can be read, traced or signalled",
    Guarantee.PROCESS_LIMIT: "the limit on processes is enforced",
    Guarantee.LIMITS: "the limits on memory, CPU time, file size and output are enforced",
    Guarantee.NAMESPACES: "a command cannot make namespaces of its own",
    Guarantee.SURVIVORS: "no process is left when the command has ended",
    Guarantee.LOOPBACK: "a server on the command's own loopback works",
    Guarantee.MULTIPROCESSING: "semaphores and shared memory work",
}
"""What each guarantee says, as a sentence without its end."""

Guarantees = Mapping[Guarantee, bool]


def holding(*held: Guarantee) -> Guarantees:
    """Return the map in which exactly the guarantees `held` are true."""
    return MappingProxyType({each: each in held for each in Guarantee})


def render(guarantees: Guarantees) -> str:
    """Return one line that says what holds and what does not."""
    held = ", ".join(each for each in Guarantee if guarantees[each])
    gaps = ", ".join(each for each in Guarantee if not guarantees[each])
    return f"holds: {held or 'nothing'}; does not hold: {gaps or 'nothing'}"
