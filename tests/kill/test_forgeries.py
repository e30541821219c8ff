"""A command that outlived nothing left a forged `.git` in its workspace: nobody follows it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import fingerprint, git
from tests.kill.scale import FULL
from tests.kill.scenario import Scenario
from tests.kill.zygote import Zygote

pytestmark = pytest.mark.rest


KILLED = -9


def pointing_elsewhere(workspace: Path, decoy: Path) -> None:
    (workspace / ".git").unlink()
    (workspace / ".git").write_text(f"gitdir: {decoy}/.git\n")


def a_repo_of_its_own(workspace: Path, decoy: Path) -> None:
    (workspace / ".git").unlink()
    shutil.copytree(decoy / ".git", workspace / ".git")


def a_link_elsewhere(workspace: Path, decoy: Path) -> None:
    (workspace / ".git").unlink()
    (workspace / ".git").symlink_to(decoy / ".git")


def none(workspace: Path, decoy: Path) -> None:
    (workspace / ".git").unlink()


def the_workspace_is_a_link(workspace: Path, decoy: Path) -> None:
    shutil.rmtree(workspace)
    workspace.symlink_to(decoy)


FORGERIES = [pointing_elsewhere, the_workspace_is_a_link]
if FULL:
    FORGERIES += [a_repo_of_its_own, a_link_elsewhere, none]


@pytest.fixture
def decoy(tmp_path: Path) -> Path:
    """A repo whose config has git run a program whenever it is asked anything there."""
    decoy = tmp_path / "decoy"
    decoy.mkdir()
    git(decoy, "init", "--quiet")
    git(decoy, "commit", "--quiet", "--allow-empty", "--message=decoy")
    (decoy / "precious.txt").write_text("precious\n")
    for name in ("core.fsmonitor", "core.sshCommand", "filter.x.clean"):
        git(decoy, "config", name, f"touch {tmp_path}/was-followed; false")
    (decoy / ".gitattributes").write_text("* filter=x\n")
    return decoy


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_after_a_kill_nobody_follows_what_was_forged(
    tmp_path: Path,
    template_repo: Path,
    zygote: Zygote,
    decoy: Path,
    forge: Callable[[Path, Path], None],
) -> None:
    folder = tmp_path / "scenario"
    folder.mkdir()
    scenario = Scenario.of(folder, template_repo, zygote, checked_out=True)
    assert scenario.run({"LLMCH_TEST_KILL_AT": "stage:3"}) == KILLED
    before, config = fingerprint(decoy), fingerprint(decoy / ".git")
    (workspace,) = scenario.workspaces.glob("*/*/repo")
    forge(workspace, decoy)
    assert scenario.run() == 0, scenario.result
    scenario.assert_done()
    assert (fingerprint(decoy), fingerprint(decoy / ".git")) == (before, config)
    assert not (tmp_path / "was-followed").exists()
    git(decoy, "status")
    assert (tmp_path / "was-followed").exists()  # as it would have been
