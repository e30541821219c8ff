"""Turns limits into the bounds that the kernel takes."""

from __future__ import annotations

import contextlib
import os
import resource
from typing import TypeAlias

from factory.sandbox.policy import Limits

# RLIMIT_DATA, not RLIMIT_AS, holds the memory: it counts what a process can write to, while
# runtimes such as Go, Java and WebAssembly reserve address space by the dozen GiB and never
# touch it. RLIMIT_AS still bounds shared mappings, which RLIMIT_DATA leaves out.
_ADDRESS_SPACE_PER_MEMORY = 8
# The time between the warning signal (SIGXCPU, which names the cause) and the kernel's SIGKILL.
_CPU_MARGIN_SECONDS = 2

Bounds: TypeAlias = tuple[tuple[int, int, int], ...]
"""For each resource its number, its soft bound and its hard bound."""


def of_each_process(limits: Limits) -> Bounds:
    """Return the bounds that hold for each process by itself."""
    space = limits.memory_bytes * _ADDRESS_SPACE_PER_MEMORY
    return (
        (resource.RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_AS, space, space),
        (resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + _CPU_MARGIN_SECONDS),
        (resource.RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes),
        (resource.RLIMIT_CORE, 0, 0),
    )


def of_the_user(limits: Limits) -> Bounds:
    """Return the bound on processes where no namespace counts the command's own.

    The kernel then counts every process and thread of the user, so the number that runs already
    is added. For root the result is empty, because the kernel never applies this bound to root.
    """
    if os.geteuid() == 0:
        return ()
    bound = _tasks_of_the_user() + limits.processes
    return ((resource.RLIMIT_NPROC, bound, bound),)


def _tasks_of_the_user() -> int:
    uid = os.geteuid()
    tasks = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # the process may end meanwhile
                if entry.stat().st_uid == uid:
                    tasks += sum(1 for _ in os.scandir(f"/proc/{entry.name}/task"))
    return tasks
