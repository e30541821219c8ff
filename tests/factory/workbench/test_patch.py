"""A recorded patch says exactly what was proposed, also where nothing was written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factory.orders.documents import FileWrite, WriteProposal
from factory.workbench.tree import patch_of_proposal
from shared.git.client import Git
from shared.work_order.parse_order import EMPTY_SHA256
from tests.harness import commit_all, git

_NAMES = st.sampled_from(
    ["README.md", "src/app.py", "new.txt", "deep/er/new é.py", 'quo"te', "a b", "-x", "tool.sh"]
)
_TEXTS = st.text(st.sampled_from("ab+- \t\r\né\0\\"), max_size=60)


def proposing(files: dict[str, str]) -> WriteProposal:
    writes = tuple(
        FileWrite(path=path, base_sha256=EMPTY_SHA256, content=text) for path, text in files.items()
    )
    return WriteProposal(summary="", writes=writes)


@pytest.fixture
def based(repo: Path) -> tuple[Path, str]:
    """A repo with a program and a file without a last line break, and its commit."""
    (repo / "tool.sh").write_text("true")
    (repo / "tool.sh").chmod(0o755)
    return repo, commit_all(repo)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(_NAMES, _TEXTS, min_size=1))
def test_the_patch_makes_of_the_base_what_was_proposed(
    based: tuple[Path, str], tmp_path: Path, files: dict[str, str]
) -> None:
    repo, base = based
    patch = patch_of_proposal(Git(repo), base, proposing(files))
    copy = tmp_path / "copy"
    shutil.copytree(repo, copy)
    try:
        if b"diff --git" in patch:
            git(copy, "apply", "--whitespace=nowarn", "-", stdin=patch)
        for path, text in files.items():
            assert (copy / path).read_bytes() == text.encode()
        assert (copy / "tool.sh").stat().st_mode & 0o111
    finally:
        shutil.rmtree(copy)


def test_the_patch_is_that_of_the_tree_where_there_is_one(based: tuple[Path, str]) -> None:
    repo, base = based
    files = {"README.md": "# Another\n", "new.txt": "new\n", "tool.sh": "false\n"}
    unwritten = patch_of_proposal(Git(repo), base, proposing(files))
    commit = commit_all(repo, dict(files))
    assert patch_of_proposal(Git(repo), base, proposing(files), f"{commit}^{{tree}}") == unwritten


def test_a_proposal_of_the_files_as_they_are_has_an_empty_patch(based: tuple[Path, str]) -> None:
    repo, base = based
    assert patch_of_proposal(Git(repo), base, proposing({"README.md": "# A project\n"})) == b""


def test_very_many_files_are_bounded(based: tuple[Path, str]) -> None:
    repo, base = based
    patch = patch_of_proposal(Git(repo), base, proposing({f"{n}.txt": "x\n" for n in range(250)}))
    assert patch.count(b"diff --git") == 200
    assert patch.startswith(b"# '200.txt' is not in this patch: it is beyond the first 200 files\n")


def test_the_user_s_configuration_changes_nothing(based: tuple[Path, str]) -> None:
    repo, base = based
    files = {"README.md": "# Another\n", "new.txt": "new\n"}
    plain = patch_of_proposal(Git(repo), base, proposing(files))
    for key, value in {
        "diff.external": "false", "diff.noprefix": "true", "color.ui": "always",
        "diff.mnemonicPrefix": "true", "diff.context": "0", "diff.algorithm": "histogram",
    }.items():  # fmt: skip
        git(repo, "config", key, value)
    assert patch_of_proposal(Git(repo), base, proposing(files)) == plain
