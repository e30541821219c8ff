"""What a repository's CI runs beside tests is read from its workflows, as data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.projects.project_tools import find_ci_checks
from tests.shared.projects.given_files import GivenFiles

CI = ".github/workflows/ci.yml"
SCRIPTS = {
    "lint": "eslint .",
    "lint:fix": "eslint . --fix",
    "format": "prettier -w .",
    "format:check": "prettier -c .",
    "build": "tsc",
}


def checks_of(*steps: object, path: str = CI, **more: object) -> list[str]:
    workflow = {"on": "push", "jobs": {"one": {"steps": [*steps]}}, **more}
    tree = GivenFiles(
        {path: json.dumps(workflow), "package.json": json.dumps({"scripts": SCRIPTS})}
    )
    found = find_ci_checks(tree)
    assert all(each.origin == path for each in found)
    return [each.text for each in found]


@pytest.mark.parametrize(
    "command",
    [
        "ruff check .", "ruff format --check .", "python -m ruff check src", "flake8",
        "isort --check-only .", "black --check --diff .", "mypy",
        "mypy --strict src", "pyright", "npm run lint",
        "pnpm lint", "yarn run lint", "npm run format:check", "npx eslint src --ext .ts",
        "npx prettier --check 'src/**/*.ts'", "npx tsc -p . --noEmit", "npx biome ci",
        "cargo fmt --all -- --check", "cargo clippy --all-targets -- -D warnings", "go vet ./...",
        "golangci-lint run",
    ],
)  # fmt: skip
def test_a_check_is_found(command: str) -> None:
    assert checks_of({"run": command}) == [command]


@pytest.mark.parametrize(
    "command",
    [
        "pytest", "ruff check . --fix", "ruff format .", "black .", "cargo fmt", "npm run build",
        "npm run lint:fix", "npm run format", "npm run absent", "ruff check $FILES",
        "mypy | tee log", "mypy > log", "mypy; rm -rf .", "mypy `id`", "ruffian check",
        "ruff check '${{ inputs.path }}'", "ruff check 'open", "pip install ruff", "curl x | mypy",
        "mypy-extra", "ruff check *.py",
        "FORCE=1 mypy", "mypy --install-types", "codespell -w", "mypy \x1b[2J", "mypy " + "x" * 200,
    ],
)  # fmt: skip
def test_what_is_no_check_changes_files_or_needs_a_shell_is_left_out(command: str) -> None:
    assert checks_of({"run": command}) == []


def test_lines_of_a_script_and_what_runs_a_command_come_apart() -> None:
    script = "pip install .\nuv run ruff check . && poetry run mypy src\nruff check \\\n  ."
    assert checks_of({"run": script}) == ["ruff check .", "mypy src"]


def test_an_action_is_the_command_that_it_runs() -> None:
    steps = [{"uses": "psf/black@stable"}, {"uses": "actions/checkout@v4"}]
    assert checks_of(*steps, {"uses": "astral-sh/ruff-action@v3", "with": {"args": "x"}}) == [
        "black --check ."
    ]


def test_other_folders_and_other_files_are_left_out() -> None:
    assert checks_of({"run": "mypy", "working-directory": "web"}) == []
    assert checks_of({"run": "mypy"}, defaults={"run": {"working-directory": "web"}}) == []
    assert checks_of({"run": "mypy"}, path="docs/ci.yml") == []


@pytest.mark.rest
@pytest.mark.parametrize(
    "text",
    [
        "", "]", "jobs: [", "- 1", "jobs: {a: {steps: 3}}", "jobs: {a: 3}",
        "a: !!python/object:x.Y {}",
        "[" * 30_000, "jobs: &a {b: *a}", "a: 2026-99-99", "? [a]\n: 1", "x: &x [*x]\njobs: *x",
        "jobs: {a: {steps: [{run: 3}, 4, {uses: []}]}}", "#" * 70_000,
    ],
)  # fmt: skip
def test_no_text_is_an_error(text: str) -> None:
    assert find_ci_checks(GivenFiles({CI: text})) == ()


@given(st.text(alphabet="jobsrun:-{}[]&*!? \n\"'#|>", max_size=200))
def test_no_workflow_is_an_error(text: str) -> None:
    find_ci_checks(GivenFiles({CI: text}))


def test_merge_keys_that_multiply_are_not_read() -> None:
    levels = "".join(
        f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    assert find_ci_checks(GivenFiles({CI: f"a0: &a0 {{x: 1}}\n{levels}"})) == ()
