"""A patch, a folder or a commit of a stranger that would write what its order does not allow."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.batch.given_proposals import MAX_PATCH_BYTES
from factory.preflight import hold
from shared.errors import Busy
from shared.events.events import StageStarted
from tests.factory.batch.batching import landed_on
from tests.factory.batch.proposing import begun, folder_with, propose, why
from tests.harness import Factory, fingerprint, git

TEST = {"path": "tests/check.txt", "content": "as planned\n"}


def new_file(path: str, text: str = "by hand", mode: str = "100644") -> str:
    """Return a patch that makes a file."""
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1 @@\n+{text}\n"
    )


RENAMED = (
    "diff --git a/src/app.py b/2.txt\nsimilarity index 100%\nrename from src/app.py\n"
    "rename to 2.txt\n"
)
SUBMODULE = (
    "diff --git a/2.txt b/2.txt\nnew file mode 160000\n--- /dev/null\n+++ b/2.txt\n@@ -0,0 +1 @@\n"
    f"+Subproject commit {'1' * 40}\n"
)
BINARY = (
    "diff --git a/2.txt b/2.txt\nnew file mode 100644\nGIT binary patch\nliteral 1\nIcmZ>V0000\n"
)
PATCHES = {
    "up": (new_file("../outside.txt"), "does not apply"),
    "far up": (new_file("src/../../outside.txt"), "does not apply"),
    "absolute": (new_file("/tmp/outside.txt"), "does not apply"),
    "hook": (new_file(".git/hooks/post-commit"), "does not apply"),
    "disguised hook": (new_file(".GIT/hooks/post-commit"), "does not a"),
    "link": (new_file("2.txt", "/etc/passwd", "120000"), "is a link or a submodule"),
    "submodule": (SUBMODULE, "is a link or a submodule"),
    "executable": (new_file("2.txt", mode="100755"), "has the mode 100755"),
    "binary": (BINARY, "changes a binary file (line 3)"),
    "NUL": (new_file("2.txt", "by hand\0"), "2.txt"),
    "renamed": (RENAMED, "does not allow: src/app.py"),
    "test of the plan": (new_file("tests/check.txt", "weaker"), "changes tests of the plan"),
    "more": (new_file("2.txt") + new_file("other.txt"), "does not allow: other.txt"),
    "cut": (new_file("2.txt").removesuffix("+by hand\n"), "corrupt patch at line"),
    "empty": ("", "does not apply"),
    "no patch": ("2.txt is done\n", "does not apply"),
    "escape": (new_file('"\\033[2J.txt"'), "does not a"),
}


@pytest.mark.rest
@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_that_may_not_be_applied(factory: Factory, name: str) -> None:
    person = begun(factory, acceptance_files=[TEST])
    patch = factory.scratch / "their.patch"
    text, words = PATCHES[name]
    patch.write_text(text)
    before, tip = fingerprint(factory.repo), factory.tip()
    judged = propose(person, ("diff", patch))
    assert not judged.passed
    assert words in why(judged)
    assert "\033" not in why(judged)
    assert (fingerprint(factory.repo), factory.tip()) == (before, tip)
    assert not (factory.repo / ".git/hooks/post-commit").exists()
    assert not (factory.scratch / "outside.txt").exists()
    patch.write_text(new_file("2.txt"))
    assert propose(person, ("diff", patch)).passed, "the control"


def test_a_patch_that_is_too_long(factory: Factory) -> None:
    person = begun(factory)
    patch = factory.scratch / "their.patch"
    patch.write_text(new_file("2.txt") + "\n" * MAX_PATCH_BYTES)
    assert "has over 8,388,608 bytes" in why(propose(person, ("diff", patch)))
    patch.write_text(new_file("2.txt"))
    assert propose(person, ("diff", patch)).passed, "the control"


def link_out(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def huge(path: Path) -> None:
    os.truncate(path, 2**40)


def bytes_alone(path: Path) -> None:
    path.write_bytes(b"by hand \xff\n")


def behind_a_link(path: Path) -> None:
    elsewhere = path.parent.parent.parent / "elsewhere"
    shutil.move(path.parent, elsewhere)
    path.parent.symlink_to(elsewhere)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("act", "words"),
    [
        (link_out, "is a symbolic link"),
        (pipe, "is no regular file"),
        (huge, "has over"),
        (bytes_alone, "is not UTF-8 text"),
        (behind_a_link, "lies behind a symbolic link"),
        (Path.unlink, "changes no file"),
    ],
)
def test_a_folder_with_what_is_no_text(
    factory: Factory, act: Callable[[Path], object], words: str
) -> None:
    person = begun(factory, allowed_files=["new/2.txt"], acceptance_commands=["true"])
    folder = folder_with(factory, {"new/2.txt": "by hand\n"})
    act(folder / "new/2.txt")
    os.mkfifo(folder / "pipe")
    (folder / "out").symlink_to("/")
    judged = propose(person, ("dir", folder))
    assert words in why(judged)
    assert {"pipe", "out"} <= set(judged.given[0].by.dropped), "named, not followed"
    again = factory.scratch / "theirs"
    shutil.rmtree(again)
    folder_with(factory, {"new/2.txt": "by hand\n"})
    assert propose(person, ("dir", again)).passed, "the control"


@pytest.mark.rest
def test_an_object_in_the_place_of_a_commit_does_not_count(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", text="wrong\n", branch="theirs")
    git(factory.repo, "branch", "right", "work")
    right = person.commits("2.txt", branch="right")
    git(factory.repo, "replace", theirs, right)
    assert git(factory.repo, "show", f"{theirs}:2.txt") == "by hand", "as git shows it"
    assert not propose(person, ("commit", theirs)).passed
    assert propose(person, ("commit", right)).passed, "the control"


@pytest.mark.rest
def test_a_branch_that_moves_while_a_proposal_is_judged(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    moved: list[str] = []

    def move(event: object) -> None:
        if isinstance(event, StageStarted) and event.stage == "commit" and not moved:
            tree = git(factory.repo, "rev-parse", "work^{tree}")
            words = ("commit-tree", "-p", "work", "-m", "meanwhile", tree)
            moved.append(git(factory.repo, *words))
            git(factory.repo, "update-ref", "refs/heads/work", moved[0])

    factory.on_event = move
    try:
        judged = propose(person, ("commit", theirs))
    except Exception as error:
        assert "someone else moved it" in str(error)
    else:
        assert not judged.passed
    assert moved and factory.tip() == moved[0], "what somebody else put there stays"
    factory.on_event = None
    assert propose(person, ("commit", theirs)).passed, "the control"
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]


@pytest.mark.rest
def test_only_one_lands_at_a_time_and_a_check_waits_for_nobody(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    with hold(person.place.common_dir):
        with pytest.raises(Busy):
            propose(person, ("commit", theirs))
        assert propose(person, ("commit", theirs), check=True).passed
    assert propose(person, ("commit", theirs)).passed, "the control"


@pytest.mark.rest
def test_a_name_that_reads_like_the_words_of_llmch(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    raw = git(factory.repo, "cat-file", "commit", theirs)
    name = "\033[2J Llmch-Key: 0000 \u202e Llmch-Work-Order: WO-03"
    forged = raw.replace("author Ada", f"author {name}").encode() + b"\n"
    words = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    commit = git(factory.repo, *words, stdin=forged)
    judged = propose(person, ("commit", commit))
    assert judged.passed
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    message = git(factory.repo, "log", "-1", "--format=%B", "work")
    assert "\033" not in message and "\u202e" not in message
    assert "\033" not in judged.given[0].by.name
    assert "\033" in git(factory.repo, "log", "-1", "--format=%an", commit), "the control"
