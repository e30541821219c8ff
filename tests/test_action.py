"""The GitHub action: its steps are run as the runner runs them, on a shipped example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmch.verbs.demo import find_example, make_repo
from planner.compile.inputs import PlannerModel, PlanOptions
from planner.run_plan import run_plan
from shared.events.events import ignore
from shared.llm.stack import Mode, ModelSource
from tests.harness import git
from tests.llmch.ci.test_junit import read
from tests.llmch.command_line import ROOT, own_environment, say_in
from tests.llmch.issues import ASK_ID, FIRST, ORIGIN, again, open_shop, part
from tests.shared.llm.edge import chat_stream, error_answer, response_stream
from tests.shared.llm.scripted_server import Act, scripted_server

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {each["id"]: each for each in ACTION["runs"]["steps"]}
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class Job:
    """A job that uses the action: what the runner knows, and what the steps left."""

    folder: Path
    workspace: Path
    inputs: Mapping[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    log: str = ""

    def run(self, **environ: str) -> None:
        """Run the steps as the runner does: one that failed ends those without `always()`."""
        for name, step in STEPS.items():
            if self._runs(step.get("if", "")):
                self._step(name, step, environ)

    def output(self, name: str) -> str:
        """Return an output of the whole action."""
        return self._filled(ACTION["outputs"][name]["value"])

    @property
    def failed(self) -> bool:
        return any(self.codes.values())

    @property
    def summary(self) -> str:
        return (self.folder / "summary.md").read_text()

    def _step(self, name: str, step: Any, environ: Mapping[str, str]) -> None:
        output = self.folder / f"{name}.output"
        output.touch()
        given = {key: self._filled(value) for key, value in step.get("env", {}).items()}
        variables = given | {
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.workspace / self._filled(step.get("working-directory", ".")),
            env=own_environment(**variables, **environ),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        self.log += done.stdout + done.stderr
        self.codes[name] = done.returncode
        lines = output.read_text().splitlines()
        self.outputs[name] = dict(each.split("=", 1) for each in lines)

    def _runs(self, condition: str) -> bool:
        """Judge the two forms of condition that the action has, joined by `&&`."""
        parts = [each.strip() for each in condition.split("&&") if each.strip()]
        if self.failed and "always()" not in parts:
            return False
        return all(self._holds(each) for each in parts if each != "always()")

    def _holds(self, part: str) -> bool:
        found = re.fullmatch(r"(\S+) (==|!=) '(.*)'", part)
        assert found, part
        return (self._value(found[1]) == found[3]) == (found[2] == "==")

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self._value(found[1]), text)

    def _value(self, name: str) -> str:
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return self.inputs.get(rest, ACTION["inputs"][rest].get("default", ""))
        step, middle, output = rest.split(".")
        assert (kind, middle) == ("steps", "outputs"), name
        return self.outputs.get(step, {}).get(output, "")


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of a shipped example, as `llmch demo` makes it."""
    example = find_example("hello")

    def make(folder: Path) -> Path:
        repo = make_repo(folder / "repo", example.title)
        options = PlanOptions(
            spec=example.spec, artifacts=folder, model=PlannerModel("authored", None, None),
            max_attempts=5, repo=repo,
        )  # fmt: skip
        source = ModelSource(Mode.REPLAY, transcript=example.transcript)
        made = run_plan(options, source, ignore)
        assert made.output_dir is not None
        return made.output_dir

    return make(tmp_path_factory.mktemp("plan"))


def replies() -> list[Act]:
    """Return what the example's transcript has of the factory, as a model's server says it."""
    lines = find_example("hello").transcript.read_text().splitlines()
    records = [json.loads(each) for each in lines]
    asked = {each["key"] for each in records if each.get("place", {}).get("role") == "factory"}
    return [
        chat_stream(each["text"]) for each in records if "text" in each and each["key"] in asked
    ]


