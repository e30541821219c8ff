"""The planning model asks to see more of a repository before it plans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from factory.run.reproduce import DryRunner
from planner.replan.predecessor import read_predecessor
from planner.run_plan import plan_document, run_plan
from planner.spec.answers import SpecAnswer, write_answers
from planner.spec.read_spec import read_spec
from shared.errors import ModelUnavailable
from shared.events.events import Noted
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings, Settings
from shared.work_order.work_order import Assumption, question_id
from tests.fakes import Reply, ScriptedModel
from tests.harness import commit_all, git
from tests.planner import plans
from tests.planner.large_plan import StagedModel, large_plan, large_spec
from tests.planner.planning import Planner
from tests.planner.replanning import spec_file, writing
from tests.real_tools import sandbox

__all__ = ["sandbox"]

PLAN = plans.plan(plans.creating(1, "b.txt"))
GAME = """\
LIMIT = 6


class Game:
    def play(self, word: str) -> int:
        return len(word)


def play() -> None:
    Game().play("a")
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    many = "".join(f"line {number}\n" for number in range(1, 101))
    files = {"src/game.py": GAME, "src/other.py": "X = 1\n", "docs/many.txt": many}
    commit_all(folder, files)
    return folder


def looking(planner: Planner, repo: Path, *replies: Reply | dict[str, Any], **more: Any) -> Any:
    """Plan for the repo; the first reply is the first call's, the others follow looks."""
    return planner.plan(*replies[:1], looks=replies[1:], repo=repo, **more)


def look(*items: object) -> dict[str, Any]:
    return {"look": [*items]}


def seen(planner: Planner, repo: Path, *items: object, **more: Any) -> str:
    """Return what the model is shown for these looks."""
    assert looking(planner, repo, look(*items), PLAN, **more).ok
    return planner.prompts[1].removeprefix(planner.prompts[0].rpartition("\n\n")[0])


def test_a_model_looks_and_then_plans(planner: Planner, repo: Path) -> None:
    result = looking(planner, repo, look({"file": "src/game.py", "lines": [4, 6]}), PLAN)
    assert (result.ok, result.attempts) == (True, 1)
    assert [str(each.place) for each in planner.model.requests] == [
        "planner attempt 1",
        "look attempt 1",
    ]
    shown = planner.prompts[1]
    assert "`src/game.py`, lines 4 to 6 of 10:\n```\nclass Game:\n    def play(" in shown
    assert "return len(word)\n```" in shown and shown.endswith("2 such replies are left.")
    assert plan_document(result)["looks"]["rounds"] == 1
    assert plan_document(result)["looks"]["usage"]["input_tokens"] == 100
    assert result.tally.live.calls == 2
    assert planner.record("run.json")["looks"]["seen"] == ["`src/game.py`, lines 4 to 6"]
    assert "class Game" in planner.text("compile/prompt_attempt_1.txt")
    assert '"look"' in planner.text("compile/llm_raw_response_attempt_1_look_1.txt")
    (said,) = [each.message for each in planner.seen(Noted) if "asked to see" in each.message]
    assert "src/game.py" in said


@pytest.mark.parametrize(
    ("item", "shown", "hidden"),
    [
        ("src/other.py", "X = 1", "Game"),
        ({"file": "./src/../src/other.py"}, "X = 1", "Game"),
        ({"file": "docs/many.txt", "lines": [99, 400]}, "lines 99 to 100 of 100", "line 98"),
        ({"file": "docs/many.txt", "lines": [101, 102]}, "none of these is shown", "line 9"),
        ({"file": "docs"}, "docs/many.txt", "line 1"),
        ({"definition": "Game.play"}, "return len(word)", "LIMIT"),
        ({"definition": "game.Game.play"}, "return len(word)", "LIMIT"),
        ({"definition": "src.game.play()"}, 'Game().play("a")', "len(word)"),
        ({"definition": "nothing.play"}, "is not defined", "len(word)"),
        ({"search": "LIMIT = "}, "src/game.py:1: LIMIT = 6", "class"),
        ({"search": "line 7", "in": "docs"}, "docs/many.txt:7: line 7", "line 8"),
        ({"search": "line 7", "in": "src/"}, "is nowhere", "docs/many.txt:7"),
        ({"search": "L.*T"}, "is nowhere", "LIMIT = 6"),
        ({"search": "="}, "is not one line of 3 to 200 characters", "LIMIT = 6"),
        ({"run": "verify"}, "Nothing says how the repository is verified", "exit code"),
        ({"path": "src/other.py"}, "is not a look", "X = 1"),
        (7, "`7` is not a look", "X = 1"),
    ],
)
def test_what_a_look_shows(
    planner: Planner, repo: Path, item: object, shown: str, hidden: str
) -> None:
    found = seen(planner, repo, item, hints_tokens=0)
    assert shown in found
    assert hidden not in found


