"""Which Python the commands of a repo get, and why."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.workbench.dependencies import PythonChoice, choose_python
from shared.errors import InvalidInput
from tests.harness import commit_all, git

OWN = Path(sys.executable)


def environment(folder: Path, package: str = "thing") -> Path:
    """Make a virtual environment with one package in it."""
    argv = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(argv, check=True, timeout=120)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / f"{package}.py").write_text("THING = 1\n")
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit_all(folder, {".gitignore": ".venv/\nvenv/\n"})
    return folder


@pytest.mark.parametrize("name", [".venv", "venv"])
def test_the_repo_s_environment_is_python(repo: Path, name: str) -> None:
    environment(repo / name)
    expected = PythonChoice(repo / name / "bin/python", f"it is the repo's {name}")
    assert choose_python(None, repo, {}) == expected


def test_a_named_program_wins(repo: Path) -> None:
    environment(repo / ".venv")
    assert choose_python(str(OWN), repo, {}) == PythonChoice(OWN, "it was named")
    with pytest.raises(InvalidInput, match="the program does not exist"):
        choose_python("nothing-here", repo, {})


def test_an_activated_environment_serves_a_repo_that_has_none(repo: Path, tmp_path: Path) -> None:
    active = environment(tmp_path / "active")
    environ = {"VIRTUAL_ENV": str(active)}
    assert choose_python(None, repo, environ).python == active / "bin/python"
    environment(repo / ".venv")
    assert choose_python(None, repo, environ).python == repo / ".venv/bin/python"
    assert choose_python(None, repo, {"VIRTUAL_ENV": sys.prefix}).python != Path(sys.prefix)


def test_without_an_environment_it_is_llmch_s_own(repo: Path, tmp_path: Path) -> None:
    assert choose_python(None, repo, {}) == PythonChoice(OWN, "it runs llmch")
    assert choose_python(None, tmp_path / "missing", {}).python == OWN
    assert choose_python(None, None, {"VIRTUAL_ENV": "relative"}).python == OWN


def _track(repo: Path) -> None:
    git(repo, "add", "--force", ".venv/pyvenv.cfg")
    (repo / ".gitignore").write_text("\n")


def _take_the_interpreter_in(repo: Path) -> None:
    python = repo / ".venv/bin/python"
    python.unlink()
    python.write_text(f"#!/bin/sh\ntouch {repo.parent}/ran\n")
    python.chmod(0o755)


def _link_inside(repo: Path) -> None:
    _take_the_interpreter_in(repo)
    (repo / ".venv/bin/python").rename(repo / "evil")
    (repo / ".venv/bin/python").symlink_to(repo / "evil")


def _take_the_library_in(repo: Path) -> None:
    (repo / "evil/bin").mkdir(parents=True)
    (repo / ".venv/pyvenv.cfg").write_text(f"home = {repo}/evil/bin\n")


def _take_the_library_in_by_a_second_line(repo: Path) -> None:
    config = repo / ".venv/pyvenv.cfg"
    config.write_text(f"{config.read_text()}home = {repo}/evil/bin\n")


def _link_away(repo: Path) -> None:
    (repo / ".venv").rename(repo.parent / "away")
    (repo / ".venv").symlink_to(repo.parent / "away")


def _break(repo: Path) -> None:
    (repo / ".venv/bin/python").unlink()


def _empty(repo: Path) -> None:
    for site in (repo / ".venv").glob("lib/python3*/site-packages"):
        shutil.rmtree(site)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_track, "it runs llmch"),
        (_take_the_interpreter_in, ".venv is not used: its interpreter is a file of the repo"),
        (_link_inside, ".venv is not used: its interpreter is a file of the repo"),
        (_take_the_library_in, ".venv is not used: its pyvenv.cfg names no Python outside"),
        (_take_the_library_in_by_a_second_line, ".venv is not used: its pyvenv.cfg names no"),
        (_link_away, "it runs llmch"),
        (_break, ".venv is not used: it has no working bin/python"),
        (_empty, ".venv is not used: nothing is installed in it"),
    ],
)
def test_an_environment_that_cannot_be_trusted_or_does_not_work_is_left_out(
    repo: Path, spoil: Callable[[Path], None], words: str
) -> None:
    environment(repo / ".venv")
    spoil(repo)
    chosen = choose_python(None, repo, {})
    assert chosen.python == OWN
    assert words in chosen.why
    assert not (repo.parent / "ran").exists()
