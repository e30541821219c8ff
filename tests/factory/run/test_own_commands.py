"""Orders on repos in several languages, verified by the repo's own commands and real tools."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from shared.errors import PreflightRefused
from shared.events.events import CommandStarted, Noted
from shared.settings.settings import SandboxSettings
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, manifest, stages, writing
from tests.real_tools import add_real_rust, needs, sandbox

pytestmark = pytest.mark.rest


__all__ = ["sandbox"]

Files = dict[str, str]

NODE: Files = {
    "package.json": json.dumps({"name": "calc", "scripts": {"test": "node --test"}}),
    "add.js": "exports.add = (a, b) => a + b;\n",
    "test/add.test.js": (
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { add } = require('../add.js');\n"
        "test('adds', () => assert.strictEqual(add(1, 2), 3));\n"
    ),
}
GO: Files = {
    "go.mod": "module example.org/calc\n\ngo 1.19\n",
    "add.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
    "add_test.go": (
        'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
        "\tif Add(1, 2) != 3 {\n\t\tt.Fatal(Add(1, 2))\n\t}\n}\n"
    ),
}
RUST: Files = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n',
    ".gitignore": "target/\n",
    "src/lib.rs": (
        "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n"
        "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
    ),
}
MAKE: Files = {"Makefile": "test:\n\tgrep -q plus add.txt\n", "add.txt": "one plus two\n"}


CASES = [
    pytest.param(NODE, "add.js", " - b", ["npm test"], id="node", marks=needs("npm")),
    pytest.param(
        GO, "add.go", " - b", ["go build -o /dev/null ./...", "go test -vet=off ./..."],
        id="go", marks=needs("go"),
    ),
    pytest.param(RUST, "src/lib.rs", " - b", ["cargo test"], id="rust", marks=needs("cargo")),
    pytest.param(MAKE, "add.txt", "", ["make test"], id="make", marks=needs("make")),
]  # fmt: skip


def with_files(factory: Factory, files: Files) -> None:
    """Have the repo hold these files, without a script of its own."""
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo, files)


def base_commands(factory: Factory) -> list[str]:
    return [each.command for each in factory.seen(CommandStarted) if each.order == "base"]


def noted(factory: Factory) -> str:
    return "\n".join(each.message for each in factory.seen(Noted))


@pytest.fixture(autouse=True)
def real_rust(own_surroundings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rustup's toolchains found, though the tests have a home of their own."""
    if shutil.which("rustc"):
        proxies = add_real_rust(own_surroundings)
        monkeypatch.setenv("PATH", f"{proxies}:{os.environ['PATH']}")


@pytest.mark.parametrize(("files", "path", "wrong", "expected"), CASES)
def test_an_order_is_verified_by_the_repos_own_commands(
    factory: Factory,
    sandbox: SandboxSettings,
    files: Files,
    path: str,
    wrong: str,
    expected: list[str],
) -> None:
    with_files(factory, files)
    old = " + b" if wrong else " plus"
    broken = proposal({path: files[path].replace(old, wrong)})
    summary = factory.run(writing(path), [broken], max_attempts=1, sandbox=sandbox)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert factory.tip() == ""
    assert base_commands(factory) == expected
    assert f"verified by `{expected[0]}`" in noted(factory)

    fine = [proposal({"notes.txt": "fine\n"})]
    again = factory.run(writing("notes.txt"), fine, sandbox=sandbox)
    assert again.verdict == "PASS"
    assert git(factory.repo, "show", "work:notes.txt") == "fine"


@needs("npm")
def test_an_order_does_not_pass_by_changing_the_test_script(factory: Factory) -> None:
    with_files(factory, NODE)
    easy = json.dumps({"name": "calc", "scripts": {"test": "exit 0"}})
    broken = {"add.js": "exports.add = () => 0;\n", "package.json": easy}
    summary = factory.run(
        writing("add.js", allowed_files=["add.js", "package.json"]),
        [proposal(broken)],
        max_attempts=1,
    )
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert factory.tip() == ""


@needs("make")
def test_a_script_that_an_order_brings_does_not_take_the_place_of_what_was_there(
    factory: Factory,
) -> None:
    with_files(factory, MAKE)
    cheating = proposal({"scripts/verify.sh": "exit 0\n", "add.txt": "none\n"})
    document = writing("add.txt", allowed_files=["add.txt", "scripts/verify.sh"])
    summary = factory.run(document, [cheating], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


@needs("make")
def test_the_setting_decides_alone(factory: Factory) -> None:
    with_files(factory, {**MAKE, "add.txt": "red\n"})
    summary = factory.run(
        writing("a.txt"), [proposal({"a.txt": "x\n"})], verify=("test -f add.txt",)
    )
    assert summary.verdict == "PASS"
    assert base_commands(factory) == ["test -f add.txt"]
    assert "verified by `test -f add.txt` (the setting verify)" in noted(factory)


def test_an_order_that_writes_settings_is_not_verified_by_them(factory: Factory) -> None:
    table = '[tool.llmch]\nverify = ["true"]\n'
    commit_all(factory.repo, {"scripts/verify.sh": "! test -f bad.txt\n"})
    document = writing("bad.txt", allowed_files=["bad.txt", "pyproject.toml"])
    reply = proposal({"bad.txt": "x\n", "pyproject.toml": table})
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


def test_where_nothing_verifies_the_repo_the_run_says_so(factory: Factory) -> None:
    with_files(factory, {"package.json": "{}", "web/package.json": NODE["package.json"]})
    summary = factory.run(writing("a.txt"), [proposal({"a.txt": "x\n"})])
    assert summary.verdict == "PASS"
    assert base_commands(factory) == []
    assert "commits rest on the acceptance commands alone" in noted(factory)
    assert "`--verify 'npm --prefix web test'`" in noted(factory)


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["scripts/verify.sh", "a.txt"], "WO-01 writes scripts/verify.sh, which verifies it"),
        (["a.txt", "scripts/verify.sh"], "those before it rest on their acceptance commands alone"),
    ],
)
def test_where_an_order_makes_the_verification_the_note_names_it(
    factory: Factory, paths: list[str], said: str
) -> None:
    orders = [writing(path, number) for number, path in enumerate(paths, 1)]
    with_files(factory, {"notes.txt": "x\n"})
    replies = {f"WO-{n:02d}": [proposal({path: "true\n"})] for n, path in enumerate(paths, 1)}
    factory.run_all(manifest(orders), replies)
    assert said in noted(factory)
    assert "commits rest on" not in noted(factory)


def test_a_watcher_is_ended_and_named(factory: Factory) -> None:
    watcher = "echo 'Watching for file changes...'; sleep 600\n"
    commit_all(factory.repo, {"scripts/verify.sh": watcher})
    with pytest.raises(PreflightRefused, match="timed out") as refused:
        factory.run(writing("a.txt"), [], timeout_seconds=1)
    assert "it watches for changes" in refused.value.hint


@needs("npm")
def test_a_script_that_does_not_exist_is_refused_with_its_output(factory: Factory) -> None:
    with_files(factory, NODE)
    with pytest.raises(PreflightRefused) as refused:
        factory.run(writing("a.txt"), [], verify=("npm run nope",))
    assert "`npm run nope` ended with exit code 1" in refused.value.message
    assert "Missing script" in refused.value.message


def test_a_watcher_that_an_order_brings_is_named_in_its_failure(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "test ! -f w || { cat w; sleep 600; }\n"})
    reply = proposal({"w": "Press q to quit\n"})
    summary = factory.run(writing("w"), [reply], max_attempts=1, timeout_seconds=1)
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert "it watches for changes" in brief.primary_error_excerpt
