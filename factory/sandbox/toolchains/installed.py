"""Recognises toolchains that are unpacked in one folder, by the files that each of them has.

Only the folders that a distribution consists of are shown. Configuration beside them may hold
tokens: `etc/npmrc` of a Node, `conf/settings.xml` of a Maven, `~/.dotnet/corefx`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from factory.sandbox.toolchains.found import Toolchain
from factory.sandbox.toolchains.places import Layout, Machine, Place, existing, text_at

PARTS: Final = ("bin", "lib", "lib64", "libexec", "include", "share")
_JAVA_VERSION: Final = re.compile(r'^JAVA_VERSION="([^"]{1,40})"', re.MULTILINE)


def go_distribution(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Go whose `bin` this is."""
    root = place.real.parent
    if not (place.has("go") and (root / "VERSION").is_file() and (root / "src/runtime").is_dir()):
        return None
    version = text_at(root / "VERSION", 100).split() or [""]
    return (Toolchain("Go", version[0].removeprefix("go"), (place.real,), (root,)),)


def go_programs(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the programs that `go install` put there."""
    if not place.is_at(machine.folder("GOPATH", "go") / "bin"):
        return None
    return (Toolchain("programs of go install", "", (place.real,), (place.real,)),)


def node_distribution(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Node.js whose `bin` this is."""
    root = place.real.parent
    if not place.has("node") or not (root / "include" / "node").is_dir():
        return None
    return (node_in(root, machine),)


def node_in(root: Path, machine: Machine, version: str = "", note: str = "") -> Toolchain:
    """Return the Node.js in the folder `root`, with what corepack has installed for the user."""
    corepack = machine.folder("COREPACK_HOME", ".cache", "node", "corepack")
    more = (corepack.resolve(),) if corepack.is_dir() else ()
    variables = {"COREPACK_ENABLE_NETWORK": "0"}
    if more:
        variables["COREPACK_HOME"] = str(more[0])
    read = (*existing(root, *PARTS), *more)
    version = version or _node_version(root)
    return Toolchain("Node.js", version.removeprefix("v"), (root / "bin",), read, variables, note)


def _node_version(root: Path) -> str:
    header = text_at(root / "include" / "node" / "node_version.h")
    numbers = re.findall(r"^#define NODE_(?:MAJOR|MINOR|PATCH)_VERSION (\d+)", header, re.MULTILINE)
    return ".".join(numbers)


def java_kit(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the JDK whose `bin` this is."""
    return (jdk_in(place.real.parent),) if is_jdk(place.real.parent) else None


def is_jdk(root: Path) -> bool:
    """Return whether a JDK is unpacked in the folder `root`."""
    return (root / "bin" / "java").is_file() and (root / "release").is_file()


def jdk_in(root: Path, note: str = "") -> Toolchain:
    """Return the JDK in the folder `root`."""
    found = _JAVA_VERSION.search(text_at(root / "release"))
    version = found[1] if found else ""
    return Toolchain("Java", version, (root / "bin",), (root,), {"JAVA_HOME": str(root)}, note)


def maven(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Maven whose `bin` this is."""
    root = place.real.parent
    if not place.has("mvn") or not (root / "boot").is_dir():
        return None
    read = existing(root, "bin", "boot", "lib", "conf/logging")
    return (Toolchain("Maven", "", (place.real,), read),)


def gradle(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Gradle whose `bin` this is."""
    root = place.real.parent
    if not place.has("gradle") or not (root / "lib").is_dir():
        return None
    return (Toolchain("Gradle", "", (place.real,), existing(root, "bin", "lib")),)


def dotnet(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the .NET in this folder."""
    if not place.has("dotnet") or not (place.real / "shared").is_dir():
        return None
    parts = ("dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates")
    variables = {"DOTNET_ROOT": str(place.real)}
    return (Toolchain(".NET", "", (place.real,), existing(place.real, *parts), variables),)


def single_programs(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return Deno, Bun or pnpm, which install one program into a folder of their own."""
    for name, folder in _own_folders(machine):
        if place.has(name.lower()) and place.is_at(folder):
            read = existing(place.real, name.lower(), f"{name.lower()}x", ".tools")
            return (Toolchain(name, "", (place.real,), read),)
    return None


def _own_folders(machine: Machine) -> Iterator[tuple[str, Path]]:
    yield "Deno", machine.folder("DENO_INSTALL", ".deno") / "bin"
    yield "Bun", machine.folder("BUN_INSTALL", ".bun") / "bin"
    yield "pnpm", machine.data("PNPM_HOME", "pnpm")


INSTALLED: Final[tuple[Layout, ...]] = (
    go_distribution,
    go_programs,
    node_distribution,
    java_kit,
    maven,
    gradle,
    dotnet,
    single_programs,
)
