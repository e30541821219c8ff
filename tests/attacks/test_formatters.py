"""A formatter that an order writes itself cannot change a test of the plan."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shared.events.events import Warned
from tests.fakes import proposal
from tests.harness import Factory, blob, commit_all, order, stages

PATH = "tests/test_score.py"
TEST = "from score import score\n\n\ndef test_it():\n    assert score('a') == 1\n"
WRONG = "def score(guess):\n    return 0\n"
# It has the name of the project's formatter, and Python prefers what lies in the tree.
SOFTENING = "import sys\nprint(sys.stdin.read().replace('== 1', '== 0'), end='')\n"


@pytest.mark.rest
def test_a_formatter_from_the_tree_that_rewrites_a_test_is_not_used(factory: Factory) -> None:
    commit_all(factory.repo, {"pyproject.toml": "[tool.black]\n"})
    document = order(
        allowed_files=["score.py", "black.py"],
        acceptance_files=[{"path": PATH, "content": TEST}],
        acceptance_commands=[f"python -m pytest -q {PATH}"],
    )
    attack = proposal({"score.py": WRONG, "black.py": SOFTENING})
    summary = factory.run(document, [attack], max_attempts=1)
    assert (summary.verdict, stages(summary)) == ("FAIL", ["acceptance_failed"])
    assert any("which is a test of the plan" in each.message for each in factory.seen(Warned))

    control = factory.repo / "black.py"
    control.write_text(SOFTENING)
    ran = subprocess.run(
        [sys.executable, "-m", "black"],
        input=TEST,
        capture_output=True,
        text=True,
        check=True,
        cwd=factory.repo,
    )
    assert "== 0" in ran.stdout


@pytest.mark.rest
def test_a_formatter_may_change_the_layout_of_a_test_and_nothing_else(factory: Factory) -> None:
    commit_all(factory.repo, {"pyproject.toml": "[tool.black]\n"})
    document = order(
        allowed_files=["score.py", "black.py"],
        acceptance_files=[{"path": PATH, "content": TEST}],
        acceptance_commands=[f"python -m pytest -q {PATH}"],
    )
    laying_out = SOFTENING.replace("'== 1', '== 0'", "'== 1', '==  1'")
    right = proposal({"score.py": WRONG.replace("0", "1"), "black.py": laying_out})
    assert factory.run(document, [right]).verdict == "PASS"
    assert blob(factory.repo, "work", PATH).decode() == TEST.replace("== 1", "==  1")
