"""What a command can do to the repo it runs in: a worktree of it, as in a real run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from factory.sandbox.policy import Backend, Guarantee
from factory.sandbox.visible_files import scrubbed
from tests.factory.sandbox.sandbox_arena import Arena

TOKEN = "ghs_thetokenofthecheckout"
IDENTITY = ["-c", "user.name=T", "-c", "user.email=t@example.com"]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *IDENTITY, "-C", folder, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return done.stdout


@pytest.fixture
def worktree(attacked: Arena) -> Arena:
    """The arena's workspace as a linked worktree of a repo whose config holds a token."""
    repo = attacked.base / "repo"
    git(attacked.base, "init", "-q", "repo")
    (repo / "file").write_text("tracked\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "the first commit")
    git(repo, "remote", "add", "origin", f"https://x:{TOKEN}@example.com/r.git")
    git(repo, "config", "http.extraheader", f"AUTHORIZATION: basic {TOKEN}")
    (repo / ".git" / "logs" / "HEAD").write_text(f"clone: from https://x:{TOKEN}@example.com\n")
    attacked.workspace.rmdir()
    git(repo, "worktree", "add", "-q", "--detach", str(attacked.workspace))
    attacked.open(git_dir=str(repo / ".git"))
    return attacked


def test_the_git_directory_stays_as_it_is(worktree: Arena) -> None:
    hooks = worktree.base / "repo" / ".git" / "hooks"
    config = hooks.parent / "config"
    before = config.read_bytes()
    worktree.run(
        "sh",
        "-c",
        f"mkdir -p {hooks}; echo '#!/bin/sh' > {hooks}/pre-commit; chmod +x {hooks}/pre-commit;"
        f"git config core.fsmonitor /tmp/evil; echo '[core]fsmonitor=evil' >> {config};"
        "git commit --allow-empty -m planted; git update-ref refs/heads/planted HEAD",
    )
    harmed = (hooks / "pre-commit").exists() or config.read_bytes() != before
    worktree.check(Guarantee.GIT_DIR, harmed)


def test_the_worktree_s_pointer_stays_or_is_put_back(worktree: Arena) -> None:
    pointer = worktree.workspace / ".git"
    before = pointer.read_bytes()
    for attack in (
        # In place, of the same length, and with the time of the file before: first, because only a
        # pointer that was not put back yet is known by its times.
        "cp -p .git old; tr a-z A-Z < old 1<> .git; touch -r old .git",
        "echo 'gitdir: /tmp/evil' > .git",
        "rm -f .git; mkdir .git; touch .git/config; chmod 000 .git",
        "rm -f .git; ln -s /tmp/evil .git",
        "rm -f .git; mkfifo .git",
        "mv .git elsewhere",
        "truncate -s 1G .git",
    ):
        ended = worktree.run("sh", "-c", attack)
        assert pointer.read_bytes() == before, attack
        assert not pointer.is_symlink()
        assert ("put back" in ended.reason) is (worktree.backend is not Backend.BWRAP), attack


def test_credentials_in_the_git_directory_cannot_be_read(worktree: Arena) -> None:
    ended = worktree.run(
        "sh",
        "-c",
        "git remote -v; git config --list; git reflog; git config http.extraheader;"
        f"cat $(find {worktree.base}/repo/.git -type f); grep -r ghs_ {worktree.base}/repo",
    )
    printed = ended.stdout.text + ended.stderr.text
    worktree.check(Guarantee.GIT_CREDENTIALS, harmed=TOKEN in printed)


def test_history_can_be_read_where_credentials_can_be_masked(worktree: Arena) -> None:
    if worktree.backend is Backend.LANDLOCK:
        pytest.skip("landlock: it cannot mask a part of a folder, so it shows none of it")
    ended = worktree.run("sh", "-c", "git log --format=%s && git status --short && git ls-files")
    assert ended.stdout.text == "the first commit\nfile\n", ended.stderr.text


def test_git_itself_still_works_in_the_repo_afterwards(worktree: Arena) -> None:
    worktree.run("sh", "-c", "git gc; git worktree prune; rm -rf .git; git init")
    assert "the first commit" in git(worktree.workspace, "log", "--format=%s")


CONFIG = f"""[core]
\trepositoryformatversion = 1
\tfilemode = true
\tfsmonitor = {TOKEN}
\tsshCommand = "x \\
\tbare = {TOKEN}"
[remote "origin"]
\turl = https://{TOKEN}@example.com
\tfilemode = {TOKEN}
[extensions]
\tobjectformat = sha256
[http "https://{TOKEN}@example.com"]
[core] filemode = {TOKEN}
"""


def test_the_scrubbed_configuration_has_what_git_needs_and_nothing_else() -> None:
    assert scrubbed(CONFIG) == (
        "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n"
        "[extensions]\n\tobjectformat = sha256\n"
    )
