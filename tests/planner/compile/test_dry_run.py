"""What can be tried of a plan is tried before the plan is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from factory.run.dry_run import DryRunner
from planner.run_plan import PlanResult, run_plan
from shared.languages.language_tools import ToolResult
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import Settings
from tests.fakes import Reply, ScriptedModel
from tests.planner.planning import Planner
from tests.planner.plans import creating, plan

TEST = "from score import score\n\n\ndef test_score():\n    assert score('abd') == 2\n"
STUB = {"path": "score.py", "stub": "def score(guess: str) -> int: ..."}


def scored(command: str, test: str = TEST, path: str = "tests/test_score.py", **more: Any) -> Any:
    """Return a plan of one order whose test the command runs."""
    return plan(
        creating(
            1,
            "score.py",
            interfaces=[STUB],
            acceptance_files=[{"path": path, "content": test}],
            acceptance_commands=[command],
            **more,
        )
    )


class Counted:
    """A runner that counts what it is asked."""

    def __init__(self, runner: DryRunner) -> None:
        self.runner = runner
        self.ran: list[tuple[str, ...]] = []

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        self.ran.append(tuple(argv))
        return self.runner.run(files, argv, seconds=seconds)

    def close(self) -> None:
        self.runner.close()


Tried = Callable[..., PlanResult]


@pytest.fixture
def tried(tmp_path: Path) -> Iterator[tuple[Planner, Counted, Tried]]:
    planner, runner = Planner(tmp_path), Counted(DryRunner(Settings(), None, None, None))
    planner.spec.write_text("# Scores\n\nCount the letters that are in place.\n")

    def run(*replies: Any, **options: Any) -> PlanResult:
        texts: list[Reply] = [json.dumps(each) for each in replies]
        planner.model = ScriptedModel({"planner": texts, "reviewer": []})
        source = ModelSource(Mode.LIVE, lambda emit: planner.model)
        planner.events.clear()
        made = planner.options(**options)
        return run_plan(made, source, planner.events.append, None, runner)

    yield planner, runner, run


def test_a_runner_that_does_not_take_the_words_refuses_the_plan_before_it_is_accepted(
    tried: tuple[Planner, Counted, Tried],
) -> None:
    planner, _, run = tried
    result = run(
        scored("python -m pytest -q --runslow tests/test_score.py"),
        scored("python -m pytest -q tests/test_score.py"),
    )
    assert (result.ok, result.attempts) == (True, 2)
    assert "[E402] WO-01 acceptance_commands[0]:" in planner.prompts[1]
    assert "unrecognized arguments: --runslow" in planner.prompts[1]
    assert planner.record("dry_run.json")


OFTEN = (
    "@pytest.mark.parametrize(('a', 'b'), [(1, 2)])\ndef test_a(a):\n    assert score(\"\") == a\n"
)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (f"import pytest\n{TEST}\n\n{OFTEN}", "uses no argument 'b'"),
        (
            f"import notinstalledhere as n\n{TEST}    assert n\n",
            "No module named 'notinstalledhere'",
        ),
    ],
)
def test_a_test_that_cannot_be_collected_is_refused(
    tried: tuple[Planner, Counted, Tried], test: str, words: str
) -> None:
    planner, _, run = tried
    command = "python -m pytest -q tests/test_score.py"
    result = run(scored(command, test), scored(command))
    assert (result.ok, result.attempts) == (True, 2)
    assert "[E403]" in planner.prompts[1]
    assert words in planner.prompts[1]
