"""Which backend is taken, and what is said where none can be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from factory.sandbox import detect
from factory.sandbox.detect import find_backends, open_sandbox
from factory.sandbox.policy import Backend, Policy
from shared.errors import ExitCode, InvalidInput, SandboxUnavailable


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    for name in ("workspace", "private", "bin"):
        (tmp_path / name).mkdir()
    return Policy(tmp_path / "workspace", None, tmp_path / "private", Path(sys.executable))


@pytest.fixture
def path_bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a machine without bwrap in the fixed places would have one on its PATH."""
    monkeypatch.setattr(detect, "_FIXED_PLACES", ())
    monkeypatch.setattr(detect, "_proven", set())
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    return tmp_path / "bin" / "bwrap"


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_machine_without_bwrap_says_how_to_get_it(policy: Policy, path_bwrap: Path) -> None:
    with pytest.raises(SandboxUnavailable) as refused:
        open_sandbox(Backend.BWRAP, policy)
    assert refused.value.exit_code is ExitCode.SANDBOX
    assert "no bwrap in" in refused.value.message
    assert "apt install bubblewrap" in refused.value.hint
    assert "--sandbox off" in refused.value.hint


def test_a_bwrap_on_the_path_is_taken(policy: Policy, path_bwrap: Path) -> None:
    if not Path("/usr/bin/bwrap").exists():
        pytest.skip("bwrap: not installed")
    path_bwrap.symlink_to("/usr/bin/bwrap")
    assert open_sandbox(Backend.BWRAP, policy).backend is Backend.BWRAP


@pytest.mark.parametrize("place", ["workspace/bin", "repo/bin", "link"])
def test_a_bwrap_in_the_repo_is_never_run(
    policy: Policy, path_bwrap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "repo").mkdir()
    real = "repo/bin" if place == "link" else place
    script(tmp_path / real / "bwrap", f"touch {ran}; echo bubblewrap 0.11.0")
    if place == "link":
        (tmp_path / "link").symlink_to("repo/bin")
    monkeypatch.setenv("PATH", f"{tmp_path / place}:bin:.")
    own = Policy(policy.workspace, tmp_path / "repo/.git", policy.private, policy.python)
    with pytest.raises(SandboxUnavailable, match="outside the repo"):
        open_sandbox(Backend.BWRAP, own)
    assert not ran.exists()


@pytest.mark.parametrize("said", ["bubblewrap 0.7.9", "nonsense", ""])
def test_an_old_or_strange_bwrap_is_refused(policy: Policy, path_bwrap: Path, said: str) -> None:
    script(path_bwrap, f"echo {said}")
    with pytest.raises(SandboxUnavailable, match=r"older than 0\.8"):
        open_sandbox(Backend.BWRAP, policy)


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        ("setting up uid map: Permission denied", "AppArmor"),
        ("Can't mount proc on /newroot/proc: Operation not permitted", "unmask=ALL"),
    ],
)
def test_a_bwrap_that_fails_is_named_with_its_own_words_and_nothing_else_is_tried(
    policy: Policy, path_bwrap: Path, problem: str, remedy: str
) -> None:
    script(
        path_bwrap,
        'if [ "$1" = --version ]; then echo bubblewrap 0.11.0; exit; fi\n'
        f'echo "bwrap: {problem}" >&2; exit 1',
    )
    with pytest.raises(SandboxUnavailable) as refused:
        open_sandbox(Backend.BWRAP, policy)
    assert problem in refused.value.message
    assert "landlock" not in refused.value.message
    assert remedy in refused.value.hint


def test_a_bwrap_that_runs_nothing_is_not_believed(policy: Policy, path_bwrap: Path) -> None:
    script(path_bwrap, "echo bubblewrap 0.11.0")
    with pytest.raises(SandboxUnavailable):
        open_sandbox(Backend.BWRAP, policy)


def test_auto_goes_on_to_landlock_and_says_why_where_that_fails_too(
    policy: Policy, path_bwrap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        opened = open_sandbox(Backend.AUTO, policy)
        assert opened.backend is Backend.LANDLOCK
        assert "(bwrap does not work here: " in opened.describe()
    except SandboxUnavailable as error:
        assert "landlock does not work here" in error.message
    monkeypatch.setattr(detect, "MINIMUM_ABI", 1000)
    with pytest.raises(SandboxUnavailable) as refused:
        open_sandbox(Backend.AUTO, policy)
    for words in ("bwrap does not work here", "landlock does not work here"):
        assert words in refused.value.message


def test_every_backend_is_reported_with_the_reason_for_a_no(path_bwrap: Path) -> None:
    bwrap, landlock = find_backends()
    assert (bwrap.backend, landlock.backend) == (Backend.BWRAP, Backend.LANDLOCK)
    assert "no bwrap in" in bwrap.problem
    assert bwrap.remedy
    assert bool(landlock.version) or bool(landlock.problem)


def test_a_path_that_is_not_there_is_refused(policy: Policy) -> None:
    wrong = Policy(
        policy.workspace, None, policy.private, policy.python, read=(Path("/no/such/folder"),)
    )
    with pytest.raises(InvalidInput, match="/no/such/folder"):
        open_sandbox(Backend.OFF, wrong)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GITHUB_TOKEN", "db_password", "AWS_SECRET"])
def test_a_key_is_not_passed_on_even_when_asked_for(policy: Policy, name: str) -> None:
    wrong = Policy(
        policy.workspace, None, policy.private, policy.python, environment={name: "value"}
    )
    with pytest.raises(InvalidInput, match=name):
        open_sandbox(Backend.OFF, wrong)
