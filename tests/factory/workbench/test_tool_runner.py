"""Tools that judge code run on their own files, held in a sandbox that is kept between runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from factory.workbench.judging_tools import SandboxRunner, fetched_crates
from shared.languages.language_tools import ToolMissing
from shared.settings.settings import SandboxSettings


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which runners make theirs."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def runner(scratch: Path) -> Iterator[SandboxRunner]:
    made = SandboxRunner(SandboxSettings())
    yield made
    made.close()


def shell(runner: SandboxRunner, text: str, **files: str) -> tuple[int | None, str]:
    result = runner.run(files, ("sh", "-c", text), seconds=20)
    return result.exit_code, result.stdout


def test_cargo_is_shown_the_crates_that_were_fetched_and_no_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    monkeypatch.setenv("CARGO_HOME", str(own))
    assert fetched_crates(tmp_path / "empty") == ()
    (own / "registry/index").mkdir(parents=True)
    (own / "credentials.toml").write_text("token = 'secret'")
    home, registry = fetched_crates(tmp_path / "home")
    assert registry == own / "registry"
    assert [each.name for each in home.iterdir()] == ["registry"]
    assert (home / "registry/index").is_dir()


def test_a_tool_sees_its_files_and_says_how_it_ended(runner: SandboxRunner) -> None:
    result = runner.run({"a/b.txt": "text"}, ("sh", "-c", "cat a/b.txt; exit 3"), seconds=20)
    assert (result.exit_code, result.stdout, result.stderr) == (3, "text", "")


def test_the_files_of_the_last_run_are_gone_and_its_build_folder_is_there(
    runner: SandboxRunner,
) -> None:
    assert shell(runner, "mkdir target made; touch target/built made/x; ls", a="1")[0] == 0
    assert shell(runner, "ls . target", b="1") == (0, ".:\nb\ntarget\n\ntarget:\nbuilt\n")


def test_a_link_that_a_tool_leaves_leads_no_file_elsewhere(
    runner: SandboxRunner, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shell(runner, f"ln -s {outside} a; ln -s {outside} target")
    runner.run({"a/x": "1"}, ("true",), seconds=20)
    with pytest.raises(ToolMissing, match="target/x cannot be shown"):
        runner.run({"target/x": "1"}, ("true",), seconds=20)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/tmp/x", "a/../../x"])
def test_no_file_is_written_outside_the_folder(runner: SandboxRunner, path: str) -> None:
    with pytest.raises(ToolMissing, match="cannot be shown to a tool"):
        runner.run({path: "1"}, ("true",), seconds=20)


def test_a_tool_that_takes_too_long_has_no_exit_code(runner: SandboxRunner) -> None:
    assert runner.run({}, ("sleep", "60"), seconds=0.2).exit_code is None


def test_a_program_that_is_not_there_is_missing(runner: SandboxRunner) -> None:
    with pytest.raises(ToolMissing, match="no-such-tool is not installed"):
        runner.run({}, ("no-such-tool",), seconds=20)


def test_nothing_is_made_before_the_first_question_or_left_at_the_end(scratch: Path) -> None:
    runner = SandboxRunner(SandboxSettings())
    assert list(scratch.iterdir()) == []
    shell(runner, "true")
    assert len(list(scratch.iterdir())) == 1
    runner.close()
    assert list(scratch.iterdir()) == []


def test_a_tool_sees_what_the_settings_show_to_commands(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = scratch.parent / "shown"
    shown.mkdir()
    (shown / "x").write_text("text")
    monkeypatch.setenv("TOOL_FLAGS", "-q")
    runner = SandboxRunner(SandboxSettings(read=(shown,), env=("TOOL_FLAGS",)))
    try:
        assert shell(runner, f"cat {shown}/x; echo $TOOL_FLAGS") == (0, "text-q\n")
    finally:
        runner.close()
