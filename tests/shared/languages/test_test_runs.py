"""Which commands are test runners, by their text alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.acceptance_commands import runs_tests


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q tests",
        "/opt/venv/bin/pytest",
        "python -m pytest -k nothing",
        "python3.12 -m unittest discover",
        "env CI=1 go test ./...",
        "go test -run TestNone ./a",
        "go test -C sub -exec ./wrap ./...",
        "go -C sub test ./...",
        "cargo test nothing::here",
        "cargo +nightly t -q",
        "cargo nextest run --profile ci",
        "npm test",
        "npm run test -- --verbose",
        "npx jest -t nothing",
        "yarn vitest run",
        "uv run pytest",
        "node --import tsx --test src",
        "mvn -q test",
        "./gradlew :app:test test",
        "dotnet test",
        "ctest --output-on-failure",
        "tox -e py311",
    ],
)
def test_a_test_runner_runs_tests(command: str) -> None:
    assert runs_tests(command) is True


@pytest.mark.parametrize(
    "command",
    [
        "python -m compileall -q .",
        "python -m pip --version",
        "go build ./...",
        "go vet ./...",
        "cargo check",
        "go help test",
        "go test -n ./...",
        "go test -c ./test",
        "go test -exec=true ./...",
        "go test -list=. ./...",
        "go test --list . ./...",
        "go test -h",
        "cargo test --no-run",
        "cargo test -h",
        "cargo test -- --list",
        "cargo help test",
        "cargo build --bin test",
        "cargo nextest list",
        "cargo nextest run --no-run",
        "pytest --collect-only",
        "python -m pytest --collect-only -q",
    ],
)
def test_a_command_that_builds_or_lists_runs_none(command: str) -> None:
    assert runs_tests(command) is False


@pytest.mark.parametrize(
    "command",
    ["", "'", "true", "make test", "bash scripts/verify.sh", "npm run build", "npx tsc",
     "python -c 'import pytest'", "python test.py", "node test.js", "grep -q test README.md",
     "bash -c 'go test'", "env",
     "go run . test", "cargo run -- test", "cargo run test", "go", "cargo"],
)  # fmt: skip
def test_of_any_other_command_the_text_does_not_say_it(command: str) -> None:
    assert runs_tests(command) is None


@given(st.text())
def test_any_text_is_answered(command: str) -> None:
    assert runs_tests(command) in (True, False, None)