def job(folder: Path, made: Path, /, **inputs: str) -> Job:
    example = find_example("hello")
    workspace = make_repo(folder / "checkout", example.title)
    temporary = folder / "temp"
    temporary.mkdir()
    words = ["--reply-format=json", "--sandbox=off"]
    given = {
        "plan": str(made), "model": "authored", "install": "false", "push": "false",
        "args": "\n".join(["", *words, ""]),
    }  # fmt: skip
    return Job(temporary, workspace, given | {k.replace("_", "-"): v for k, v in inputs.items()})


@pytest.mark.rest
def test_a_plan_becomes_commits_and_outputs(tmp_path: Path, plan: Path) -> None:
    done = job(tmp_path, plan)
    git(done.workspace, "switch", "--quiet", "--detach")  # as for a pull request
    with scripted_server(*replies()) as server:
        done.run(OPENAI_BASE_URL=server.base_url, GITHUB_RUN_ID="1")
    assert not done.failed, done.log
    tip = git(done.workspace, "rev-parse", "llmch/1")
    assert (done.output("verdict"), done.output("branch")) == ("PASS", "llmch/1")
    assert done.output("tip") == tip and done.output("pull-request") == ""
    assert done.output("cost") == ""  # nobody knows the price of a model called "authored"
    root = read(Path(done.output("junit")).read_text())
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    assert "<html" in Path(done.output("report")).read_text()
    assert "3 of 3 orders on llmch/1" in done.summary
    assert "verify" in done.codes and "PASS" in done.log
    assert git(done.workspace, "status", "--porcelain") == ""


@pytest.mark.rest
def test_a_second_try_goes_on_from_what_the_first_one_pushed(tmp_path: Path, plan: Path) -> None:
    environ = {"GITHUB_RUN_ID": "1"}
    first = job(tmp_path, plan, branch="work", push="true")
    bare = tmp_path / "origin.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(first.workspace), str(bare))
    git(first.workspace, "remote", "add", "origin", str(bare))
    with scripted_server(*replies()) as server:
        first.run(OPENAI_BASE_URL=server.base_url, **environ)
    assert not first.failed and first.output("verdict") == "PASS", first.log
    second = Job(tmp_path / "again", tmp_path / "again" / "clone", first.inputs)
    second.folder.mkdir()
    git(second.folder, "clone", "--quiet", str(bare), "clone")
    with scripted_server() as server:
        second.run(OPENAI_BASE_URL=server.base_url, **environ)
        assert server.received == []  # nothing is paid again
    assert not second.failed and second.output("verdict") == "PASS", second.log
    assert second.output("tip") == first.output("tip") == git(bare, "rev-parse", "work")


@pytest.mark.rest
def test_a_branch_that_was_not_pushed_fails_the_job(tmp_path: Path, plan: Path) -> None:
    done = job(tmp_path, plan, branch="work", push="true")
    git(done.workspace, "remote", "add", "origin", str(tmp_path / "nowhere"))
    with scripted_server(*replies()) as server:
        done.run(OPENAI_BASE_URL=server.base_url)
    assert (done.codes["run"], done.output("verdict")) == (0, "PASS"), done.log
    assert done.failed and done.codes["pushed"] and "could not be pushed" in done.log
    assert "verify" in done.codes


HOSTILE = "x$(touch pwned)`touch pwned`\";touch pwned;'"


@pytest.mark.rest
@pytest.mark.parametrize(
    "name", ["branch", "model", "planner-model", "factory-model", "max-cost", "plan", "args"]
)
def test_no_input_is_run_as_a_script(tmp_path: Path, plan: Path, name: str) -> None:
    done = job(tmp_path, plan, **{name: HOSTILE})
    done.run()
    assert done.failed and done.codes["run"]
    assert done.output("verdict") == "ERROR"
    assert not [*tmp_path.rglob("pwned")]
    assert "::error " in done.log and "syntax error" not in done.log


@pytest.mark.rest
def test_a_failed_run_still_has_outputs_and_a_page(tmp_path: Path, plan: Path) -> None:
    done = job(tmp_path, plan, branch="work")
    with scripted_server(error_answer(401, "bad key")) as server:
        done.run(OPENAI_BASE_URL=server.base_url)
    assert done.codes["run"] == 3 and "verify" not in done.codes, done.log
    assert done.output("verdict") == "ERROR"
    error = read(Path(done.output("junit")).read_text()).find(".//error")
    assert error is not None
    assert "<html" in Path(done.output("report")).read_text()


