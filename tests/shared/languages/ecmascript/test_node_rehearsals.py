"""How it is tried whether a runner of Node runs here, and what is read from its end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from shared.languages.acceptance_commands import analyse_command
from shared.languages.ecmascript.node_rehearsals import rehearsal
from shared.languages.language_tools import ToolResult
from shared.languages.planned_code import PlannedFiles, Rehearsal
from tests.real_tools import needs, node_of

MODULE = "import { test } from 'node:test';\n"
SCRIPT = "const { test } = require('node:test');\n"
UNREADABLE = """# node:internal/modules/esm/get_format:189
#   throw new ERR_UNKNOWN_FILE_EXTENSION(ext, filepath);
# TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /tmp/a/nothing.test.ts
#     at Object.getFileProtocolModuleFormat (node:internal/modules/esm/get_format:189:9)
# tests 1
"""


def tried(
    command: str, tests: Mapping[str, str], *written: str, installs: bool = False, **repo: str
) -> Rehearsal | None:
    files = {path.replace("__", "."): text for path, text in repo.items()}
    planned = PlannedFiles(tests, frozenset(written), files, frozenset(files), installs=installs)
    return rehearsal(analyse_command(command), planned)


def run_in(folder: Path, argv: Sequence[str], files: Mapping[str, str] | None = None) -> ToolResult:
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    return ToolResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("t/a.test.ts", MODULE, "import { test } from 'node:test';"),
        ("t/a.test.js", SCRIPT, "const { test } = require('node:test');"),
    ],
)
def test_node_runs_an_empty_test_of_the_same_kind(path: str, text: str, expected: str) -> None:
    found = tried(f"node --test {path}", {path: text}, "package.json")
    assert found is not None
    (name,) = set(found.files) - {"package.json"}
    assert found.argv == ("node", "--test", name)
    assert name == f"nothing.test{path[-3:]}"
    assert found.files[name].startswith(expected)
    assert (": string" in found.files[name]) == path.endswith(".ts")
    assert ("module" in found.files["package.json"]) == (text == MODULE)


def test_other_runners_find_the_test_at_its_place_and_by_its_title() -> None:
    found = tried(
        "npx vitest run t/a.test.ts -t guess", {"t/a.test.ts": MODULE}, package__json="{}"
    )
    assert found is not None
    assert found.argv == ("npx", "vitest", "run", "t/a.test.ts", "-t", "guess")
    assert found.files == {
        "t/a.test.ts": "import { test } from 'vitest';\n\nconst nothing: string = '';\n"
        "test('guess', () => {});\n"
    }


@pytest.mark.parametrize(
    "command",
    ["node --test u", "node --test t u", "node a.js", "npm test", "npm run build", "tsx a.ts"],
)
def test_nothing_is_learnt_where_no_test_of_the_plan_is_named(command: str) -> None:
    assert tried(command, {"t/a.test.ts": MODULE}, "package.json", "a.ts") is None


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("node --test", ("node", "--test")),
        ("node --test t/", ("node", "--test", "llmchnothing/t/")),
        ("node --test './t/**/*.test.js'", ("node", "--test", "llmchnothing/t/**/*.test.js")),
        ("env A=1 node --test t", ("env", "A=1", "node", "--test", "llmchnothing/t")),
    ],
)
def test_a_run_of_all_tests_finds_a_test_at_the_place_of_each(
    command: str, argv: tuple[str, ...]
) -> None:
    found = tried(command, {"t/a.test.js": MODULE}, "u/helper.js", "t/more/b.test.js")
    assert found is not None
    assert found.argv == argv
    top = "" if len(argv) == 2 else "llmchnothing/"
    name = "a" if "*" in command else "nothing"
    other = "b" if "*" in command else "nothing"
    assert [*found.files] == [f"{top}t/{name}.test.js", f"{top}t/more/{other}.test.js"]


def test_a_run_of_all_tests_is_not_made_beside_the_repo_s_own() -> None:
    assert tried("node --test", {"t/a.test.js": MODULE}, own__test__js=MODULE) is None


@pytest.mark.parametrize("major", [18, 20, 22, 24])
@pytest.mark.parametrize(
    ("command", "path", "runs_from"),
    [
        ("node --test t/a.test.js", "t/a.test.js", 18),
        ("node --test t/a.test.ts", "t/a.test.ts", 22),
        ("node --test", "t/a.test.js", 18),
        ("node --test", "t/a.test.ts", 22),
        ("node --test 't/*.test.js'", "t/a.test.js", 22),
    ],
)
def test_what_each_version_of_node_runs_is_concluded(
    command: str, path: str, runs_from: int, major: int, tmp_path: Path
) -> None:
    found = tried(command, {path: MODULE}, "package.json")
    assert found is not None
    argv = (node_of(major), *found.argv[1:])
    refused = found.refusal(run_in(tmp_path, argv, found.files))
    assert (refused is None) == (major >= runs_from)


@pytest.mark.parametrize("major", [20, 22])
def test_a_folder_of_tests_is_a_pattern_that_matches_nothing_since_node_22(
    major: int, tmp_path: Path
) -> None:
    found = tried("node --test t/", {"t/a.test.js": MODULE}, "package.json")
    assert found is not None
    argv = (node_of(major), *found.argv[1:])
    refused = found.refusal(run_in(tmp_path, argv, found.files))
    assert (refused is None) == (major < 22)


TYPED_MODULE = '{"type": "module"}'


@pytest.mark.parametrize("command", ["packages/a/test/", "packages/a/test/a.test.js"])
@pytest.mark.parametrize(
    ("text", "written", "root", "nested"),
    [
        (SCRIPT, [], TYPED_MODULE, '{"type": "commonjs"}'),
        (SCRIPT, ["packages/a/package.json"], TYPED_MODULE, None),
        (SCRIPT, ["package.json"], TYPED_MODULE, None),
        (MODULE, [], '{"type": "commonjs"}', TYPED_MODULE),
        (MODULE, ["package.json"], '{"type": "commonjs"}', None),
    ],
)
def test_the_kind_of_modules_is_that_of_the_nearest_package(
    text: str, written: Sequence[str], root: str, nested: str | None, command: str, tmp_path: Path
) -> None:
    repo = {"package.json": root} | ({"packages/a/package.json": nested} if nested else {})
    planned = PlannedFiles(
        {"packages/a/test/a.test.js": text}, frozenset(written), repo, frozenset(repo)
    )
    node = node_of(20)  # where a folder is one of tests
    found = rehearsal(analyse_command(f"node --test {command}"), planned)
    assert found is not None
    ended = run_in(tmp_path, (node, *found.argv[1:]), {**repo, **found.files})
    assert found.refusal(ended) is None
    assert "# pass 1" in ended.stdout


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        (f"{MODULE}import {{ DatabaseSync }} from 'node:sqlite';\n", "node:sqlite"),
        (f"{MODULE}import {{ readFileSync, globSync }} from 'node:fs';\n", "'globSync'"),
        ("import { glob, test as check } from 'node:test';\n", "'glob'"),
        (f"{SCRIPT}const {{ DatabaseSync }} = require('node:sqlite');\n", "node:sqlite"),
        (f"{MODULE}import assert, {{ equal }} from 'node:assert/strict';\n", ""),
        (f"{MODULE}// import 'node:sqlite';\nconst text = `\nimport 'node:sqlite';\n`;\n", ""),
        (f"{MODULE}const late = () => import('node:sqlite');\n", ""),
        (f"{SCRIPT}const late = () => require('node:sqlite');\n", ""),
        (f"{SCRIPT}const {{ globSync = undefined }} = require('node:fs');\n", ""),
    ],
)
@pytest.mark.parametrize("command", ["t/a.test.js", "t/"])
def test_what_a_test_loads_of_node_is_loaded_for_no_code_brings_it(
    text: str, lacks: str, command: str, tmp_path: Path
) -> None:
    node = node_of(20)
    tests = {"t/a.test.js": text, "t/b.test.js": MODULE if "import" in text else SCRIPT}
    found = tried(f"node --test {command}", tests, "package.json")
    assert found is not None
    refused = found.refusal(run_in(tmp_path, (node, *found.argv[1:]), found.files))
    assert (refused.code if refused else "") == ("E403" if lacks else "")
    assert lacks in (refused.words if refused else "")


@pytest.mark.parametrize(
    ("script", "argv"),
    [
        ("node --test", ("node", "--test", "nothing.test.ts")),
        ("jest --ci", ("npx", "jest", "--ci", "t/a.test.ts")),
        ("node build.js && node --test", None),
        ("node --test 'a", None),
        ("node --test --test-timeout=$LIMIT", None),
        ('node --test --test-timeout="$LIMIT"', None),
        (
            "node --test --test-name-pattern='a*'",
            ("node", "--test", "--test-name-pattern=a*", "nothing.test.ts"),
        ),
    ],
)
def test_a_script_of_the_repo_s_manifest_is_tried_as_what_it_runs(
    script: str, argv: tuple[str, ...] | None
) -> None:
    tests, command = {"t/a.test.ts": MODULE}, "npm test -- t/a.test.ts"
    text = json.dumps({"scripts": {"test": script}})
    found = tried(command, tests, package__json=text)
    assert (found.argv if found else None) == argv
    assert tried(command, tests, "package.json", package__json=text) is None


@pytest.mark.parametrize(
    ("pattern", "is_tried"),
    [("t/*.test.js", False), ("t/a.test.[jt]s", False), ("~/t", False), ("'t/*.test.js'", True)],
)
def test_a_script_with_a_pattern_that_its_shell_expands_is_not_tried(
    pattern: str, is_tried: bool
) -> None:
    tests = {"t/a.test.js": MODULE}
    text = json.dumps({"scripts": {"unit": f"node --test {pattern}"}})
    found = tried("npm run unit", tests, package__json=text)
    assert (found is not None) == is_tried


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("npx vitest run t/a.test.ts", "vitest"),
        ("npx vitest run", "vitest"),
        ("npx tsc --noEmit", "typescript"),
        ("node --import tsx/esm --test t/a.test.ts", "tsx"),
    ],
)
def test_a_package_that_an_order_brings_is_looked_for(command: str, package: str) -> None:
    tests = {"t/a.test.ts": MODULE}
    found = tried(command, tests, "package.json")
    assert found is not None
    assert found.argv[::3] == ("node", package)
    assert found.refusal(ToolResult(0, "\n", "")) is None
    refused = found.refusal(ToolResult(0, f"{package}\n", ""))
    assert refused is not None
    words = f"the package {package} is not installed, and only --deps auto would install it"
    assert refused.words == words
    assert tried(command, tests, "package.json", installs=True) is None


@needs("node")
@pytest.mark.parametrize(
    ("declared", "installed", "is_refused"),
    [
        ("dependency-cruiser", ["dependency-cruiser/a.js", ".bin/depcruise"], False),
        ("dependency-cruiser", [], False),  # nobody knows which programs it has
        ("left-pad", ["left-pad/a.js"], True),
    ],
)
def test_a_program_may_have_another_name_than_its_package(
    declared: str, installed: Sequence[str], is_refused: bool, tmp_path: Path
) -> None:
    manifest = json.dumps({"devDependencies": {declared: "1"}})
    found = tried("npx depcruise src", {}, package__json=manifest)
    assert found is not None
    for name in installed:
        path = tmp_path / "node_modules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    refused = found.refusal(run_in(tmp_path, found.argv))
    assert (refused is not None) == is_refused


def test_a_runner_that_an_order_configures_is_only_looked_for() -> None:
    tests, command = {"t/a.test.ts": MODULE}, "npx vitest run t/a.test.ts"
    found = tried(command, tests, "vitest.config.ts", package__json="{}")
    assert found is not None
    assert found.argv[::3] == ("node", "vitest")
    declared = '{"devDependencies": {"vitest": "^3"}}'
    assert tried(command, tests, "vitest.config.ts", package__json=declared) is None


def test_a_file_that_is_loaded_first_may_be_the_plan_s() -> None:
    command = "node --import ./t/setup.mjs --test t/a.test.ts"
    assert tried(command, {"t/a.test.ts": MODULE}, "t/setup.mjs") is None


@pytest.mark.parametrize(
    ("options", "is_tried"),
    [
        ("--test-reporter=./rep.mjs", False),
        ("--test-reporter rep.mjs", False),
        ("--env-file=.env", False),
        ("--env-file=own.env", True),
        ("--test-reporter=spec --test-timeout=1.5", True),
    ],
)
def test_an_option_may_name_a_file_that_is_not_there_yet(options: str, is_tried: bool) -> None:
    command, test = f"node {options} --test ./t/a.test.js", {"./t/a.test.js": MODULE}
    found = tried(command, test, "rep.mjs", own__env="")
    assert (found is not None) == is_tried


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (ToolResult(1, UNREADABLE, ""), "TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file"),
        (ToolResult(9, "", "node: bad option: --frob\n"), "node: bad option: --frob"),
        (ToolResult(0, "# tests 0\n# pass 0\n", ""), "it ran no test"),
        (ToolResult(0, "# tests 1\n# pass 1\n", ""), ""),
        (ToolResult(None, "", ""), ""),
    ],
)
def test_the_words_are_the_runner_s(done: ToolResult, words: str) -> None:
    found = tried("node --test t/a.test.ts", {"t/a.test.ts": MODULE})
    assert found is not None
    refused = found.refusal(done)
    assert (refused.words if refused else "")[: len(words) or None] == words


def test_a_declared_package_that_is_not_installed_is_not_the_plan_s_fault() -> None:
    done, tests = ToolResult(1, "", "npm error code ENOTCACHED\n"), {"t/a.test.ts": MODULE}
    for manifest, words in (
        ("{}", "the package vitest is not installed, and package.json has it not"),
        ('{"devDependencies": {"vitest": "^3"}}', ""),
    ):
        found = tried("npx vitest run t/a.test.ts", tests, package__json=manifest)
        assert found is not None
        refused = found.refusal(done)
        assert (refused.words if refused else "") == words
