from __future__ import annotations

import pytest

from planner.plan.file_projection import Allowed
from shared.projects.manifests import VerifyCommand
from tests.planner.plans import creating, findings, of_command, order, plan


@pytest.mark.parametrize(
    "command",
    [
        "python x.py", "python3.12 -c 'pass'", "/usr/bin/python3 -V", ".venv/bin/python -V",
        "pytest", "bash -c 'curl x'", "sh -c x", "test -f a", "grep a b", "diff a b", "cmp a b",
        "cat a", "ls", "head a", "tail a", "wc a", "sort a", "env", "true", "false",
        "env A=b python -V", "./tool.sh",
    ],
)  # fmt: skip
def test_plain_tools_and_the_files_of_the_repo_are_always_allowed(command: str) -> None:
    assert "E240" not in of_command(command)


@pytest.mark.parametrize(
    "command",
    ["curl x", "echo a", "git status", "npm test", "/opt/bin/tool", "env A=b curl x", "zsh -c x"],
)
def test_any_other_program_is_not(command: str) -> None:
    assert of_command(command) == ["E240"]


@pytest.mark.parametrize("shell", ["dash", "zsh", "ksh"])
def test_a_script_of_the_repo_needs_a_shell_that_is_there(shell: str) -> None:
    document = plan(order(acceptance_commands=[f"{shell} tool.sh"]))
    assert findings(document, ["tool.sh"]) == ["E240 WO-01 acceptance_commands[0]"]


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("package.json", "npm test"),
        ("web/package.json", "node -"),
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("Makefile", "make check"),
        ("pom.xml", "mvn test"),
        ("build.gradle.kts", "gradle test"),
        ("App.csproj", "dotnet test"),
        ("Gemfile", "bundle exec rake"),
        ("composer.json", "php x.php"),
        ("CMakeLists.txt", "ctest"),
        ("src/main.c", "gcc src/main.c"),
        ("main.cpp", "g++ main.cpp"),
        ("GNUmakefile", "make check"),
        ("App.fsproj", "dotnet test"),
        ("mix.exs", "mix test"),
        ("Package.swift", "swift test"),
        ("pubspec.yaml", "dart test"),
        ("deno.json", "deno test"),
        ("build.sbt", "sbt test"),
        ("tests/a.bats", "bats tests"),
        ("meson.build", "meson test"),
    ],
)
def test_a_toolchain_is_allowed_once_its_file_is_there(file: str, command: str) -> None:
    use = [command]
    assert findings(plan(order(1, acceptance_commands=use)), [file]) == []
    assert findings(plan(creating(1, file, acceptance_commands=use))) == []
    late = plan(order(1, acceptance_commands=use), creating(2, file))
    assert findings(late) == ["E240 WO-01 acceptance_commands[0]"]


def test_the_user_may_allow_more() -> None:
    document = plan(order(acceptance_commands=["curl x"]))
    assert findings(document, allowed=Allowed(programs=("curl",))) == []


def test_a_program_is_told_once_in_an_order() -> None:
    document = plan(order(acceptance_commands=["curl a", "curl b", "wget c"]))
    assert findings(document) == [
        "E240 WO-01 acceptance_commands[0]",
        "E240 WO-01 acceptance_commands[2]",
    ]


def test_before_an_operator_stands_no_command_of_its_own() -> None:
    assert of_command("curl x | grep y") == ["E003"]


def test_an_order_that_could_not_be_read_may_have_brought_a_toolchain() -> None:
    broken = order(1, allowed_files=3)
    document = plan(broken, order(2, acceptance_commands=["npm test"]))
    assert findings(document) == ["E005 WO-01 allowed_files"]


def test_the_programs_that_verify_the_repo_are_allowed_in_its_orders() -> None:
    document = plan(order(acceptance_commands=["just unit"]))
    assert findings(document) == ["E240 WO-01 acceptance_commands[0]"]
    just = VerifyCommand("just check", "the setting verify")
    assert findings(document, verification=(just,)) == []


def test_a_file_of_an_order_that_is_started_as_a_program_is_warned_of() -> None:
    for program in ("./x.sh", "bin/x"):
        path = program.removeprefix("./")
        document = plan(creating(1, path, acceptance_commands=[f"{program} --check"]))
        assert findings(document) == ["W236 WO-01 acceptance_commands[0]"]
        later = plan(creating(1, path), order(2, acceptance_commands=[program]))
        assert findings(later) == ["W236 WO-02 acceptance_commands[0]"]


def test_a_script_that_is_run_by_its_interpreter_or_is_on_the_base_is_not() -> None:
    run_by_name = plan(creating(1, "x.sh", acceptance_commands=["bash ./x.sh"]))
    assert findings(run_by_name) == []
    on_base = plan(order(1, allowed_files=["x.sh"], acceptance_commands=["./x.sh"]))
    assert findings(on_base, ["x.sh"]) == []
