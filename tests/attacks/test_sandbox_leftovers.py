"""Commands that leave what nobody can remove: the run says so, and does not pass it over."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.errors import CommandFailed, ExitCode
from shared.events.events import Warned
from tests.fakes import proposal
from tests.harness import Factory, git, writing


def _immutable(path: Path) -> bool:
    done = subprocess.run(["chattr", "+i", path], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
def stuck(factory: Factory, tmp_path: Path) -> Iterator[Factory]:
    """A factory that may leave immutable files, which are removed afterwards."""
    probe = tmp_path / "probe"
    probe.touch()
    if not _immutable(probe):
        pytest.skip("chattr does not work here as this user")
    try:
        yield factory
    finally:
        for folder in (tmp_path, factory.workspaces):
            subprocess.run(["chattr", "-R", "-f", "-i", folder], check=False)


def _verify_by(repo: Path, condition: str) -> None:
    """Have the verification leave an immutable file beside the code, if a condition is true."""
    leave = "mkdir -p left && touch left/stuck && chattr +i left/stuck"
    script = f"#!/bin/bash\nif {condition}; then {leave}; fi\necho 1 passed\n"
    (repo / "scripts" / "verify.sh").write_text(script)
    git(repo, "commit", "--quiet", "--all", "--message=stuck")


def _left(factory: Factory) -> str:
    (left,) = json.loads((factory.run_folder / "run.json").read_text())["rollback_failed"]
    said = [each.message for each in factory.events if isinstance(each, Warned)]
    assert f"rollback failed: {left}" in said
    assert list(factory.workspaces.rglob("stuck")), "control: nothing removes it"
    return str(left)


def test_a_file_that_cannot_be_removed_before_the_next_step_ends_the_run(stuck: Factory) -> None:
    _verify_by(stuck.repo, "true")
    with pytest.raises(CommandFailed, match=r"rollback failed: .*stuck cannot be removed") as ended:
        stuck.run(writing("a.txt"), ["a\n"])
    assert ended.value.exit_code is ExitCode.FAILED
    assert "sudo chattr -R -i" in ended.value.hint
    assert "stuck cannot be removed" in _left(stuck)


def test_what_a_command_of_an_attempt_leaves_is_named_with_what_removes_it(stuck: Factory) -> None:
    _verify_by(stuck.repo, "[ -f a.txt ]")
    with pytest.raises(CommandFailed, match="rollback failed"):
        stuck.run(writing("a.txt"), [proposal({"a.txt": "a\n"})])
    left = _left(stuck)
    assert "stuck cannot be removed (Operation not permitted)" in left
    assert "sudo chattr -R -i" in left