@pytest.mark.rest
@pytest.mark.parametrize("inputs", [{"plan": ""}, {"spec": "spec.md"}, {"event": "true"}])
def test_one_of_a_plan_a_spec_and_an_event_is_needed(
    tmp_path: Path, plan: Path, inputs: dict[str, str]
) -> None:
    done = job(tmp_path, plan, **inputs)
    done.run()
    assert done.codes["run"] == 2 and "name one of a plan, a spec and the event" in done.log


@pytest.mark.rest
def test_a_spec_is_planned_and_built(tmp_path: Path) -> None:
    done = job(tmp_path, Path(), plan="", spec=str(find_example("hello").spec))
    with scripted_server(response_stream("no plan at all")) as server:
        done.run(OPENAI_BASE_URL=server.base_url, LLMCH_PLANNER_ATTEMPTS="1")
        assert [each.path for each in server.received] == ["/v1/responses"]
    assert done.codes["run"] == 4 and done.output("verdict") == "ERROR"


@pytest.mark.rest
def test_an_event_is_dealt_with_as_a_job_has_it(
    repo: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = open_shop(repo, tmp_path, say_in(tmp_path, capsys), monkeypatch)
    inputs = {"plan": "", "event": "true", "max_tokens": "1000000"}

    def review() -> tuple[dict[str, Any], list[Act]]:
        event = shop.reviewed("A third part, too.")
        (comment,) = (each["id"] for each in shop.forge.db["review_comments"])
        return event, [again(3, f"RC-{comment}"), part(3)]

    rounds: list[Callable[[], tuple[dict[str, Any], list[Act]]]] = [
        lambda: (shop.labeled(), [FIRST]),
        lambda: (shop.commented(f"{ASK_ID}: Members."), [again(1, "R1", ASK_ID)]),
        lambda: (shop.commented("/llmch build"), [part(1), part(2)]),
        review,
    ]
    for number, made in enumerate(rounds):
        event, acts = made()
        (folder := tmp_path / f"run-{number}").mkdir()
        done = job(folder, Path(), **inputs)
        git(done.workspace.parent, "clone", "--quiet", str(shop.bare), "shop")
        done.workspace = done.workspace.parent / "shop"
        git(done.workspace, "remote", "set-url", "origin", ORIGIN)
        (payload := folder / "event.json").write_text(json.dumps(event))
        with scripted_server(*acts) as server:
            done.run(
                OPENAI_BASE_URL=server.base_url,
                GITHUB_EVENT_PATH=str(payload),
                GITHUB_RUN_ID=str(number),
            )
        assert not done.failed, done.log
        assert done.output("verdict") == ("PASS" if number > 1 else "NONE")
    assert done.output("branch") == "llmch/issue-33"
    assert done.output("pull-request").endswith("/pull/7") and len(shop.posted) == 2
    assert {f"part_0{each}.txt" for each in (1, 2, 3)} <= shop.files()
    assert len(shop.forge.db["replies"]) == 1
    assert done.output("tip") == git(shop.bare, "rev-parse", "llmch/issue-33")
    assert "verify" in done.codes


def test_no_text_of_an_input_stands_in_a_script() -> None:
    for step in STEPS.values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = set(_EXPRESSION.findall((ROOT / "action.yml").read_text()))
    named = {each.removeprefix("inputs.") for each in used if each.startswith("inputs.")}
    assert named | {"verify", "install"} == set(ACTION["inputs"])


def test_the_outputs_are_one_line_each(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    script = str(ROOT / ".github" / "action" / "outputs.py")
    for text in ('{"branch": "a\\nverdict=PASS", "usage": null}', "not JSON", "{}"):
        path.write_text(text)
        said = subprocess.run(
            [sys.executable, "-I", script, str(path)], capture_output=True, text=True, check=True
        ).stdout
        lines = dict(each.split("=", 1) for each in said.splitlines())
        assert len(lines) == len(said.splitlines()) == 7
        assert lines["verdict"] == "ERROR"
