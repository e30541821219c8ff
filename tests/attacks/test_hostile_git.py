"""A repository's own git folder tries to bend a run: its objects, its refs, its config."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from shared.git import commits, trees
from shared.git.client import Git
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, stages, writing

NEW = proposal({"new.txt": "new\n"})


# Objects in the place of others


def a_replaced_blob(repo: Path) -> None:
    forged = git(repo, "hash-object", "-w", "--stdin", stdin=b"GREETING = 'forged'\n")
    git(repo, "replace", git(repo, "rev-parse", "HEAD:src/app.py"), forged)


def a_replaced_tree(repo: Path) -> None:
    git(repo, "replace", git(repo, "rev-parse", "HEAD^{tree}"), f"{forged_commit(repo)}^{{tree}}")


def a_replaced_commit(repo: Path) -> None:
    git(repo, "replace", git(repo, "rev-parse", "HEAD"), forged_commit(repo))


def forged_commit(repo: Path) -> str:
    """Return a commit of other files, which no branch has."""
    before = git(repo, "rev-parse", "HEAD")
    forged = commit_all(repo, {"src/app.py": "GREETING = 'forged'\n"})
    git(repo, "reset", "--quiet", "--hard", before)
    git(repo, "reflog", "expire", "--expire=all", "--all")
    return forged


@pytest.mark.parametrize("forge", [a_replaced_blob, a_replaced_tree, a_replaced_commit])
def test_an_object_in_the_place_of_another_is_not_judged(
    factory: Factory, forge: Callable[[Path], None]
) -> None:
    forge(factory.repo)
    order = writing("new.txt", acceptance_commands=["grep forged src/app.py"])
    summary = factory.run(order, [NEW], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    git(factory.repo, "worktree", "add", "--quiet", "--detach", "plain", "main")
    plain = (factory.repo / "plain/src/app.py").read_text()
    assert "forged" in plain, "the control: plain git checks the other object out"


def test_a_forged_commit_graph_gives_no_commit_another_tree(repo: Path) -> None:
    """Git reads the trees of commits from this file where it is there, and compares nothing."""
    honest = git(repo, "rev-parse", "HEAD^{tree}")
    forged = git(repo, "rev-parse", f"{forged_commit(repo)}^{{tree}}")
    git(repo, "commit-graph", "write", "--reachable")
    graph = repo / ".git/objects/info/commit-graph"
    content = graph.read_bytes().replace(bytes.fromhex(honest), bytes.fromhex(forged))
    graph.chmod(0o644)
    graph.write_bytes(content)
    shown = ("log", "--format=%T", "--max-count=1")
    assert git(repo, *shown) == forged, "the control: plain git believes it"
    assert Git(repo).run(*shown) == honest


def test_a_graft_gives_no_commit_another_parent(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    second = commit_all(repo, {"a.txt": "a\n"})
    third = commit_all(repo, {"b.txt": "b\n"})
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/grafts").write_text(f"{third} {first}\n")
    assert git(repo, "rev-parse", "HEAD^") == first, "the control: plain git believes it"
    asked = Git(repo)
    assert [each.id for each in commits.log(asked, "HEAD", limit=9)] == [third, second, first]
    assert asked.try_run("log").stderr == b""


def test_a_shallow_clone_still_ends_where_it_does(repo: Path, tmp_path: Path) -> None:
    commit_all(repo, {"a.txt": "a\n"})
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repo}", "shallow")
    asked = Git(tmp_path / "shallow")
    (only,) = commits.log(asked, "HEAD", limit=9)
    assert only.parents == () and "a.txt" in trees.files_of(asked, only.id)


# Settings that change what git says


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-7", "EBCDIC-US", "nonsense"])
def test_no_encoding_of_the_log_changes_what_is_read(repo: Path, encoding: str) -> None:
    git(repo, "config", "i18n.logOutputEncoding", encoding)
    git(repo, "config", "i18n.commitEncoding", encoding)
    plain = subprocess.run(
        ["git", "log", "--format=%H %P%n%B"], cwd=repo, capture_output=True, check=True
    ).stdout
    (only,) = commits.log(Git(repo), "HEAD", limit=9)
    assert only.id == git(repo, "rev-parse", "HEAD") and only.message.strip() == "start"
    if encoding == "UTF-16":
        assert only.id.encode() not in plain, "the control: plain git writes another encoding"
