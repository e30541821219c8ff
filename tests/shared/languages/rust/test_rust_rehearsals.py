"""How it is tried whether `cargo` runs here with a command's flags."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from shared.languages.acceptance_commands import analyse_command
from shared.languages.language_tools import ToolResult
from shared.languages.planned_code import PlannedFiles
from shared.languages.rust.rust_commands import rehearsal
from tests.real_tools import needs

HERE = ("--offline", "--manifest-path", "llmchnothing/Cargo.toml")


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("cargo test -q --test solve maze", ("cargo", "test", *HERE, "-q")),
        (
            "cargo t -p game --features a,b --locked -j 2",
            ("cargo", "test", *HERE, "-j", "2"),
        ),
        (
            "cargo +nightly test --lib -- solve --test-threads=1 --skip slow",
            ("cargo", "+nightly", "test", *HERE, "--lib", "--", "--test-threads=1"),
        ),
        ("cargo test -vv -j4 -px solve", ("cargo", "test", *HERE, "-v", "-v", "-j4")),
        ("cargo test -qvp game -Fa", ("cargo", "test", *HERE, "-q", "-v")),
        ("cargo test --test bdd -- --tags @slow --exact", ("cargo", "test", *HERE)),
        ("cargo nextest run solve", ("cargo", "nextest", "--version")),
        ("cargo clippy -- -D warnings", ("cargo", "clippy", "--version")),
    ],
)
def test_the_flags_are_tried_on_an_empty_crate(command: str, argv: tuple[str, ...]) -> None:
    found = rehearsal(analyse_command(command), PlannedFiles())
    assert found is not None
    assert found.argv == argv


@pytest.mark.parametrize(
    "command", ["cargo build", "cargo run -- a", "cargo", "env A=1 cargo test"]
)
def test_other_commands_are_not_tried(command: str) -> None:
    assert rehearsal(analyse_command(command), PlannedFiles()) is None


def test_an_alias_of_the_repository_is_not_run() -> None:
    text = '[alias]\nxtask = "run --package xtask --"\n'
    planned = PlannedFiles(repo={".cargo/config.toml": text})
    assert rehearsal(analyse_command("cargo xtask test"), planned) is None


def test_the_crate_has_the_edition_of_the_repository() -> None:
    repo = {"Cargo.toml": '[package]\nname = "game"\nedition = "2024"\n'}
    planned = PlannedFiles(repo=repo, listing=frozenset(repo))
    found = rehearsal(analyse_command("cargo test"), planned)
    assert found is not None
    assert 'edition = "2024"' in found.files["llmchnothing/Cargo.toml"]


@pytest.mark.rest
@needs("cargo")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("cargo test -q --lib -- solve --nocapture", ""),
        ("cargo test --nocapture", "error: unexpected argument '--nocapture'"),
        ("cargo test -vv -j4 -p x --features=a --test=bdd -- --skip b -q", ""),
        ("cargo test --test bdd -- --tags @slow", ""),
        ("cargo test -- --format=any", "error: "),
        ("cargo nothing-of-this-name", "error: no such command: `nothing-of-this-name`"),
    ],
)
def test_the_words_are_cargo_s(
    command: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)  # where rustup has its toolchains
    found = rehearsal(analyse_command(command), PlannedFiles())
    assert found is not None
    for path, text in found.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = subprocess.run(found.argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    refused = found.refusal(ToolResult(done.returncode, done.stdout, done.stderr))
    assert (refused is not None) == bool(words)
    assert (refused.words if refused else "").startswith(words)
