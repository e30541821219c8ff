"""Makes what Go's build cache begins with: the compiled standard library, and nothing of a repo.

Go compiles its standard library itself, which takes most of a minute of a small machine's time. So
the packages that a repo imports are compiled once and kept for later runs. Only Go's own code is
compiled, from a folder that holds nothing else, so this needs no sandbox.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shared.errors import CommandFailed
from shared.process import ToolFailed, ToolMissing, run_tool

SEED_SECONDS = 600.0
"""The limit for compiling a seed; the whole standard library takes a minute of one core."""

_ALWAYS: Final = frozenset(("errors", "fmt", "os", "strings", "testing"))
_IMPORTS: Final = re.compile(r"^import\s*(?:\(([^)]*)\)|([^\n(]*))", re.MULTILINE)
_QUOTED: Final = re.compile(r'"([a-z][a-z0-9]*(?:/[a-z0-9]+)*)"')
_SEED: Final = re.compile("[0-9a-f]{16}-[0-9a-f]{16}")
_MOST_KEPT: Final = 6
"""How many seeds are kept, each of up to 150 MB."""


def standard_imports(sources: Iterable[str], go: Path) -> frozenset[str]:
    """Return the packages of the standard library that Go sources import.

    `go` is the program. A name counts only where Go has a folder of that name, so a repo cannot
    have anything else compiled.
    """
    root = go.resolve().parent.parent / "src"
    names = {
        name
        for text in sources
        for imported in _IMPORTS.findall(text)
        for name in _QUOTED.findall("".join(imported))
    }
    private = ("internal", "vendor", "cmd")
    public = (each for each in names if not set(each.split("/")) & set(private))
    return frozenset(each for each in public if (root / each).is_dir())


def go_seed(go: Path, path: str, packages: frozenset[str], kept: Path) -> Path:
    """Return a folder below `kept` that holds the compiled `packages`, made where it is missing.

    `path` is the PATH that commands have, because the C compiler on it is part of what is cached.
    Raises `CommandFailed` where Go refuses or takes too long.
    """
    wanted = sorted(packages | _ALWAYS)
    folder = kept / f"{_key_of(go)}-{_digest(' '.join(wanted))}"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "go.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making the seed
        if not folder.is_dir():
            _prune(kept)
            _make(go, path, wanted, folder)
        os.utime(folder)
    return folder


def seed_is_kept(go: Path, packages: frozenset[str], kept: Path) -> bool:
    """Return whether the seed has been made before."""
    return (kept / f"{_key_of(go)}-{_digest(' '.join(sorted(packages | _ALWAYS)))}").is_dir()


def _key_of(go: Path) -> str:
    """Return a key of this Go, which an update changes."""
    real = go.resolve()
    facts = real.stat()
    return _digest(f"{real} {facts.st_size} {facts.st_mtime_ns}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _make(go: Path, path: str, packages: list[str], folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as making:
        module, cache = Path(making, "module"), Path(making, "cache")
        module.mkdir()
        (module / "go.mod").write_text("module seed\n")
        imports = "".join(f'import _ "{each}"\n' for each in packages if each != "testing")
        test = 'import "testing"\n\nfunc TestNothing(*testing.T) {}\n'
        (module / "seed_test.go").write_text(f"package seed\n\n{imports}{test}")
        for most in _most_alike(folder):
            shutil.copytree(most, cache)  # what it lacks is added
        env = {
            "PATH": path,
            "HOME": making,
            "GOCACHE": str(cache),
            "GOENV": "off",
            "GOFLAGS": "-buildvcs=false -mod=mod",
            "GOPROXY": "off",
            "GOTELEMETRY": "off",
            "GOTOOLCHAIN": "local",
            "LC_ALL": "C",
        }
        argv = [str(go), "test", "-run", "^$", "."]
        try:
            done = run_tool(argv, cwd=module, env=env, timeout_seconds=SEED_SECONDS)
        except (ToolMissing, ToolFailed) as error:
            raise CommandFailed(str(error)) from error
        if done.timed_out or done.exit_code:
            said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()[-500:]
            raise CommandFailed(said or f"it did not end within {SEED_SECONDS:g} s")
        cache.rename(folder)


def _most_alike(folder: Path) -> list[Path]:
    """Return the newest seed of the same Go, if there is one."""
    key = folder.name.partition("-")[0]
    return sorted(folder.parent.glob(f"{key}-*"), key=lambda each: each.stat().st_mtime)[-1:]


def _prune(kept: Path) -> None:
    """Remove the seeds that were not used for longest."""
    seeds = [each for each in kept.iterdir() if _SEED.fullmatch(each.name)]
    seeds.sort(key=lambda each: each.stat().st_mtime)
    for each in seeds[: -_MOST_KEPT + 1]:
        shutil.rmtree(each, ignore_errors=True)
