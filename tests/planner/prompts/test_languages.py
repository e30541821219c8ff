"""What a planner's model is told of languages: only of those that matter, and only what holds."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from factory.workbench.judging_tools import SandboxRunner
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import completed
from planner.prompts.prompt_templates import (
    default_doctrine,
    load_template,
    render,
    render_languages,
    render_replan,
)
from planner.repo.machine import Machine, describe_machine
from planner.rules.judge_plan import judge
from shared.languages.capabilities import INSTALLED, Advice, Language, PlanningRules
from shared.languages.ecmascript import node_rehearsals
from shared.languages.language_tools import ToolResult
from shared.languages.registry import LANGUAGES, languages_at_hand
from shared.settings.settings import SandboxBackend, SandboxSettings
from tests.real_tools import compiled_go, needs, node_of

ADVISED = [each for each in LANGUAGES if each.advice is not None]
# Without a compiler, types are not judged, and a plan of one order can have weak spots.
UNJUDGED = frozenset({"W224"})
each_language = pytest.mark.parametrize("language", ADVISED, ids=lambda each: each.name)
SPECS = {
    "Python": "A command-line program in Python 3.",
    "TypeScript": "Written in TypeScript, for Node.js 22.",
    "JavaScript": "A library for Node.js",
    "Go": "a command-line program in Go, without dependencies",
    "Rust": "## Rust\nNo unsafe code.",
}
# What only plans in a language have to know.
MARKS = {
    "Python": (".py", "pytest", "python "),
    "JavaScript": (".js", "npx"),
    "TypeScript": (".ts", "npx"),
    "Go": (".go", "go test"),
    "Rust": (".rs", "cargo"),
}


def marks_in(prompt: str, *, besides: str) -> list[str]:
    """Return the marks of other languages in a prompt; types of JavaScript are in `.d.ts` files."""
    text = prompt.replace(".d.ts", "").replace("Node.js", "")
    others = {each for marks in MARKS.values() for each in marks} - {*MARKS[besides]}
    return sorted(
        each
        for each in others
        if re.search(rf"(?<![a-z]){re.escape(each)}\b", text)
        or (each[0] == "." and re.search(rf"{re.escape(each)}\b", text))
    )


def rules_of(language: Language) -> PlanningRules:
    assert language.advice is not None
    return language.advice.read()


def example_of(text: str) -> dict[str, Any]:
    (fenced,) = re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = json.loads(fenced)
    return found


@pytest.mark.parametrize("name", SPECS)
def test_a_specification_brings_the_rules_of_its_language_and_no_other(name: str) -> None:
    (language,) = [each for each in LANGUAGES if each.name == name]
    rules = render_languages(SPECS[name], [])
    assert rules == rules_of(language)
    prompt = render(load_template(), SPECS[name], default_doctrine(), languages=rules)
    assert marks_in(prompt, besides=name) == []
    assert all(each in prompt for each in MARKS[name])


@each_language
def test_a_plan_that_follows_another_has_rules_of_no_other_language(language: Language) -> None:
    rules = render_languages(SPECS[language.name], [])
    prompt = render_replan({}, "", "", rules.text)
    assert marks_in(prompt, besides=language.name) == []


@each_language
def test_a_file_of_the_repo_brings_the_rules_of_its_language(language: Language) -> None:
    path = f"src/game{language.suffixes[0]}"
    assert render_languages("A game.", ["README.md", path]) == rules_of(language)


@each_language
def test_so_does_a_file_that_the_specification_names(language: Language) -> None:
    assert render_languages(f"`main{language.suffixes[0]}` plays.", []) == rules_of(language)


def test_an_unknown_language_has_the_shortest_rules() -> None:
    spec = "A game. Players Go to the next place; a .google file is read."
    rules = render_languages(spec, ["README.md", "data.json"])
    assert len(rules.text + rules.example) < 1_200
    assert all(len(rules.text) < len(rules_of(each).text) for each in ADVISED)


def test_words_that_only_hint_count_where_nothing_else_does() -> None:
    spec = "A game in Python; npm is not needed, nor Node."
    assert [each.name for each in languages_at_hand(spec, [])] == ["Python"]
    assert [each.name for each in languages_at_hand("The npm package.", ["a.ts"])] == ["TypeScript"]


def test_the_language_that_is_asked_for_comes_first_and_then_the_most_used() -> None:
    paths = ["b.rs", "a.go", "c.ts", "d.rs"]
    told = render_languages("A tool in Go.", paths)
    assert told == render_languages("A tool in Go.", paths[::-1])
    assert re.findall(r"^## (\w+)", told.text, re.MULTILINE) == ["Go", "Rust", "TypeScript"]
    assert "go test" in told.example
    assert "cargo" not in told.example


@each_language
def test_the_example_of_a_language_passes_all_rules(language: Language) -> None:
    whole = completed(parse_plan(example_of(rules_of(language).example))).document
    report = judge(parse_plan(whole))
    assert [each.render() for each in report.findings if each.code not in UNJUDGED] == []


@each_language
def test_a_wrong_path_in_an_example_would_be_found(language: Language) -> None:
    example = example_of(rules_of(language).example)
    example["work_orders"][-1]["acceptance_commands"] = ["true"]
    report = judge(parse_plan(completed(parse_plan(example)).document))
    assert "E109" in {each.code for each in report.findings}


def test_the_rules_stand_between_those_on_tests_and_those_on_verification() -> None:
    rules = PlanningRules("## Go\n\nRules.", "A plan.")
    prompt = render(load_template(), "A game.", languages=rules)
    assert "\n\n## Go\n\nRules.\n\n## Verification\n" in prompt
    assert "\n\n# Example\n\nA plan.\n\n# House rules\n" in prompt


NODE_TEXT = "export const greeting = (name) => (name ? `Hello, ${name}!` : 'Hello, world!');\n"
NODE_LINE = (
    "import { greeting } from './greeting.SUFFIX';\n"
    "export const main = (words) => `${greeting(words.join(' '))}\\n`;\n"
)
CODE = {
    "package.json": '{"type": "module"}',
    "scripts/verify.sh": "set -eu\n",
    "src/greeting.js": NODE_TEXT,
    "src/greet.js": NODE_LINE.replace("SUFFIX", "js"),
    "src/greeting.ts": NODE_TEXT.replace("(name)", "(name: string): string", 1),
    "src/greet.ts": NODE_LINE.replace("SUFFIX", "ts").replace("(words)", "(words: string[])", 1),
    "go.mod": "module greet\n\ngo 1.21\n",
    "greeting.go": 'package main\n\nfunc greeting(name string) string {\n\tif name == "" {\n'
    '\t\treturn "Hello, world!"\n\t}\n\treturn "Hello, " + name + "!"\n}\n',
    "main.go": 'package main\n\nimport (\n\t"fmt"\n\t"io"\n\t"os"\n\t"strings"\n)\n\n'
    "func run(words []string, out io.Writer) int {\n"
    '\tfmt.Fprintln(out, greeting(strings.Join(words, " ")))\n\treturn 0\n}\n\n'
    "func main() { os.Exit(run(os.Args[1:], os.Stdout)) }\n",
    "Cargo.toml": '[package]\nname = "greet"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn greeting(name: &str) -> String {\n"
    '    format!("Hello, {}!", if name.is_empty() { "world" } else { name })\n}\n',
    "src/main.rs": "fn main() {\n    let words: Vec<String> = std::env::args().skip(1).collect();\n"
    '    println!("{}", greet::greeting(&words.join(" ")));\n}\n',
}


def run_example(advice: Advice, program: str, said: str, folder: Path) -> tuple[str, int | None]:
    """Write the example for the machine that is `said`, and code for it; run its commands.

    Return the last command and its exit code, `None` for one that needs packages. Each order's
    commands run before the next order's files are there.
    """
    command, ended = "", None
    for order in example_of(advice.read(said).example)["work_orders"]:
        tests = {each["path"]: each["content"] for each in order["acceptance_files"]}
        for name, text in (
            *((each, CODE[each]) for each in order["allowed_files"]),
            *tests.items(),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        for command in order["acceptance_commands"]:
            named, *words = command.split()
            if named == "npx":
                return command, None
            argv = [named if named == "bash" else program, *words]
            ended = subprocess.run(argv, cwd=folder, check=False).returncode
            assert ended == 0, command
    return command, ended


@pytest.mark.parametrize("major", [18, 20, 22, 24])
@pytest.mark.parametrize("name", ["JavaScript", "TypeScript"])
def test_the_example_for_node_runs_on_each_version(name: str, major: int, tmp_path: Path) -> None:
    (advice,) = (each.advice for each in ADVISED if each.name == name)
    assert advice is not None
    node = node_of(major)
    argv = (node, *node_rehearsals.version_argv(())[1:])
    (empty := tmp_path / "empty").mkdir()
    said = subprocess.run(argv, cwd=empty, capture_output=True, text=True, check=True).stdout
    assert run_example(advice, node, said, tmp_path)[1] == 0
    with_packages = f"Commands run here, {INSTALLED}:\n\n- {said}"
    command, ended = run_example(advice, node, with_packages, tmp_path / "with packages")
    if name == "TypeScript" and major < 22:
        assert (command, ended) == ("npx vitest run tests/greeting.test.ts", None)
    else:
        assert ended == 0


def test_where_nothing_runs_typescript_the_plan_is_for_javascript_and_says_so() -> None:
    (advice,) = (each.advice for each in ADVISED if each.name == "TypeScript")
    assert advice is not None
    none = "no TypeScript: it fails, and no package is here that runs it"
    here = advice.read(f"Commands run here:\n\n- Node v20.1.0, which runs JavaScript and {none}")
    assert "say so in `assumptions`, as a contradiction" in here.text
    assert "`.d.ts`" in here.text
    assert "tests/score.test.js" in here.text
    assert ".ts" not in here.example
    whole = completed(parse_plan(example_of(here.example))).document
    report = judge(parse_plan(whole))
    assert [each.render() for each in report.findings if each.code not in UNJUDGED] == []


@pytest.mark.parametrize(
    ("declared", "installed", "example"),
    [
        (["typescript", "vitest"], [], "npx vitest"),  # a person installs them
        (["jest", "ts-jest"], [], "npx vitest"),
        (["express"], ["express"], "node --test"),
        (["typescript"], [], "npx vitest"),  # a project that compiles is not told to give it up
        (["jest"], ["jest"], "node --test"),
        (["express"], ["express", "tsx"], "npx vitest"),
        ([*(f"a{number}" for number in range(80)), "vitest"], [], "npx vitest"),
    ],
)
def test_a_runner_of_typescript_counts_where_it_is_declared_or_installed(
    declared: list[str],
    installed: list[str],
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", f"{Path(node_of(20)).parent}:{os.environ['PATH']}")
    (advice,) = (each.advice for each in ADVISED if each.name == "TypeScript")
    assert advice is not None
    for name in installed:
        (tmp_path / "node_modules" / name).mkdir(parents=True)
    manifest = json.dumps({"devDependencies": dict.fromkeys(declared, "1")})
    repo = {"package.json": manifest, "src/a.ts": "export const a = 1;\n"}

    class InFolder:
        def run(
            self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float
        ) -> ToolResult:
            done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
            return ToolResult(done.returncode, done.stdout, done.stderr)

        def close(self) -> None: ...

    def command(machine: Machine) -> str:
        said = describe_machine("A game.", [*repo], repo, machine)
        order = example_of(advice.read(said).example)["work_orders"][-1]
        return " ".join(order["acceptance_commands"][-1].split()[:2])

    assert command(Machine(InFolder())) == example
    if not {*installed} - {*declared}:
        with contextlib.closing(SandboxRunner(SandboxSettings(backend=SandboxBackend.OFF))) as own:
            assert command(Machine(None, own=own)) == example


def test_where_node_cannot_run_typescript_nothing_says_that_it_does() -> None:
    (advice,) = (each.advice for each in ADVISED if each.name == "TypeScript")
    assert advice is not None
    assert "node --test" in advice.read().text
    here = advice.read("Node v20.1.0, which runs JavaScript and no TypeScript: it fails")
    assert "node --test" not in here.text + here.example
    assert "node:test" not in here.example
    assert "assert." not in here.example
    assert "expect(greeting('Ada')).toBe('Hello, Ada!')" in here.example
    assert "`node` cannot run TypeScript here." in here.text


@needs("go")
def test_the_example_for_go_runs(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOCACHE", str(compiled_go(tmp_path_factory)))
    (advice,) = (each.advice for each in ADVISED if each.name == "Go")
    assert advice is not None
    assert run_example(advice, "go", "", tmp_path)[1] == 0


@pytest.mark.rest
@needs("cargo")
def test_the_example_for_rust_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)  # where rustup has its toolchains
    (advice,) = (each.advice for each in ADVISED if each.name == "Rust")
    assert advice is not None
    assert run_example(advice, "cargo", "", tmp_path)[1] == 0
