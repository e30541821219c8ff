"""One landed shop for all that people do to it later: each test works on a copy of its repo."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.factory.drift.landed_shop import make_shop


@pytest.fixture(scope="session")
def landed_shop(template_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    repo = Path(shutil.copytree(template_repo, folder / "repo", symlinks=True))
    make_shop(repo)
    return repo


@pytest.fixture
def shop(landed_shop: Path, tmp_path: Path) -> Path:
    """A repo with the landed shop, on the branch `work`."""
    return Path(shutil.copytree(landed_shop, tmp_path / "repo", symlinks=True))


@pytest.fixture
def known_shop(
    landed_shop: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A repo with the landed shop of which it is kept how its commands end where it landed.

    So a case runs only what its change touches. All cases have the same folder, one after another.
    """
    folder = tmp_path_factory.getbasetemp() / "known-shop"
    monkeypatch.setenv("LLMCH_WORKSPACES", str(folder / "workspaces"))
    shutil.rmtree(folder / "repo", ignore_errors=True)
    return Path(shutil.copytree(landed_shop, folder / "repo", symlinks=True))