def test_what_is_shown_is_the_commit_that_the_plan_begins_with(
    planner: Planner, repo: Path
) -> None:
    (repo / "src/other.py").write_text("X = 2\n")
    assert "X = 1" in seen(planner, repo, "src/other.py", hints_tokens=0)
    git(repo, "switch", "-qc", "later")
    commit_all(repo, {"src/other.py": "X = 3\n"})
    git(repo, "switch", "-q", "main")
    assert "X = 3" in seen(planner, repo, "src/other.py", branch="later", hints_tokens=0)


def test_a_look_in_the_last_round_is_answered_with_plan_now(planner: Planner, repo: Path) -> None:
    again = look("src/game.py"), look("src/other.py"), look("docs/many.txt")
    assert looking(planner, repo, *again, PLAN).ok
    assert [each.rpartition("\n\n")[2] for each in planner.prompts] == [
        "3 such replies are left.",
        "2 such replies are left.",
        "1 such reply is left.",
        "No look is left: reply with the plan now.",
    ]
    result = looking(planner, repo, *again, look("src/game.py"), max_attempts=1)
    assert not result.ok
    assert "no look is left" in str(result.report.render())


def test_a_revision_is_shown_what_was_looked_at_and_offers_no_look(
    planner: Planner, repo: Path
) -> None:
    faulty = plans.plan(plans.creating(1, "b.txt", context_files=["missing.py"]))
    mended = json.dumps({"revised": [{"id": "WO-01", "context_files": []}]})
    assert planner.plan(look("src/other.py"), mended, looks=[faulty], repo=repo).ok
    revision = planner.prompts[-1]
    assert "X = 1" in revision and "# Looking first" not in revision


def test_a_reply_with_a_plan_and_a_look_is_a_plan(planner: Planner, repo: Path) -> None:
    result = looking(planner, repo, {**PLAN, **look("src/game.py")})
    assert result.ok and len(planner.prompts) == 1


def test_the_tokens_of_the_answers_are_bounded(planner: Planner, repo: Path) -> None:
    commit_all(repo, {"docs/large.txt": "word\n" * 30_000})
    found = seen(planner, repo, "docs/many.txt", "docs/large.txt", look_tokens=500)
    assert len(found) < 2_500 and "cut here" in found and "line 99" in found
    assert found.endswith("reply with the plan now.")


def test_equal_looks_are_answered_once(planner: Planner, repo: Path) -> None:
    found = seen(planner, repo, *["src/other.py"] * 10, {"file": "src/./other.py"}, hints_tokens=0)
    assert found.count("X = 1") == 1
    assert found.count("is answered above") == 10


@pytest.mark.parametrize("more", [{"look_rounds": 0}, {"look_tokens": 0}])
def test_looking_can_be_turned_off(planner: Planner, repo: Path, more: dict[str, Any]) -> None:
    assert looking(planner, repo, PLAN, **more).ok
    off = planner.prompts[0]
    assert looking(planner, repo, PLAN).ok
    assert planner.prompts[0].startswith(off.rstrip("\n"))
    assert len(planner.prompts[0]) - len(off) < 350


