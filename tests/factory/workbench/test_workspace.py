"""The workspace is the baseline again after a reset, and nowhere after it is closed."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.measure import counting
from factory.workbench.leftovers import NOTHING_UNDONE, TreeWatch, Undone
from factory.workbench.workspace import (
    Workspace,
    close_workspace,
    open_workspace,
    workspace_refused,
    workspaces_root,
)
from shared.errors import CommandFailed
from shared.git import commits, trees
from shared.git.client import Git, GitFailed
from shared.git.commits import CommitFacts
from tests.harness import as_ordinary_user, commit_all, fingerprint, git

_DEEPER_THAN_A_PATH_CAN_SAY = 1200  # folders: 8,400 bytes of path, where 4,096 are the most


def opened(repo: Path, folder: Path) -> Workspace:
    return open_workspace(Git(repo), folder / repo.name, git(repo, "rev-parse", "HEAD"))


@pytest.fixture
def workspace(repo: Path, tmp_path: Path) -> Iterator[Workspace]:
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/lib")
    git(repo, "commit", "--quiet", "--message=submodule")
    workspace = opened(repo, tmp_path / "workspaces" / "run")
    yield workspace
    close_workspace(workspace.repo, workspace.root)


def leave_fifo(root: Path) -> None:
    os.mkfifo(root / "src/fifo")


def leave_socket(root: Path) -> None:
    here = Path.cwd()
    os.chdir(root / "src")  # a socket's path may have 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(here)


def leave_repo_in_tracked_folder(root: Path) -> None:
    git(root / "src", "init", "--quiet")


def leave_repo_of_its_own(root: Path) -> None:
    (root / "nested").mkdir()
    git(root / "nested", "init", "--quiet")
    git(root / "nested", "commit", "--quiet", "--allow-empty", "--message=x")


def leave_file_in_submodule(root: Path) -> None:
    (root / "vendor/lib/junk.py").write_text("x")


def leave_ignored_files(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/cache.log").write_text("x")
    (root / ".env").write_text("x")


def put_fifo_in_place_of_file(root: Path) -> None:
    (root / "src/app.py").unlink()
    os.mkfifo(root / "src/app.py")


def put_folder_in_place_of_file(root: Path) -> None:
    (root / "README.md").unlink()
    (root / "README.md").mkdir()
    (root / "README.md/x").write_text("x")


def put_link_in_place_of_folder(root: Path) -> None:
    (root / "src/app.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to("/etc")


def put_link_in_place_of_file(root: Path) -> None:
    (root / "README.md").unlink()
    (root / "README.md").symlink_to(root.parent)


def change_content_behind_size_and_time(root: Path) -> None:
    file = root / "src/app.py"
    before = file.stat()
    file.write_bytes(file.read_bytes().swapcase())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def change_mode(root: Path) -> None:
    (root / "src/app.py").chmod(0o755)


def stage_something(root: Path) -> None:
    (root / "staged").write_text("x")
    git(root, "add", "staged")


def commit_something(root: Path) -> None:
    stage_something(root)
    git(root, "commit", "--quiet", "--message=x")


def nest_folders_without_end(root: Path) -> None:
    inner = os.open(root, os.O_RDONLY)
    for _ in range(_DEEPER_THAN_A_PATH_CAN_SAY):
        os.mkdir("deeper", dir_fd=inner)
        below = os.open("deeper", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = below
    os.close(inner)


def leave_a_name_that_is_no_text(root: Path) -> None:
    with open(os.fsencode(root) + b"/\xff\n-rf", "wb") as file:  # noqa: PTH123
        file.write(b"x")


LEFTOVERS: list[Callable[[Path], None]] = [
    leave_fifo,
    leave_socket,
    leave_repo_in_tracked_folder,
    leave_repo_of_its_own,
    leave_file_in_submodule,
    leave_ignored_files,
    put_fifo_in_place_of_file,
    put_folder_in_place_of_file,
    put_link_in_place_of_folder,
    put_link_in_place_of_file,
    change_content_behind_size_and_time,
    change_mode,
    stage_something,
    commit_something,
    nest_folders_without_end,
    leave_a_name_that_is_no_text,
]


@pytest.mark.parametrize("leave", LEFTOVERS, ids=lambda each: each.__name__)
def test_a_reset_takes_back_whatever_a_command_did(
    workspace: Workspace, leave: Callable[[Path], None]
) -> None:
    before = fingerprint(workspace.root)
    leave(workspace.root)
    workspace.reset()
    assert fingerprint(workspace.root) == before
    assert git(workspace.root, "rev-parse", "HEAD") == workspace.baseline
    assert git(workspace.root, "status", "--porcelain", "--ignored") == ""
    assert sorted(each.name for each in workspace.root.parent.iterdir()) == [
        "repo",
        "repo.private",
    ]


MADE = "made/module.py"
FACTS = CommitFacts("made\n", "llmch", "llmch@localhost", "1700000000 +0000")


def commit_in(workspace: Workspace) -> str:
    """Write, stage and commit a file as an order does, and return the commit."""
    workspace.tree.write(MADE, b"MADE = 1\n")
    trees.stage(workspace.git, [MADE])
    tree = trees.write_tree(workspace.git)
    return commits.write(workspace.git, tree, workspace.baseline, FACTS)


@pytest.mark.parametrize("leave", LEFTOVERS, ids=lambda each: each.__name__)
def test_the_next_order_starts_from_exactly_the_commit_whatever_was_left_beside_it(
    workspace: Workspace, leave: Callable[[Path], None]
) -> None:
    commit = commit_in(workspace)
    expected = fingerprint(workspace.root)
    leave(workspace.root)
    workspace.settle(commit, [MADE])
    workspace.baseline = commit
    workspace.reset()
    assert fingerprint(workspace.root) == expected
    assert git(workspace.root, "rev-parse", "HEAD") == commit
    assert git(workspace.root, "diff-index", "--cached", commit) == ""


def test_the_tree_stands_at_the_commit(workspace: Workspace) -> None:
    commit = commit_in(workspace)
    workspace.settle(commit, [MADE])
    assert git(workspace.root, "rev-parse", "HEAD", "HEAD^") == f"{commit}\n{workspace.baseline}"


def test_a_tree_that_is_the_commit_already_is_not_checked_out_again(workspace: Workspace) -> None:
    commit = commit_in(workspace)
    workspace.expect([MADE])
    assert workspace.undo() == NOTHING_UNDONE
    workspace.settle(commit, [MADE])
    workspace.baseline = commit
    with counting() as counts:
        workspace.reset()
    assert counts.processes == 0
    assert git(workspace.root, "rev-parse", "HEAD") == commit


def test_what_was_seen_of_a_tree_is_forgotten_once_it_is_used(workspace: Workspace) -> None:
    commit = commit_in(workspace)
    workspace.settle(commit, [MADE])
    expected = fingerprint(workspace.root)
    workspace.baseline = commit
    workspace.reset()
    (workspace.root / MADE).write_text("tampered")
    workspace.reset()
    assert fingerprint(workspace.root) == expected


def test_a_commit_that_is_forgotten_leaves_nothing_for_another(workspace: Workspace) -> None:
    before = fingerprint(workspace.root)
    workspace.settle(commit_in(workspace), [MADE])
    workspace.reset()
    assert fingerprint(workspace.root) == before
    assert git(workspace.root, "rev-parse", "HEAD") == workspace.baseline


def test_what_commands_did_is_undone_but_for_ignored_files(workspace: Workspace) -> None:
    commit_in(workspace)
    workspace.expect([MADE])
    before = fingerprint(workspace.root)
    (workspace.root / "README.md").write_text("changed")
    (workspace.root / "new").mkdir()
    (workspace.root / "new/file").write_text("x")
    (workspace.root / "seen.log").write_text("ignored")
    assert workspace.undo() == Undone(("README.md",), ("new/file",))
    assert fingerprint(workspace.root).keys() - before.keys() == {"seen.log"}


def test_a_file_that_was_only_touched_did_not_change(workspace: Workspace) -> None:
    commit_in(workspace)
    workspace.expect([MADE])
    os.utime(workspace.root / "README.md", (1, 1))
    assert workspace.undo() == NOTHING_UNDONE


def test_a_quiet_command_costs_no_look_where_the_tree_is_watched(workspace: Workspace) -> None:
    workspace.watch = TreeWatch.of(workspace.root)
    workspace.reset()
    commit = commit_in(workspace)
    workspace.expect([MADE])
    with counting() as counts:
        assert workspace.undo() == NOTHING_UNDONE
    assert counts.processes == 0
    (workspace.root / MADE).write_text("tampered")
    assert workspace.undo() == Undone((MADE,))
    assert workspace.undo() == NOTHING_UNDONE
    workspace.settle(commit, [MADE])


def test_silence_counts_for_nothing_beside_files_that_nobody_watches(workspace: Workspace) -> None:
    workspace.watch = TreeWatch.of(workspace.root)
    commit_in(workspace)
    workspace.expect([MADE])
    (workspace.root / "data").mkdir()
    assert workspace.undo() == NOTHING_UNDONE  # it is ignored, and stays
    (workspace.root / "data/alias").hardlink_to(workspace.root / MADE)
    assert workspace.undo() == NOTHING_UNDONE
    (workspace.root / "data/alias").write_text("tampered")
    assert workspace.undo() == Undone((MADE,))


# No command can write to the index.
IN_THE_TREE = [each for each in LEFTOVERS if each not in (stage_something, commit_something)]


@pytest.mark.parametrize("leave", IN_THE_TREE, ids=lambda each: each.__name__)
def test_a_command_judges_what_is_staged_whatever_an_earlier_one_left(
    workspace: Workspace, leave: Callable[[Path], None]
) -> None:
    commit_in(workspace)
    workspace.expect([MADE])
    leave(workspace.root)
    workspace.undo()
    assert workspace.undo() == NOTHING_UNDONE
    assert git(workspace.root, "diff", "--name-only") == ""
    assert git(workspace.root, "ls-files", "--others", "--exclude-per-directory=.gitignore") == ""


@pytest.mark.parametrize("leave", LEFTOVERS, ids=lambda each: each.__name__)
def test_nothing_is_left_of_a_closed_workspace(
    repo: Path, tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    (repo / "vendor/lib").mkdir(parents=True)
    before = fingerprint(repo)
    workspace = opened(repo, tmp_path / "workspaces" / "run")
    (workspace.root / "vendor/lib").mkdir(parents=True)
    leave(workspace.root)
    close_workspace(workspace.repo, workspace.root)
    assert list((tmp_path / "workspaces").iterdir()) == []
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert fingerprint(repo) == before


def test_a_reset_undoes_folders_that_a_command_locked(repo: Path, tmp_path: Path) -> None:
    with as_ordinary_user(tmp_path):
        workspace = opened(repo, tmp_path / "workspaces" / "run")
        before = fingerprint(workspace.root)
        (workspace.root / "locked/inside").mkdir(parents=True)
        (workspace.root / "locked/inside/file").write_text("x")
        (workspace.root / "src/new").write_text("x")
        for folder in ("locked/inside", "locked", "src"):
            (workspace.root / folder).chmod(0)
        workspace.reset()
        (workspace.root / "src").chmod(0o755)
        assert fingerprint(workspace.root) == before
        (workspace.root / "src").chmod(0)
        close_workspace(workspace.repo, workspace.root)
        assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_workspace_that_cannot_be_opened_leaves_nothing(repo: Path, tmp_path: Path) -> None:
    (repo / ".git/worktrees").write_text("in the way")
    with pytest.raises(GitFailed):
        opened(repo, tmp_path / "workspaces" / "run")
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_place_that_is_no_folder_is_refused_in_words(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CommandFailed, match="cannot make a workspace") as refused:
        opened(repo, tmp_path / "file" / "run")
    assert "LLMCH_WORKSPACES" in refused.value.hint


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/opt/python/bin/python", "cannot use /opt/python/bin/python: Permission denied"),
        ("/data/spaces/run/private", "cannot make a workspace at /data/spaces/run"),
        ("/data", "cannot make a workspace at /data/spaces/run"),
        (None, "cannot make a workspace at /data/spaces/run"),
    ],
)
def test_what_cannot_be_used_is_named(file: str | None, said: str) -> None:
    error = PermissionError(errno.EACCES, "Permission denied", file)
    assert workspace_refused(Path("/data/spaces/run"), error).message.startswith(said)


def test_other_worktrees_of_the_user_are_left_alone(repo: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    git(repo, "worktree", "add", "--quiet", "-b", "elsewhere", str(away))
    away.rename(tmp_path / "unplugged")  # as a disk that is not mounted now
    workspace = opened(repo, tmp_path / "workspaces" / "run")
    close_workspace(workspace.repo, workspace.root)
    (tmp_path / "unplugged").rename(away)
    assert git(away, "symbolic-ref", "--short", "HEAD") == "elsewhere"


def test_others_cannot_look_into_a_workspace(workspace: Workspace) -> None:
    assert stat.S_IMODE(workspace.root.parent.stat().st_mode) == 0o700


def test_a_repo_called_private_keeps_apart_from_the_private_folder(
    repo: Path, tmp_path: Path
) -> None:
    named = repo.rename(tmp_path / "private")
    workspace = opened(named, tmp_path / "workspaces" / "run")
    assert workspace.root != workspace.private
    assert list(workspace.private.iterdir()) == []
    close_workspace(workspace.repo, workspace.root)


def test_a_sparse_checkout_of_the_user_does_not_thin_the_workspace(
    repo: Path, tmp_path: Path
) -> None:
    git(repo, "status")  # or files copied here count as changed, and stay
    git(repo, "sparse-checkout", "set", "scripts")
    assert not (repo / "src").exists()
    workspace = opened(repo, tmp_path / "workspaces" / "run")
    assert (workspace.root / "src/app.py").exists()
    workspace.reset()
    assert (workspace.root / "src/app.py").exists()
    close_workspace(workspace.repo, workspace.root)
    assert not (repo / "src").exists()


def test_links_are_links_where_the_users_checkout_has_files(repo: Path, tmp_path: Path) -> None:
    (repo / "link").symlink_to("README.md")
    commit_all(repo)
    git(repo, "config", "core.symlinks", "false")
    workspace = opened(repo, tmp_path / "workspaces" / "run")
    assert (workspace.root / "link").is_symlink()
    close_workspace(workspace.repo, workspace.root)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LLMCH_WORKSPACES": "/w", "HOME": "/root"}, "/w"),
        ({"XDG_CACHE_HOME": "/cache", "HOME": "/root"}, "/cache/llmch/workspaces"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/"}, "/.cache/llmch/workspaces"),
        ({"HOME": "/no/such/home"}, None),
        ({}, None),
    ],
)
def test_workspaces_go_where_the_user_says_else_to_the_cache(
    environ: dict[str, str], expected: str | None
) -> None:
    found = workspaces_root(environ)
    if expected is None:
        assert found.name == "workspaces"
        assert str(os.getuid()) in str(found)
    else:
        assert str(found) == expected
