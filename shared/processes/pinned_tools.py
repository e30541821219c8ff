"""Programs that are fetched on request, each by its hash."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from shared.errors import CommandFailed

MARK: Final = ".complete"


@dataclass(frozen=True, slots=True)
class Build:
    """Hold one build of a program: its package in npm's registry, and the archive's SHA-512."""

    package: str
    sha512: str


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """Describe a program of one version; `builds` are by the machine that they run on.

    `program` is the path of the executable in the package, `licence` its SPDX identifier, and
    `suffixes` are those of the files that it judges.
    """

    name: str
    version: str
    licence: str
    program: str
    suffixes: tuple[str, ...]
    builds: Mapping[str, Build]


# The hashes are those that the registry states for these archives (`npm view ... dist.integrity`).
TSC: Final = PinnedTool(
    name="tsc",
    version="7.0.2",
    licence="Apache-2.0",
    program="lib/tsc",
    suffixes=(".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"),
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
    """Return the build for this machine; `None` if there is none."""
    return tool.builds.get(platform.machine())


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return llmch's folder in the user's cache. Raises `RuntimeError` without a home folder."""
    cache = environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "llmch"


def tools_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of fetched programs: `LLMCH_TOOLS`, else one in the user's cache."""
    if given := environ.get("LLMCH_TOOLS", ""):
        return Path(given).absolute()
    return cache_folder(environ) / "tools"


def folder_of(tool: PinnedTool, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a program of this version, which need not be there."""
    return tools_root(environ) / f"{tool.name}-{tool.version}-{platform.machine()}"


def installed_program(tool: PinnedTool, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the executable of a program that was fetched whole; `None` if it was not."""
    folder = folder_of(tool, environ)
    return folder / tool.program if (folder / MARK).is_file() else None


_REGISTRY: Final = "https://registry.npmjs.org/"
_VARIABLES: Final = ("npm_config_registry", "NPM_CONFIG_REGISTRY")  # as npm reads them
_SECONDS: Final = 120.0  # without a byte
_MAX_ARCHIVE: Final = 60_000_000  # bytes
_MAX_UNPACKED: Final = 200_000_000


class FetchFailed(CommandFailed):
    """Raised when a program could not be fetched. Nothing is kept then."""


def registry(environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of npm's registry, by the variable that npm itself reads."""
    given = next((environ[each] for each in _VARIABLES if environ.get(each)), _REGISTRY)
    return given if given.endswith("/") else f"{given}/"


def fetch(tool: PinnedTool, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the program's executable; it is fetched where it is not there yet.

    Raises `FetchFailed` if this machine has no build, where the registry does not
    answer, or if the archive does not have the pinned hash.
    """
    there = installed_program(tool, environ)
    if there is not None:
        return there
    build = build_here(tool)
    if build is None:
        machines = ", ".join(sorted(tool.builds))
        raise FetchFailed(
            f"{tool.name} does not exist for this machine", f"it exists for {machines}"
        )
    archive = _download(_address(tool, build, environ))
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if digest != build.sha512:
        raise FetchFailed(
            f"the archive of {tool.name} {tool.version} does not have the pinned hash",
            "use the registry of npm itself; a mirror may have changed the file",
        )
    folder = folder_of(tool, environ)
    _install(tool, archive, folder)
    return folder / tool.program


def _address(tool: PinnedTool, build: Build, environ: Mapping[str, str]) -> str:
    name = build.package.rpartition("/")[2]
    return f"{registry(environ)}{build.package}/-/{name}-{tool.version}.tgz"


def _download(address: str) -> bytes:
    import urllib.request  # it loads the SSL library, which hardly any run needs for this

    if not address.startswith(("https://", "http://")):
        raise FetchFailed(f"{address} is not an address of the web", "set npm_config_registry")
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310
            content: bytes = answer.read(_MAX_ARCHIVE + 1)
    except (OSError, ValueError) as error:
        raise FetchFailed(
            f"{address} could not be fetched: {error}",
            "look at the network, or npm_config_registry",
        ) from None
    if len(content) > _MAX_ARCHIVE:
        raise FetchFailed(f"{address} has over {_MAX_ARCHIVE} bytes", "look at npm_config_registry")
    return content


def _install(tool: PinnedTool, archive: bytes, folder: Path) -> None:
    """Unpack into a folder beside the right one, which then takes its place at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{tool.name}-"))
    try:
        _unpack(archive, made)
        (made / tool.program).chmod(0o755)
        (made / MARK).touch()
        if not (folder / MARK).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise FetchFailed(
            f"{tool.name} could not be unpacked to {folder}: {error}", "make the folder writable"
        ) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _unpack(archive: bytes, folder: Path) -> None:
    """Write the plain files of a package; anything else in the archive is left out."""
    total = 0
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as package:
        for member in package:
            path = PurePosixPath(member.name)
            total += member.size
            if not member.isfile() or path.is_absolute() or ".." in path.parts:
                continue
            source = package.extractfile(member)
            if source is None or total > _MAX_UNPACKED or len(path.parts) < 2:
                continue
            target = folder.joinpath(*path.parts[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())
