"""How it is tried whether `go test` runs here with a command's flags, and which tests may fail."""

from __future__ import annotations

import pytest

from shared.languages.acceptance_commands import analyse_command
from shared.languages.declared.declarations import TestFunction as Found
from shared.languages.go.go_commands import rehearsal, taken
from shared.languages.go.go_commands import test_functions as functions_of
from shared.languages.language_tools import ToolResult
from shared.languages.planned_code import PlannedFiles


def test_an_empty_package_is_tested_with_the_flags() -> None:
    found = rehearsal(analyse_command("go test -count=1 -run TestScore ./score"), PlannedFiles())
    assert found is not None
    assert found.argv == ("go", "test", "-count=1", "-run=TestScore", "./llmchnothing")
    assert sorted(found.files) == ["go.mod", "llmchnothing/nothing_test.go"]
    refused = found.refusal(ToolResult(1, "", "go: go.mod requires go >= 1.99 (running go 1.26)\n"))
    assert refused is not None
    assert refused.words == "go: go.mod requires go >= 1.99 (running go 1.26)"
    assert found.refusal(ToolResult(0, "ok \tllmchnothing\n", "")) is None


@pytest.mark.parametrize("command", ["go vet ./...", "go test -C sub ./a", "gofmt -l .", "go"])
def test_other_commands_are_not_tried(command: str) -> None:
    assert rehearsal(analyse_command(command), PlannedFiles()) is None


def test_the_repository_s_own_module_counts() -> None:
    repo = {"go.mod": "module game\n\ngo 1.99\n"}
    planned = PlannedFiles(repo=repo, listing=frozenset(repo))
    found = rehearsal(analyse_command("go test ./..."), planned)
    assert found is not None
    assert "go.mod" not in found.files


@pytest.mark.parametrize(
    ("body", "can_fail"),
    [
        ('t.Run("a", func(st *testing.T) { require.Equal(st, 1, f()) })', True),
        ('t.Run("a", func(st *testing.T) { st.Run("b", func(u *testing.T) { check(u) }) })', True),
        ("for _, c := range cases {\n\tt.Run(c.name, c.check)\n}", True),
        ('t.Run("a", /* later */ check)', True),
        ('t.Run("a", func(st *testing.T) { st.Log(f()); f() })', False),
        ('t.Run("a", func(st *testing.T) {})', False),
        ('f("a", func(n *int) { g(n) })', False),
        ("t.Log(t)", False),
        ("require.Equal(t, 1, f())", True),
    ],
)
def test_a_subtest_may_fail_under_any_name(body: str, can_fail: bool) -> None:
    (found,) = functions_of(f"package a\n\nfunc TestIt(t *testing.T) {{\n\t{body}\n}}\n") or ()
    assert found.can_fail is can_fail


def test_a_fuzz_test_may_have_its_function_elsewhere() -> None:
    for given, can_fail in (("check", True), ("func(t *testing.T, s string) {}", False)):
        text = f"package a\n\nfunc FuzzIt(f *testing.F) {{\n\tf.Fuzz({given})\n}}\n"
        (found,) = functions_of(text) or ()
        assert found.can_fail is can_fail


@pytest.mark.parametrize(
    ("statement", "can_fail"),
    [
        ("t.Log(f().Error())", False),
        ("t.Error()", True),
        ("t.Error(f())", True),
        ("check.Error(t, f())", True),
    ],
)
def test_what_an_error_says_fails_no_test(statement: str, can_fail: bool) -> None:
    (found,) = functions_of(f"package a\n\nfunc TestA(t *testing.T) {{\n\t{statement}\n}}\n") or ()
    assert found.can_fail is can_fail


@pytest.mark.parametrize(
    ("run", "skip", "names"),
    [
        ("TestA/sub|TestB", None, ["TestA", "TestB"]),
        (None, "TestA/sub", ["TestA", "TestB"]),
        (None, "TestA", ["TestB"]),
        ("Test[A|B]$", None, ["TestA", "TestB"]),
        ("A?" * 30 + "A" * 30 + "B", None, ["TestA", "TestB"]),
    ],
)
def test_patterns_take_tests_as_go_does(
    run: str | None, skip: str | None, names: list[str]
) -> None:
    tests = [Found(each, skipped=False, can_fail=True) for each in ("TestA", "TestB")]
    assert [each.name for each in taken(tests, run, skip)] == names
