"""What a planner's model is told of languages: only of those that matter, and only what holds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.prompts.prompt_templates import load_template, render, render_languages
from planner.rules.judge_plan import judge
from shared.languages.capabilities import Advice, Language
from shared.languages.ecmascript import node_rehearsals
from shared.languages.registry import LANGUAGES
from tests.planner.plans import creating, plan
from tests.real_tools import needs

ADVISED = [each for each in LANGUAGES if each.advice is not None]
REPOS = {
    "JavaScript": {"package.json": '{"name": "game", "type": "module"}\n'},
    "TypeScript": {"package.json": '{"name": "game", "type": "module"}\n'},
    "Go": {"go.mod": "module example.org/game\n\ngo 1.21\n"},
    "Rust": {"Cargo.toml": '[package]\nname = "game"\nversion = "0.1.0"\nedition = "2021"\n'},
}
# Without a compiler, types are not judged, and a plan of one order can have weak spots.
UNJUDGED = frozenset({"W224"})
each_language = pytest.mark.parametrize("language", ADVISED, ids=lambda each: each.name)


def rules_of(language: Language) -> str:
    assert language.advice is not None
    return language.advice.read()


def example_of(language: Language) -> dict[str, Any]:
    (fenced,) = re.findall(r"^```json\n(.*?)^```$", rules_of(language), re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = json.loads(fenced)
    return found


def test_a_plan_in_python_is_told_nothing_more() -> None:
    spec = "A game in Python. Players Go to the next Node; a .google file is read."
    assert render_languages(spec, ["game.py", "README.md", "data.json"]) == ""


@each_language
def test_a_file_of_the_repo_brings_the_rules_of_its_language(language: Language) -> None:
    path = f"src/game{language.suffixes[0]}"
    assert render_languages("A game.", ["README.md", path]) == rules_of(language)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("Written in TypeScript.", "TypeScript"),
        ("A library for Node.js", "JavaScript"),
        ("a command-line program in Go, without dependencies", "Go"),
        ("## Rust\nNo unsafe code.", "Rust"),
    ],
)
def test_so_does_a_specification_that_names_it(spec: str, name: str) -> None:
    (language,) = [each for each in LANGUAGES if each.name == name]
    assert render_languages(spec, []) == rules_of(language)


def test_several_languages_come_in_the_same_order_always() -> None:
    paths = ["b.rs", "a.go", "c.ts"]
    told = render_languages("", paths)
    assert told == render_languages("", paths[::-1])
    assert re.findall(r"^## (\w+)", told, re.MULTILINE) == ["TypeScript", "Go", "Rust"]


@each_language
def test_the_example_of_a_language_passes_all_rules(language: Language) -> None:
    example = example_of(language)
    order = creating(1, *example.pop("allowed_files"), **example)
    repo = REPOS[language.name]
    report = judge(parse_plan(plan(order)), repo, repo)
    assert [each.render() for each in report.findings if each.code not in UNJUDGED] == []


@each_language
def test_a_wrong_path_in_an_example_would_be_found(language: Language) -> None:
    example = example_of(language)
    example["acceptance_commands"] = ["true"]
    order = creating(1, *example.pop("allowed_files"), **example)
    repo = REPOS[language.name]
    assert "E109" in {each.code for each in judge(parse_plan(plan(order)), repo, repo).findings}


def test_the_rules_stand_between_those_on_tests_and_those_on_verification() -> None:
    template = load_template()
    without, told = (
        render(template, "A game.", languages=each) for each in ("", "## Go\n\nRules.")
    )
    assert told.replace("\n## Go\n\nRules.\n", "") == without
    assert "\n\n## Go\n\nRules.\n\n## Verification\n" in told


NODES = os.environ.get("LLMCH_TEST_NODES", "").split(":")  # read before a test clears it
CODE = {
    "score.mjs": "export const score = (a, b) => [...a].filter((c, i) => c === b[i]).length;\n",
    "score.ts": "export function score(guess: string, answer: string): number {\n"
    "  return [...guess].filter((letter, place) => letter === answer[place]).length;\n}\n",
    "score.go": "package score\n\nfunc Score(guess, answer string) (n int) {\n"
    "\tfor i := range guess {\n\t\tif guess[i] == answer[i] {\n\t\t\tn++\n\t\t}\n\t}\n"
    "\treturn n\n}\n",
}
MANIFESTS = {
    "package.json": '{"type": "module"}',
    "go.mod": "module example.org/game\n\ngo 1.19\n",
}


def run_example(advice: Advice, argv: Sequence[str], folder: Path) -> tuple[str, int | None]:
    """Write the example for the machine that `argv` describes, and code for it; run its command.

    Return the command and its exit code, `None` for one that needs packages.
    """
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    (fenced,) = re.findall(r"^```json\n(.*?)^```$", advice.read(said), re.DOTALL | re.MULTILINE)
    example = json.loads(fenced)
    ((path,), (test,), (command,)) = (
        example[each] for each in ("allowed_files", "acceptance_files", "acceptance_commands")
    )
    files = {path: CODE[path.rpartition("/")[2]], test["path"]: test["content"], **MANIFESTS}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    program, *words = command.split()
    if program == "npx":
        return command, None
    return command, subprocess.run([argv[0], *words], cwd=folder, check=False).returncode


def node_of(major: int) -> str:
    """Return the Node of this version, on PATH or in the folders that LLMCH_TEST_NODES names."""
    for folder in (*NODES, os.environ["PATH"]):
        node = shutil.which("node", path=folder)
        if node is not None:
            done = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
            if done.stdout.startswith(f"v{major}."):
                return node
    pytest.skip(f"needs Node {major}")


@pytest.mark.parametrize("major", [18, 20, 22, 24])
@pytest.mark.parametrize("name", ["JavaScript", "TypeScript"])
def test_the_example_for_node_runs_on_each_version(name: str, major: int, tmp_path: Path) -> None:
    (advice,) = (each.advice for each in ADVISED if each.name == name)
    assert advice is not None
    argv = (node_of(major), *node_rehearsals.version_argv(())[1:])
    command, ended = run_example(advice, argv, tmp_path)
    if name == "TypeScript" and major < 22:
        assert (command, ended) == ("npx vitest run tests/score.test.ts", None)
    else:
        assert ended == 0


def test_where_node_cannot_run_typescript_nothing_says_that_it_does() -> None:
    (advice,) = (each.advice for each in ADVISED if each.name == "TypeScript")
    assert advice is not None
    assert "node --test" in advice.read()
    here = advice.read("Node v20.1.0, which runs JavaScript and no TypeScript: it fails")
    assert "node --test" not in here
    assert "node:test" not in here
    assert "`node` cannot run TypeScript here." in here


@needs("go")
def test_the_example_for_go_runs(tmp_path: Path) -> None:
    (advice,) = (each.advice for each in ADVISED if each.name == "Go")
    assert advice is not None
    assert run_example(advice, ("go", "version"), tmp_path)[1] == 0
