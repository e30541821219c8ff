"""Names the programs that can be fetched, and finds those that were."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = ".complete"


@dataclass(frozen=True, slots=True)
class Build:
    """Hold one build of a program: its package in npm's registry, and the archive's SHA-512."""

    package: str
    sha512: str


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """Describe a program of one version; `builds` are by the machine that they run on.

    `program` is the path of the executable in the package, and `licence` its SPDX identifier.
    """

    name: str
    title: str
    version: str
    licence: str
    program: str
    builds: Mapping[str, Build]


# The hashes are those that the registry states for these archives (`npm view ... dist.integrity`).
TSC: Final = PinnedTool(
    name="tsc",
    title="the TypeScript compiler",
    version="7.0.2",
    licence="Apache-2.0",
    program="lib/tsc",
    builds={
        "x86_64": Build(
            "@typescript/typescript-linux-x64",
            "EYdf2cNg7rgCWJnxCdJ+F3V39O8ihb37eHAu1LK8oAFizgTQbPOK7zHHXbPt8rX24COqODXeI3sIf0fCXG7H/A==",
        ),
        "aarch64": Build(
            "@typescript/typescript-linux-arm64",
            "Qh4eU4/y3yDjnfjjyPYihMj5/ODIlmt+Bzu17OI+fiSRDW57QmU5SiN63exPRNJPKUzcc1INa1NXdrJ+MqHjUQ==",
        ),
    },
)
TOOLS: Final = {TSC.name: TSC}


def build_here(tool: PinnedTool) -> Build | None:
    """Return the build for this machine; `None` where there is none."""
    return tool.builds.get(platform.machine())


def tools_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of fetched programs: `LLMCH_TOOLS`, else one in the user's cache."""
    if given := environ.get("LLMCH_TOOLS", ""):
        return Path(given).absolute()
    cache = environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "llmch" / "tools"


def folder_of(tool: PinnedTool, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a program of this version, which need not be there."""
    return tools_root(environ) / f"{tool.name}-{tool.version}-{platform.machine()}"


def installed_program(tool: PinnedTool, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the executable of a program that was fetched whole; `None` where it was not."""
    folder = folder_of(tool, environ)
    return folder / tool.program if (folder / MARK).is_file() else None
