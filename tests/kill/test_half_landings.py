"""Git is stopped in the middle of a fast-forward: the checkout is brought back, or is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from factory.record.journal_entries import LandingBegun
from factory.run.recovery import forget_half_known_trees, undo_half_landing
from shared.git.client import Git
from shared.git.refs import NO_COMMIT
from tests.harness import fingerprint, git
from tests.kill.scale import FULL
from tests.kill.scenario import Files

pytestmark = pytest.mark.rest


MANY = 150  # files, so that a kill can come between two of them
LANDING = {
    "README.md": "# Another project\n" * 50,
    "a/new/folder/file.txt": "deep\n" * 50,
    "top.txt": "top\n" * 50,
    "built.log": "ignored by the user, and landed all the same\n",
}
OWN = "?? a/\n?? notes.txt"
AT_OLD = f"{OWN}\n!! .env\n!! cache.log"


@dataclass(frozen=True)
class Following:
    """A checkout of `work` at `old`, about to follow to `new`."""

    repo: Path
    old: str
    new: str
    before: Files

    @classmethod
    def of(cls, repo: Path, files: dict[str, str]) -> Following:
        git(repo, "switch", "--quiet", "--create", "work")
        old = git(repo, "rev-parse", "HEAD")
        for path, text in files.items():
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text)
        git(repo, "add", "--force", *files)
        new = git(repo, "commit-tree", git(repo, "write-tree"), "-p", old, "-m", "new")
        git(repo, "reset", "--quiet", "--hard", old)
        (repo / ".env").write_text("SECRET=1\n")
        (repo / "cache.log").write_text("top\n")
        for path in ("notes.txt", "a/notes.txt"):
            (repo / path).parent.mkdir(exist_ok=True)
            (repo / path).write_text("untracked\n")
        return cls(repo, old, new, fingerprint(repo))

    def recover(self) -> None:
        """Start again, a while later: what git holds just now is never taken from it."""
        a_while_ago = time.time() - 60
        for lock in (self.repo / ".git").rglob("*.lock"):
            with suppress(FileNotFoundError):  # maintenance outlives the git that began it
                os.utime(lock, (a_while_ago, a_while_ago))
        landing = LandingBegun("WO-01", "work", self.old, self.new)
        undo_half_landing(Git(self.repo), self.repo / ".git", landing)

    def put(self, path: str, commit: str = "", size: int | None = None) -> None:
        """Write as git does: the old file goes first, and what is new may not be all there yet."""
        file = self.repo / path
        file.unlink(missing_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = git(self.repo, "show", f"{commit or self.new}:{path}") + "\n"
        file.write_text(text[:size])

    def assert_as_before(self) -> None:
        assert fingerprint(self.repo) == self.before
        assert git(self.repo, "status", "--porcelain", "--ignored") == AT_OLD
        assert git(self.repo, "rev-parse", "HEAD", "work") == f"{self.old}\n{self.old}"
        assert list((self.repo / ".git").rglob("*.lock")) == []


@pytest.fixture
def following(repo: Path) -> Following:
    return Following.of(repo, LANDING)


def locked(at: Following) -> None:
    (at.repo / ".git/index.lock").touch()


def first_written(at: Following) -> None:
    locked(at)
    at.put("README.md")


def removed_to_be_replaced(at: Following) -> None:
    locked(at)
    (at.repo / "README.md").unlink()


def torn(at: Following) -> None:
    locked(at)
    at.put("README.md", size=100)


def torn_in_a_new_folder(at: Following) -> None:
    first_written(at)
    at.put("a/new/folder/file.txt", size=7)


def made_a_new_folder(at: Following) -> None:
    locked(at)
    (at.repo / "a/new/folder").mkdir(parents=True)


def begun_in_a_new_folder(at: Following) -> None:
    first_written(at)
    at.put("a/new/folder/file.txt", size=0)


def ignored_written(at: Following) -> None:
    locked(at)
    at.put("built.log")


def all_written(at: Following) -> None:
    locked(at)
    for path in LANDING:
        at.put(path)


def index_written(at: Following) -> None:
    git(at.repo, "read-tree", "-m", "-u", at.old, at.new)


def about_to_note_where_it_was(at: Following) -> None:
    (at.repo / ".git/ORIG_HEAD.lock").touch()


def about_to_move_the_branch(at: Following) -> None:
    index_written(at)
    (at.repo / ".git/refs/heads/work.lock").touch()
    (at.repo / ".git/HEAD.lock").touch()


def half_taken_back(at: Following) -> None:
    """The last recovery was itself cut off."""
    index_written(at)
    at.put("README.md", at.old, size=4)
    (at.repo / "top.txt").unlink()
    locked(at)


MOMENTS = [
    locked,
    about_to_note_where_it_was,
    first_written,
    removed_to_be_replaced,
    torn,
    torn_in_a_new_folder,
    begun_in_a_new_folder,
    made_a_new_folder,
    ignored_written,
    all_written,
    index_written,
    about_to_move_the_branch,
    half_taken_back,
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
def test_cut_off_at_any_moment_the_checkout_is_as_it_was(
    following: Following, moment: Callable[[Following], None]
) -> None:
    moment(following)
    following.recover()
    following.assert_as_before()


def with_an_edit_of_another_file(at: Following) -> None:
    (at.repo / "src/app.py").write_text("mine\n")


def with_an_edit_of_a_landed_file(at: Following) -> None:
    at.put("README.md")
    with (at.repo / "README.md").open("a") as file:
        file.write("mine\n")


def with_a_link_in_its_place(at: Following) -> None:
    (at.repo / "README.md").unlink()
    (at.repo / "README.md").symlink_to("top.txt")


def with_a_mode_changed(at: Following) -> None:
    (at.repo / "src/app.py").chmod(0o755)


def with_a_landed_file_deleted(at: Following) -> None:
    """Git had not begun, or it would have the index locked."""
    (at.repo / "README.md").unlink()


def with_a_landed_file_emptied(at: Following) -> None:
    (at.repo / "README.md").write_text("")


EDITS = [
    with_a_landed_file_deleted,
    with_a_landed_file_emptied,
    with_an_edit_of_another_file,
    with_an_edit_of_a_landed_file,
    with_a_link_in_its_place,
    with_a_mode_changed,
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_with_an_edit_of_the_users_the_checkout_is_left_alone(
    following: Following, edit: Callable[[Following], None]
) -> None:
    following.put("top.txt")
    edit(following)
    found = fingerprint(following.repo)
    following.recover()
    assert fingerprint(following.repo) == found


def test_a_folder_that_was_there_before_may_be_the_users(following: Following) -> None:
    (following.repo / "a/new").mkdir(parents=True)
    os.utime(following.repo / "a/new", (0, 0))
    locked(following)
    following.recover()
    assert (following.repo / "a/new").is_dir()


def test_an_empty_file_that_git_ignores_may_be_the_users(following: Following) -> None:
    (following.repo / "built.log").touch()
    following.put("top.txt")
    following.recover()
    (following.repo / "built.log").unlink()
    following.assert_as_before()


def moved(at: Following) -> LandingBegun:
    git(at.repo, "merge", "--quiet", "--ff-only", at.new)
    return LandingBegun("WO-01", "work", at.old, at.new)


def made(at: Following) -> LandingBegun:
    git(at.repo, "switch", "--quiet", "--create", "made", at.new)
    return LandingBegun("WO-01", "made", NO_COMMIT, at.new)


def lost(at: Following) -> LandingBegun:
    """The power went before the commit was on the disk."""
    return LandingBegun("WO-01", "work", at.old, "1" * 40)


@pytest.mark.parametrize("state", [moved, made, lost], ids=lambda state: state.__name__)
def test_where_nothing_is_to_be_taken_back_nothing_changes(
    following: Following, state: Callable[[Following], LandingBegun]
) -> None:
    landing = state(following)
    (following.repo / "top.txt").write_text("top\n")
    found = fingerprint(following.repo)
    undo_half_landing(Git(following.repo), following.repo / ".git", landing)
    assert fingerprint(following.repo) == found


def test_what_git_half_knows_of_a_working_tree_is_removed_and_no_tree(
    following: Following, tmp_path: Path
) -> None:
    repo = following.repo
    for name in ("half", "away", "there"):
        git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / name))
    shutil.rmtree(tmp_path / "away")  # as on a disk that is not mounted now
    (repo / ".git/worktrees/half/gitdir").unlink()
    os.utime(repo / ".git/worktrees/half", (0, 0))
    forget_half_known_trees(repo / ".git")
    known = git(repo, "worktree", "list", "--porcelain")
    assert [line for line in known.splitlines() if line.startswith("worktree ")] == [
        f"worktree {path}" for path in (repo, tmp_path / "away", tmp_path / "there")
    ]
    assert {each.name for each in (repo / ".git/worktrees").iterdir()} == {"away", "there"}


@pytest.mark.parametrize("seed", range(100 if FULL else 2))
def test_git_is_killed_at_a_random_moment_of_a_fast_forward(repo: Path, seed: int) -> None:
    files = {f"{number % 7}/{number}.txt": f"{number}\n" * 2000 for number in range(MANY)}
    following = Following.of(repo, files)
    merge = subprocess.Popen(["git", "merge", "--quiet", "--ff-only", following.new], cwd=repo)
    time.sleep(Random(seed).uniform(0.0, 0.06))  # how long it takes, more or less
    merge.kill()
    merge.wait()
    following.recover()
    if git(repo, "rev-parse", "work") == following.old:
        following.assert_as_before()
    else:
        assert git(repo, "status", "--porcelain") == OWN
        assert set(fingerprint(repo)) >= set(files)
