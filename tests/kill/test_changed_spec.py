"""A changed specification, its build killed after each journalled step and begun again."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from factory.record.journal_entries import JournalStep
from tests.harness import git
from tests.kill.scale import FULL
from tests.llmch.command_line import Words, model_server, run
from tests.llmch.shop import FIRST, FIRST_DAY, NEW_FILES, SECOND, SECOND_DAY, files_of, make_shop

pytestmark = pytest.mark.rest


# How often each step is on record when the second day is not disturbed.
TIMES = {
    JournalStep.RUN_BEGUN: 1,
    JournalStep.WORKSPACE_OPENING: 1,
    JournalStep.WORKSPACE_OPENED: 1,
    JournalStep.ORDER_BEGUN: 3,
    JournalStep.STAGE: 12,
    JournalStep.LANDING: 3,
    JournalStep.LANDED: 5,
    JournalStep.ORDER_ENDED: 3,
    JournalStep.RUN_ENDED: 1,
}


def moments() -> Iterator[str]:
    """Yield every time of every step; or some, from the begin of the run to its end."""
    if FULL:
        yield from (f"{step}:{n}" for step, times in TIMES.items() for n in range(1, times + 1))
    else:
        yield from ("landed:1", "stage:6", "landing:3")


def build(folder: Path) -> Words:
    """Return the command, the same on both days."""
    return [
        *(
            "build",
            "--spec",
            folder / "spec.json",
            "--repo",
            folder / "repo",
            "--sandbox",
            "off",
            "--yes",
        ),
        *("--no-review", "--reply-format", "files", "--max-attempts", "1", "--json"),
        *("--artifacts-dir", folder / "artifacts"),
    ]


@pytest.fixture(scope="module")
def first_day(
    tmp_path_factory: pytest.TempPathFactory, template_repo: Path
) -> Iterator[tuple[Path, str]]:
    """Return a folder with a repo whose plan has landed, and the tip of its branch."""
    folder = tmp_path_factory.mktemp("first_day")
    make_shop(Path(shutil.copytree(template_repo, folder / "repo", symlinks=True)))
    (folder / "spec.json").write_text(FIRST)
    with pytest.MonkeyPatch.context() as patch, model_server(patch, *FIRST_DAY):
        said = run(*build(folder), cwd=folder)
    assert said.code == 0, said.err
    yield folder, said.document["branch"]


@pytest.mark.parametrize("moment", list(moments()))
def test_the_second_day_ends_right_wherever_it_was_killed(
    first_day: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    before, branch = first_day
    folder = Path(shutil.copytree(before, tmp_path / "second_day", symlinks=True))
    tip = git(folder / "repo", "rev-parse", branch)
    (folder / "spec.json").write_text(SECOND)
    with model_server(monkeypatch, *SECOND_DAY) as server:
        killed = run(*build(folder), cwd=folder, LLMCH_TEST_KILL_AT=moment)
        assert killed.code == -signal.SIGKILL, killed.err
        again = run(*build(folder), cwd=folder)
    assert again.code == 0, again.err
    assert len(server.received) == len(SECOND_DAY)
    repo = folder / "repo"
    assert again.document["branch"] == branch
    assert git(repo, "merge-base", tip, branch) == tip
    assert git(repo, "rev-list", "--count", f"{tip}..{branch}") == "3"
    assert files_of(repo, branch) - files_of(repo, "main") == NEW_FILES
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
