"""Untracked files do not stop a run, unless an order would write over one of them."""

from __future__ import annotations

import contextlib
import shutil
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factory.preflight import untracked_in_the_way
from shared.errors import PreflightRefused
from shared.git.client import Git
from tests.fakes import proposal
from tests.harness import Factory, commit_all, fingerprint, git, manifest, order, writing

GOOD = proposal({"hello.txt": "hello\n"})


def leave(repo: Path, path: str) -> None:
    """Leave an untracked file at `path`."""
    (repo / path).parent.mkdir(parents=True, exist_ok=True)
    (repo / path).write_text("mine\n")


def found(repo: Path, *paths: str) -> tuple[str, ...]:
    return untracked_in_the_way(Git(repo), paths)


@pytest.mark.parametrize("checked_out", [False, True])
def test_untracked_files_elsewhere_are_not_looked_at(factory: Factory, checked_out: bool) -> None:
    if checked_out:
        git(factory.repo, "switch", "--quiet", "--create", "work")
    for path in ("notes.txt", ".venv/bin/python", "src/draft.py", "hello.txt.orig"):
        leave(factory.repo, path)
    before = fingerprint(factory.repo)
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    after = fingerprint(factory.repo)
    assert {path for path in after if after[path] != before.get(path)} == (
        {"hello.txt"} if checked_out else set()
    )
    assert git(factory.repo, "diff", "--name-only", "main", "work") == "hello.txt"


@pytest.mark.parametrize(
    ("left", "written", "named"),
    [
        ("hello.txt", "hello.txt", "hello.txt"),
        ("Hello.TXT", "hello.txt", "Hello.TXT"),
        (unicodedata.normalize("NFD", "über.txt"), "ÜBER.txt", "u\u0308ber.txt"),
        ("new/mine", "new", "new/"),
        ("new", "new/hello.txt", "new"),
        ("NEW", "new/deep/hello.txt", "NEW"),
        ("SRC/mine.py", "src/MINE.py", "SRC/mine.py"),
        ("src/app.log", "src/app.log", "src/app.log"),  # ignored: a switch would overwrite it
    ],
)
def test_a_file_in_the_way_is_named_before_a_model_is_paid(
    factory: Factory, left: str, written: str, named: str
) -> None:
    leave(factory.repo, left)
    before = fingerprint(factory.repo)
    with pytest.raises(PreflightRefused) as error:
        factory.run(writing(written), [])
    assert error.value.message.endswith(f"untracked files where orders would write: {named}")
    assert fingerprint(factory.repo) == before
    assert not factory.artifacts.exists()
    assert not git(factory.repo, "branch", "--list", "work")


def test_a_link_is_not_followed(factory: Factory) -> None:
    (factory.scratch / "elsewhere").mkdir()
    leave(factory.scratch / "elsewhere", "hello.txt")
    (factory.repo / "out").symlink_to(factory.scratch / "elsewhere")
    assert found(factory.repo, "out/hello.txt") == ("out",)


def test_a_file_in_the_way_in_the_tree_that_has_the_branch(factory: Factory) -> None:
    linked = factory.scratch / "linked"
    git(factory.repo, "worktree", "add", "--quiet", "-b", "work", str(linked))
    leave(linked, "hello.txt")
    with pytest.raises(PreflightRefused, match=f"{linked} has untracked files"):
        factory.run(order(), [])


def test_what_git_tracks_is_not_in_the_way(repo: Path) -> None:
    commit_all(repo, {"a": "x", "folder/b": "x"})
    assert found(repo, "a", "folder/b", "folder/c", "README.md", "A", "src/app.py/x") == ()


def test_a_submodule_is_its_own_matter(factory: Factory) -> None:
    git(factory.scratch, "clone", "--quiet", str(factory.repo), "library")
    git(factory.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
        str(factory.scratch / "library"), "library")  # fmt: skip
    commit_all(factory.repo)
    assert found(factory.repo, "library/README.md") == ()


@pytest.mark.rest
def test_an_order_that_has_landed_does_not_count_again(factory: Factory) -> None:
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    replies = {"WO-01": [proposal({"1.txt": "x\n"})], "WO-02": [proposal({"2.txt": "x\n"})]}
    factory.run_all(plan, {**replies, "WO-02": [proposal({"other": "x\n"})]}, max_attempts=1)
    leave(factory.repo, "1.txt")
    again = factory.run_all(plan, {"WO-02": replies["WO-02"]})
    assert [each.state for each in again.orders] == ["skipped", "landed"]


NAMES = st.sampled_from(["a", "A", "b", "\u00e9", "e\u0301", "\u00c9"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@pytest.mark.rest
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(left=st.lists(PATHS, max_size=4), written=st.lists(PATHS, min_size=1, max_size=3))
def test_where_nothing_is_reported_nothing_is_lost(
    repo: Path, tmp_path: Path, left: list[str], written: list[str]
) -> None:
    tree = Path(shutil.copytree(repo, tmp_path / "copy", dirs_exist_ok=True))
    try:
        for path in left:
            above = ((tree / parent).is_file() for parent in Path(path).parents)
            if not any(above) and not (tree / path).exists():
                leave(tree, path)
        before = fingerprint(tree)
        reported = found(tree, *written)
        for path in written:
            if not reported and not (tree / path).is_dir():
                with contextlib.suppress(OSError):  # a file of theirs is where a folder would be
                    (tree / path).parent.mkdir(parents=True, exist_ok=True)
                    (tree / path).write_text("theirs\n")
        after = fingerprint(tree)
        assert {path: after.get(path) for path in before} == before
    finally:
        shutil.rmtree(tree)
