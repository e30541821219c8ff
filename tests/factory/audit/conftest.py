"""One honest branch for all forgeries: each works on a copy of its repo and its records."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import make_branch
from tests.harness import Factory


@pytest.fixture(scope="session")
def honest_branch(
    template_repo: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, tuple[str, ...]]:
    """The folder of a repo with a landed plan, its plan and its records; and the commits."""
    folder = tmp_path_factory.mktemp("honest")
    shutil.copytree(template_repo, folder / "repo", symlinks=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(folder))
        patched.setenv("LLMCH_WORKSPACES", str(folder / "workspaces"))
        return folder, make_branch(Factory(folder / "repo", folder))


@pytest.fixture
def forger(honest_branch: tuple[Path, tuple[str, ...]], tmp_path: Path) -> Forger:
    folder, commits = honest_branch
    shutil.copytree(folder / "repo", tmp_path / "repo", symlinks=True)
    shutil.copytree(folder / "artifacts", tmp_path / "artifacts")
    return Forger(tmp_path / "repo", tmp_path / "artifacts", commits)
