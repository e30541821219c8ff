"""A power loss takes no commit that a branch stands at: what is told first is on the disk first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.fakes import proposal
from tests.harness import Factory, git, order

GOOD = proposal({"hello.txt": "hello\n"})
OBJECTS = ("update-index", "write-tree", "commit-tree")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where each git command is noted: what it syncs, and what the journal says by then."""
    log = tmp_path / "log"
    system_git = shutil.which("git")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f"journal=$({system_git} rev-parse --path-format=absolute --git-common-dir)/llmch\n"
        f"synced=$({system_git} config --get core.fsync || echo as git likes)\n"
        f'echo "$1 $2|$synced|$(tail -n 1 $journal/journal.jsonl 2>/dev/null)" >>{log}\n'
        f'exec {system_git} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return log


def noted(log: Path, command: str) -> list[list[str]]:
    lines = log.read_text().splitlines()
    return [line.split("|", 2)[1:] for line in lines if line.startswith(command)]


@pytest.mark.parametrize("command", OBJECTS)
def test_the_objects_of_a_commit_are_synced_before_it_is_about_to_land(
    factory: Factory, log: Path, command: str
) -> None:
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    ((synced, last_record),) = noted(log, command)
    assert synced == "committed"
    assert '"step": "stage"' in last_record


@pytest.mark.parametrize(
    ("checked_out", "command", "all_of_it"),
    [(False, "update-ref --create-reflog", "committed"), (True, "merge --ff-only", "all")],
)
def test_the_journal_tells_of_a_landing_before_the_branch_moves_and_that_is_synced(
    factory: Factory, log: Path, checked_out: bool, command: str, all_of_it: str
) -> None:
    if checked_out:
        git(factory.repo, "switch", "--quiet", "--create", "work")
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    ((synced, last_record),) = noted(log, command)
    assert synced == all_of_it
    assert '"step": "landing"' in last_record


def test_what_is_about_to_land_is_synced_under_the_journals_own_name(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, str]] = []
    system_fsync = os.fsync

    def fsync(descriptor: int) -> None:
        system_fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.name in ("journal.jsonl", "llmch"):
            last = (factory.repo / ".git/llmch/journal.jsonl").read_text().splitlines()[-1]
            synced.append((path.name, last))

    monkeypatch.setattr(os, "fsync", fsync)
    factory.run(order(), [GOOD])
    assert [name for name, _ in synced] == ["journal.jsonl", "llmch"]
    assert all('"step": "landing"' in last for _, last in synced)
