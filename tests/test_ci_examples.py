"""The jobs in examples/ci: each command of llmch in them is one that this llmch takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmch.entry.command_line import find_verb, parser_of
from tests.llmch.command_line import ROOT

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
