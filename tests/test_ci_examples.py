"""The jobs in examples/ci: each command of llmch in them is one that this llmch takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmch.entry.command_line import find_verb, parser_of
from tests.harness import commit_all, git, manifest, write_plan, writing
from tests.llmch.command_line import ROOT, run

JOBS = ROOT / "examples" / "ci"
FILES = ("llmch.yml", ".gitlab-ci.yml")


def scripts(node: Any) -> list[str]:
    """Return the scripts of all steps in a document."""
    if isinstance(node, dict):
        own = [
            v for k, v in node.items() if k in ("run", "script", "before_script", "after_script")
        ]
        found = [each for value in own for each in (value if isinstance(value, list) else [value])]
        return [each for each in found if isinstance(each, str)] + [
            each for value in node.values() for each in scripts(value)
        ]
    return [each for value in node for each in scripts(value)] if isinstance(node, list) else []


def commands(path: Path) -> list[list[str]]:
    """Return the command lines of llmch in a job, as words."""
    lines = [
        line for each in scripts(yaml.safe_load(path.read_text())) for line in each.split("\n")
    ]
    plain = (re.sub(r"\$\{\{.*?\}\}", "x", line).partition(" > ")[0] for line in lines)
    return [shlex.split(line)[1:] for line in plain if line.startswith("llmch ")]


@pytest.mark.parametrize("name", FILES)
def test_each_command_is_one_that_there_is(name: str) -> None:
    found = commands(JOBS / name)
    for verb, *rest in found:
        parser_of(verb, find_verb(verb)).parse_args(rest)
    assert {verb for verb, *_ in found} == {"check", "run-all", "verify", "report"}


@pytest.mark.parametrize("name", FILES)
def test_the_job_leaves_what_its_platform_reads(name: str) -> None:
    text = (JOBS / name).read_text()
    assert "--junit" in text and "junit.xml" in text
    if name == ".gitlab-ci.yml":
        reports = [each["artifacts"]["reports"] for each in yaml.safe_load(text).values()
                   if isinstance(each, dict) and "artifacts" in each]  # fmt: skip
        assert {key for each in reports for key in each} == {"codequality", "junit"}


@pytest.mark.parametrize("name", ["accept.yml", "accept.gitlab-ci.yml"])
def test_the_judge_of_a_pull_request_reads_the_plan_of_the_target_branch(name: str) -> None:
    (words,) = commands(JOBS / name)
    parsed = parser_of("accept", find_verb("accept")).parse_args(words[1:])
    assert (words[0], parsed.check, [kind for kind, _ in parsed.given]) == (
        "accept",
        True,
        ["commit"],
    )
    text = (JOBS / name).read_text()
    checkout = text.index("base.ref" if name == "accept.yml" else "git checkout --force --detach")
    assert checkout < text.index("llmch accept")
    assert "secrets." not in text and "OPENAI" not in text


def test_the_steps_of_the_judge_work_where_only_the_remote_has_the_branches(
    repo: Path, tmp_path: Path
) -> None:
    """As a job finds it: a clone on the target branch, the pull request fetched by its ref."""
    plan = write_plan(repo / "plan", manifest([writing("1.txt"), writing("2.txt", 2)]))
    commit_all(repo)
    git(repo, "switch", "--quiet", "--create", "theirs")
    (plan / "WO-01.json").unlink()  # what the pull request makes of the plan does not matter
    head = commit_all(repo, {"1.txt": "text\n"})
    git(repo, "update-ref", "refs/pull/7/head", head)
    git(repo, "switch", "--quiet", "main")
    git(repo, "branch", "--quiet", "-D", "theirs")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", f"file://{repo}", str(clone))
    git(clone, "checkout", "--quiet", "--detach", "origin/main")
    git(clone, "branch", "--quiet", "-D", "main")
    git(clone, "fetch", "--quiet", "origin", "pull/7/head")
    (job,) = commands(JOBS / "accept.yml")
    values = {"$ORDER": "WO-01", "$BASE": "main", "$HEAD": head}
    words = [values.get(each, each).replace("$RUNNER_TEMP", str(tmp_path)) for each in job]
    said = run(*words, "--sandbox", "off", "--allow-more", cwd=clone)
    assert said.code == 0, said.err
    assert "passes; it was only checked" in said.out
    said = run(*words, "--sandbox", "off", cwd=clone)
    assert (said.code, "does not allow: plan/WO-01.json" in said.out) == (1, True)
