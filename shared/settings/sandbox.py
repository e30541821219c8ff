"""Declares what contains untrusted commands, and what they may reach."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from shared.settings.declaration import Flag, FlagGroup, FlagKind, setting
from shared.settings.values.names import read_variables
from shared.settings.values.paths import read_paths
from shared.settings.values.words import Choice


class SandboxBackend(StrEnum):
    """Choose the sandbox that contains untrusted commands; `AUTO` takes the first that works."""

    AUTO = "auto"
    BWRAP = "bwrap"
    LANDLOCK = "landlock"
    OFF = "off"


class SandboxNet(StrEnum):
    """Choose the network that a command sees: its own loopback, or the machine's network."""

    NONE = "none"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Say what untrusted commands may reach beyond the workspace. Paths are absolute."""

    backend: SandboxBackend = setting(
        Choice(SandboxBackend),
        SandboxBackend.AUTO,
        "what contains commands",
        name="sandbox.backend",
        guarded=True,
        flag=Flag("--sandbox", FlagGroup.SANDBOX, choices=tuple(SandboxBackend)),
    )
    net: SandboxNet = setting(
        Choice(SandboxNet),
        SandboxNet.NONE,
        "the network that commands see: their own, or the machine's",
        name="sandbox.net",
        guarded=True,
        flag=Flag("--sandbox-net", FlagGroup.SANDBOX, choices=tuple(SandboxNet)),
    )
    read: tuple[Path, ...] = setting(
        read_paths,
        (),
        "paths that commands may read",
        name="sandbox.read",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-read", FlagGroup.SANDBOX, "PATH", FlagKind.LIST),
    )
    write: tuple[Path, ...] = setting(
        read_paths,
        (),
        "paths that commands may write",
        name="sandbox.write",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-write", FlagGroup.SANDBOX, "PATH", FlagKind.LIST),
    )
    env: tuple[str, ...] = setting(
        read_variables,
        (),
        "names of variables passed on to commands; never one whose name speaks of a secret",
        name="sandbox.env",
        default_words="none",
        guarded=True,
    )
    path: tuple[Path, ...] = setting(
        read_paths,
        (),
        "folders of programs that commands find, besides the toolchains on your PATH",
        name="sandbox.path",
        default_words="none",
        guarded=True,
        flag=Flag("--sandbox-path", FlagGroup.SANDBOX, "DIR", FlagKind.LIST),
    )