def test_without_code_the_prompt_offers_no_look(planner: Planner, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q", "-b", "main")
    commit_all(empty, {"README.md": "Nothing yet.\n"})
    assert looking(planner, empty, PLAN).ok
    assert "look" not in planner.prompts[0].rpartition("# Output format")[2]


def test_an_interrupted_planning_goes_on_from_the_looks_on_record(
    planner: Planner, repo: Path
) -> None:
    with pytest.raises(ModelUnavailable):
        looking(planner, repo, look("src/other.py"), look("docs"), ModelUnavailable("away"))
    assert len(planner.prompts) == 3
    model = ScriptedModel({"look": [json.dumps(PLAN)]})
    source = ModelSource(Mode.LIVE, lambda emit: model)
    assert run_plan(planner.options(repo=repo), source, planner.events.append).ok
    assert [str(each.place) for each in model.requests] == ["look attempt 1"]
    replay = ModelSource(Mode.REPLAY, transcript=planner.run_folder / "transcript.jsonl")
    again = run_plan(planner.options(repo=repo), replay, planner.events.append)
    assert (again.ok, again.tally.live.calls, again.tally.replayed.calls) == (True, 0, 3)


def test_a_plan_that_follows_another_one_may_look(planner: Planner, repo: Path) -> None:
    spec = spec_file(planner.scratch, {"R1": "There is b."})
    first = planner.plan(plans.plan(writing(1, "R1")), spec=spec, repo=repo)
    assert first.output_dir is not None, first.report.render()
    spec_file(planner.scratch, {"R1": "There is b.", "R2": "There is a score."})
    then = {"work_orders": [writing(2, "R2")]}
    before = read_predecessor(first.output_dir, ())
    made = planner.plan(
        look("src/other.py"), looks=[then], spec=spec, repo=repo, follows=before, hints_tokens=0
    )
    assert made.ok, made.report.render()
    assert "X = 1" in planner.prompts[1] and "# What changed" in planner.prompts[1]


def test_an_outline_may_look_and_its_details_are_shown_the_same(
    planner: Planner, repo: Path
) -> None:
    model = StagedModel(
        large_plan(8, 4),
        lambda request: (
            json.dumps(look("src/other.py")) if str(request.place) == "planner attempt 1" else None
        ),
    )
    planner.spec.write_text(large_spec(32))
    source = ModelSource(Mode.LIVE, lambda emit: model)
    asked = planner.options(repo=repo, staged=True, hints_tokens=0)
    assert run_plan(asked, source, planner.events.append).ok
    outline, *details = [each for each in model.requests if "X = 1" in each.prompt]
    assert str(outline.place) == "look attempt 1"
    assert len(details) == 2 and all("# Looking first" not in each.prompt for each in details)


def test_the_verification_of_the_base_is_run_once_in_the_sandbox(
    planner: Planner, repo: Path, sandbox: SandboxSettings
) -> None:
    script = "echo $((40 + 2)) cases in 0.31s; pwd; cat src/other.py; echo wrong >&2; exit 3\n"
    commit_all(repo, {"scripts/verify.sh": script})
    (repo / "src/other.py").write_text("X = 2\n")
    run = {"run": "verify"}

    def again() -> str:
        trial = DryRunner(Settings(sandbox=sandbox), repo, None, None)
        return seen(planner, repo, run, run, trial=trial, hints_tokens=0)

    found = again()
    block = "$ bash scripts/verify.sh\n42 cases in (time)\nproject\nX = 1\nwrong\n(exit code 3)"
    assert found.count(block) == 1
    assert again() == found, "a planning that was interrupted goes on from its replies"
    replay = ModelSource(Mode.REPLAY, transcript=planner.run_folder / "transcript.jsonl")
    assert run_plan(planner.options(repo=repo, hints_tokens=0), replay, planner.events.append).ok


def test_without_a_sandbox_the_verification_is_not_run(planner: Planner, repo: Path) -> None:
    commit_all(repo, {"scripts/verify.sh": "echo ran\n"})
    assert "It cannot be run here." in seen(planner, repo, {"run": "verify"})


def ask(text: str = "Which score?", reading: str = "Points.") -> dict[str, Any]:
    return {"ask": [{"text": text, "reading": reading}]}


OTHERS = {
    "java/Game.java": "/** Plays. */\nclass Game {\n    private int left = 6;\n\n"
    "    public int play(String word)\n    {\n        return count(word);\n    }\n\n"
    "    static int count(String word) {\n        return word.length();\n    }\n}\n",
    "lib/board.rb": "class Board\n  def draw(size)\n    size.times do\n      puts '#'\n    end\n"
    "  end\n\n  def clear\n    draw(0)\n  end\nend\n",
    "src/play.c": "static int\nhelp(void);\n\nint score(const char *word) {\n\tif (word)\n"
    "\t\treturn 1;\n\treturn 0;\n}\n",
    "r/score.R": "total <- function(words) {\n  sum(words)\n}\nmean(\n  total\n)\n",
    "java/Wide.java": "class Wide {\n    public int spread(\n        int left,\n        int right\n"
    "    ) {\n        return left;\n    }\n    int use() {\n"
    "        return spread(\n            1, 2);\n    }\n}\n",
    "ui/App.vue": "<script>\nconst open = async (door) => {\n  door.open()\n}\n</script>\n",
}


@pytest.mark.parametrize(
    ("wanted", "shown", "hidden"),
    [
        ("Game.play", "lines 5 to 8 of 13", "word.length"),
        ("count", "lines 10 to 12 of 13", "int left"),
        ("Game", "lines 2 to 13 of 13", "Plays"),
        ("Board#draw", "lines 2 to 6 of 11", "def clear"),
        ("score", "lines 4 to 8 of 8", "help(void)"),
        ("total", "lines 1 to 3 of 6", "mean"),
        ("spread", "lines 2 to 7 of 12", "use()"),
        ("open", "lines 2 to 4 of 5", "script"),
        ("help", "is not defined in a file that is read", "static int"),
        ("Board.play", "is not defined in a file that is read", "return"),
    ],
)
def test_a_definition_is_found_in_a_language_that_has_no_outlines(
    planner: Planner, tmp_path: Path, wanted: str, shown: str, hidden: str
) -> None:
    folder = tmp_path / "others"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit_all(folder, OTHERS)
    found = seen(planner, folder, {"definition": wanted}, hints_tokens=0)
    assert shown in found
    assert hidden not in found


def test_a_question_that_nobody_can_answer_takes_the_reading(planner: Planner, repo: Path) -> None:
    found = looking(planner, repo, {**ask(), **look("src/other.py")}, PLAN)
    assert found.ok
    name = question_id("Which score?")
    assert f"{name}: nobody is here to answer; your reading counts" in planner.prompts[1]
    assert "X = 1" in planner.prompts[1]
    assert any("Which score? -> Points." in each for each in plan_document(found)["looks"]["seen"])


def test_a_question_is_answered_at_once_and_the_answer_is_part_of_the_specification(
    planner: Planner, repo: Path
) -> None:
    asked: list[str] = []

    def person(questions: Sequence[Assumption]) -> bool:
        asked.extend(each.text for each in questions)
        write_answers(planner.spec, [SpecAnswer(each.text, "Goals.") for each in questions])
        return True

    again = {**ask(), **look("src/other.py")}
    made = planner.plan(ask(), again, looks=[PLAN], repo=repo, ask_person=person)
    assert (made.ok, asked) == (True, ["Which score?"])
    first, second, third = planner.prompts
    assert "Goals." not in first
    assert 'The answer to "Which score?" is: Goals.' in second and "# What" not in second
    assert f"{question_id('Which score?')} is answered in the specification." in third
    known = planner.record("run.json")["spec_sha256"]
    assert known == read_spec(planner.spec).sha256


def test_a_model_that_goes_on_asking_is_left_to_its_readings(planner: Planner, repo: Path) -> None:
    def person(questions: Sequence[Assumption]) -> bool:
        write_answers(planner.spec, [SpecAnswer(each.text, "So.") for each in questions])
        return True

    replies = [ask(f"And {number}?") for number in range(4)]
    made = planner.plan(*replies, looks=[PLAN], repo=repo, ask_person=person)
    assert made.ok
    assert "nobody is here to answer" in planner.prompts[-1]


@pytest.mark.parametrize(
    "question",
    [
        None,
        7,
        {},
        {"text": "Who?"},
        {"text": "", "reading": "x"},
        {"text": "x" * 501, "reading": "x"},
    ],
)
def test_a_question_of_no_known_form_asks_nobody(
    planner: Planner, repo: Path, question: object
) -> None:
    def person(questions: Sequence[Assumption]) -> bool:
        raise AssertionError

    made = planner.plan({"ask": [question]}, looks=[PLAN], repo=repo, ask_person=person)
    assert made.ok and "is not a look" in planner.prompts[1]


def test_a_planning_that_was_interrupted_at_a_question_asks_it_again(
    planner: Planner, repo: Path
) -> None:
    def gone(questions: Sequence[Assumption]) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        looking(planner, repo, ask(), ask_person=gone)
    calls = len(planner.prompts)
    with pytest.raises(KeyboardInterrupt):
        looking(planner, repo, ask_person=gone)  # the reply is on record
    assert (calls, planner.prompts) == (1, [])
