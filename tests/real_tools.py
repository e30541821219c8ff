"""Real build tools for tests that have a home of their own, and the sandboxes that run them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from factory.sandbox.detect import find_backends
from factory.sandbox.lent_folders import go_seed
from factory.sandbox.policy import Backend
from shared.settings.settings import SandboxSettings
from tests.once import shared_seeds

ROOT = Path(__file__).parents[1]
NODE_TOOLS = ROOT / "build" / "node" / "node_modules"
"""Packages of npm's registry, which `make test` installs where it can."""


# Read before a test clears it.
_NAMED_NODES = filter(None, os.environ.get("LLMCH_TEST_NODES", "").split(":"))
NODES = [str(Path(each).absolute()) for each in _NAMED_NODES]


def node_of(major: int) -> str:
    """Return the Node of this version, on PATH or in the folders that LLMCH_TEST_NODES names."""
    for folder in (*NODES, os.environ["PATH"]):
        node = shutil.which("node", path=folder)
        if node is not None:
            done = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
            if done.stdout.startswith(f"v{major}."):
                return node
    pytest.skip(f"needs Node {major}")


def needs(*programs: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test where one of these programs is missing, and names it."""
    missing = [each for each in programs if shutil.which(each) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def needs_node_tools(*names: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test where one of these tools of npm's registry is missing."""
    missing = [each for each in names or ("tsc",) if not (NODE_TOOLS / ".bin" / each).exists()]
    reason = f"needs {', '.join(missing)}: make build/node/.installed"
    return pytest.mark.skipif(bool(missing), reason=reason)


def needs_sandbox() -> pytest.MarkDecorator:
    """Return a mark that skips a test where no sandbox works."""
    without = all(each.problem for each in find_backends())
    return pytest.mark.skipif(without, reason="no sandbox works on this machine")


@pytest.fixture(params=[Backend.BWRAP, Backend.LANDLOCK])
def sandbox(request: pytest.FixtureRequest) -> SandboxSettings:
    """Return the settings of a sandbox that works here; one that does not is skipped by name."""
    found = next(each for each in find_backends() if each.backend is request.param)
    if found.problem:
        pytest.skip(f"{found.backend}: {found.problem}")
    return SandboxSettings(backend=found.backend)


def kept_seeds(factory: pytest.TempPathFactory, go: Path) -> Path:
    """Return the folder of seeds of all tests; the usual packages of Go are compiled in it."""
    kept = shared_seeds(factory)
    go_seed(go, os.environ["PATH"], frozenset(), kept)
    return kept


def compiled_go(factory: pytest.TempPathFactory) -> Path:
    """Return a cache of Go's that holds the usual packages, for a command without a sandbox."""
    go = Path(shutil.which("go") or "go")
    return go_seed(go, os.environ["PATH"], frozenset(), shared_seeds(factory))


def add_real_rust(home: Path) -> str:
    """Make rustup's layout in `home`, with the Rust of this machine; return the folder for PATH."""
    # rustup's proxies look for their toolchains in the user's own home.
    environ = {**os.environ, "HOME": pwd.getpwuid(os.geteuid()).pw_dir}
    argv = ["rustc", "--print", "sysroot"]
    done = subprocess.run(argv, env=environ, capture_output=True, check=True, text=True)
    sysroot = Path(done.stdout.strip())
    toolchains, proxies = home / ".rustup" / "toolchains", home / ".cargo" / "bin"
    toolchains.mkdir(parents=True)
    proxies.mkdir(parents=True)
    (toolchains / "stable-of-the-test").symlink_to(sysroot)
    default = 'default_toolchain = "stable-of-the-test"\n'
    (home / ".rustup" / "settings.toml").write_text(default)
    proxy = proxies / "rustup"
    proxy.write_text(f'#!/bin/sh\nPATH="{sysroot}/bin:$PATH" exec "$(basename "$0")" "$@"\n')
    proxy.chmod(0o755)
    for name in ("cargo", "rustc"):
        (proxies / name).symlink_to("rustup")
    return str(proxies)
