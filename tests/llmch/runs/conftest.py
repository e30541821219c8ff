"""One real run whose records the tests of a file take apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Factory, git
from tests.llmch.runs.test_read_run import run_two
from tests.once import made_once


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the records of one real run, and its repo; tests work on copies of the records."""
    scratch = made_once(tmp_path_factory, "recorded", _run)
    return Factory(scratch / "repo", scratch).run_folder, scratch / "repo"


def _run(scratch: Path) -> None:
    repo = scratch / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main", "--template=")
    (repo / "README.md").write_text("# A project\n")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message=start")
    run_two(Factory(repo, scratch))
