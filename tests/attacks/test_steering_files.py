"""Files by which an order can decide how its own tests end: each is a warning of the plan."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.compile.judge_reply import review_prompt
from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order

TEST = "from score import score\n\n\ndef test_score():\n    assert score('a') == 1\n"
WRONG = "def score(guess: str) -> int:\n    return 0\n"
PASSES = "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\n"
PASSES += "def pytest_pyfunc_call():\n    return True\n"
COMMAND = "python -m pytest -q tests/test_score.py"


def document(*allowed: str) -> dict[str, Any]:
    fields = order(
        allowed_files=["score.py", *allowed],
        postconditions=[{"kind": "file_exists", "path": each} for each in ("score.py", *allowed)],
        interfaces=[{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
        acceptance_files=[{"path": "tests/test_score.py", "content": TEST}],
        acceptance_commands=[COMMAND],
    )
    return {"work_orders": [fields]}


def warned(path: str) -> list[str]:
    report = judge(parse_plan(document(path)), {}, {})
    return [each.message for each in report.findings if each.code == "W235"]


@pytest.mark.rest
@pytest.mark.parametrize(
    "path",
    [
        "conftest.py", "tests/conftest.py", "pytest.ini", "tox.ini", "sitecustomize.py",
        "src/usercustomize.py", "paths.pth", "json.py", "pytest.py", "unittest/__init__.py",
        "tests/random.py", "jest.config.js", "vitest.config.ts", ".mocharc.json",
        "ava.config.mjs", ".npmrc", "node_modules/assert/index.js", ".cargo/config.toml",
        "build.rs", "go.work", "vendor/example.org/x/x.go", "./conftest.py",
    ],
)  # fmt: skip
def test_a_file_that_steers_tests_is_a_warning(path: str) -> None:
    (message,) = warned(path)
    assert message.endswith("the executor decides by it how its own tests end")


@pytest.mark.rest
@pytest.mark.parametrize(
    "path",
    [
        "app/json.py", "app/types.py", "scores.py", "tests/test_json.py", "tests/helpers.py",
        "pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "go.mod", "config.toml",
        "src/config.js", "src/build.js", "README.md", "docs/conftest.md", "src/app/random.py",
    ],
)  # fmt: skip
def test_files_of_other_orders_are_not_warned_about(path: str) -> None:
    assert warned(path) == []


@pytest.mark.rest
def test_the_warning_is_about_a_file_that_works(tmp_path: Path) -> None:
    """The control: with this conftest.py, wrong code passes the plan's own test."""
    for path, text in {"score.py": WRONG, "test_score.py": TEST, "conftest.py": PASSES}.items():
        (tmp_path / path).write_text(text)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_score.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "1 passed" in done.stdout


def test_the_reviewer_is_shown_such_files_and_nothing_else_of_them() -> None:
    prompt = review_prompt("Score words.", parse_plan(document("conftest.py")))
    shown = "WO-01 may write conftest.py, which is loaded by pytest before the tests."
    assert f"is a finding:\n\n- {shown}\n" in prompt
    assert "By these files" not in review_prompt("Score words.", parse_plan(document()))


@pytest.mark.rest
def test_a_file_that_the_order_does_not_name_does_not_reach_its_tests(factory: Factory) -> None:
    commit_all(factory.repo, {"README.md": "x\n"})
    (fields,) = document()["work_orders"]
    for files in ({"conftest.py": PASSES}, {"tests/conftest.py": PASSES}, {"pytest.py": ""}):
        reply = proposal({"score.py": WRONG, **files})
        summary = factory.run(fields, [reply], max_attempts=1, branch=f"b{len(str(files))}")
        brief = summary.attempt_records[0].failure_brief
        assert brief is not None
        assert brief.stage == "write_scope_violation"
