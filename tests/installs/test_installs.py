"""The ways in which people install llmch, each into an empty environment, with its packages.

They need an index of packages, so `make test-installs` runs them, with pipx and uv by hash. The
versions are those of the lock: what an index has tomorrow is no fault of a commit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import llmch
from tests.once import made_once

ROOT = Path(llmch.__file__).parents[1]
EXTRAS = "acp, fleet, html, mcp, otel"
_TOOLS = Path(os.environ.get("LLMCH_TEST_INSTALLS") or "/nonexistent").absolute() / "bin"

pytestmark = [
    pytest.mark.rest,
    pytest.mark.skipif(
        not (_TOOLS / "uv").exists(),
        reason="uv and pipx could not be installed"
        if os.environ.get("LLMCH_TEST_INSTALLS")
        else "not asked for: make test-installs",
    ),
]


@dataclass(frozen=True)
class Built:
    """A wheel and a source archive, made of a clone, and the versions that go with them."""

    folder: Path

    @property
    def wheel(self) -> Path:
        (found,) = self.folder.glob("*.whl")
        return found

    @property
    def archive(self) -> Path:
        (found,) = self.folder.glob("*.tar.gz")
        return found

    @property
    def versions(self) -> Path:
        return self.folder / "versions.txt"

    @property
    def clone(self) -> Path:
        return self.folder / "clone"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(made_once(tmp_path_factory, "built", _build))


def _build(folder: Path) -> None:
    run("git", "clone", "--quiet", ROOT, folder / "clone")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, folder / "clone")
    lock = (ROOT / "requirements-dev.lock").read_text()
    pinned = re.findall(r"^([a-z0-9][\w.-]*==[^ ;]+ *(?:;[^\\\n]*)?)", lock, re.MULTILINE)
    (folder / "versions.txt").write_text("\n".join(pinned) + "\n")


def run(*words: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Run a command without the checkout on Python's path, and return what it prints."""
    kept = {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}
    kept |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def check(program: Path, folder: Path, commit: str, extras: str = "none") -> None:
    """Have the installed program say what it is, and build a program from its specification."""
    said = run(program, "--version", cwd=folder)
    assert said == f"llmch {llmch.__version__} ({commit[:12]})\nextras: {extras}\n"
    assert "Hello, Ada!" in run(program, "demo", "hello", cwd=folder)


def commit_of(built: Built) -> str:
    return run("git", "-C", built.clone, "rev-parse", "HEAD").strip()


def test_pip_installs_the_wheel(built: Built, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    words = ("install", "--quiet", "--no-compile", "--constraint", built.versions, built.wheel)
    run(python, "-m", "pip", *words)
    assert run(python, "-m", "pip", "check") == "No broken requirements found.\n"
    check(tmp_path / "venv/bin/llmch", tmp_path, commit_of(built))


def test_wheels_that_were_gathered_are_enough_without_an_index(
    built: Built, tmp_path: Path
) -> None:
    wanted = f"llmch[html] @ {built.archive.as_uri()}"
    wheels = tmp_path / "wheels"
    gather = ("wheel", "--quiet", "--constraint", built.versions, "--wheel-dir", wheels)
    run(sys.executable, "-m", "pip", *gather, wanted)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "HTTPS_PROXY": "http://[::1]:1"}
    words = ("install", "--quiet", "--no-compile", "--no-index", "--find-links", wheels)
    run(tmp_path / "venv/bin/python", "-m", "pip", *words, "llmch[html]", cwd=tmp_path, **offline)
    program = tmp_path / "venv/bin/llmch"
    commit = commit_of(built)[:12]
    said = run(program, "--version", cwd=tmp_path, **offline)
    assert said == f"llmch {llmch.__version__} ({commit})\nextras: html\n"
    assert "Hello, Ada!" in run(program, "demo", "hello", cwd=tmp_path, **offline)


def test_uv_installs_the_source_archive_with_all_extras(built: Built, tmp_path: Path) -> None:
    names = EXTRAS.replace(" ", "")
    wanted = f"llmch[{names}] @ {built.archive.as_uri()}"
    run(
        *(_TOOLS / "uv", "tool", "install", "--quiet", "--constraints", built.versions, wanted),
        UV_TOOL_DIR=str(tmp_path / "tools"),
        UV_TOOL_BIN_DIR=str(tmp_path / "bin"),
    )
    run(_TOOLS / "uv", "pip", "check", "--python", tmp_path / "tools/llmch/bin/python")
    check(tmp_path / "bin/llmch", tmp_path, commit_of(built), EXTRAS)


def test_uvx_runs_a_commit_of_the_repo(built: Built, tmp_path: Path) -> None:
    commit = commit_of(built)
    source = f"llmch[html] @ git+{built.clone.as_uri()}@{commit}"
    words = ("tool", "run", "--quiet", "--constraints", built.versions, "--from", source)
    said = run(_TOOLS / "uv", *words, "llmch", "--version", cwd=tmp_path)
    assert said == f"llmch {llmch.__version__} ({commit[:12]})\nextras: html\n"


def test_pipx_installs_the_wheel(built: Built, tmp_path: Path) -> None:
    run(
        *(_TOOLS / "pipx", "install", "--quiet", "--backend", "uv", built.wheel),
        f"--pip-args=--constraint={built.versions}",
        PATH=f"{_TOOLS}:{os.environ['PATH']}",
        PIPX_HOME=str(tmp_path / "home"),
        PIPX_BIN_DIR=str(tmp_path / "bin"),
        PIPX_DEFAULT_PYTHON=sys.executable,
    )
    check(tmp_path / "bin/llmch", tmp_path, commit_of(built))
