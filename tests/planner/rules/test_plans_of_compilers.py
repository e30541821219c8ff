"""Whole plans in Go and Rust, judged by all rules and by the real compilers in the sandbox."""

from __future__ import annotations

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from shared.languages.language_tools import Tools
from tests.planner.plans import creating, plan
from tests.shared.languages.declared.samples import IN_GO, IN_RUST, Sample
from tests.shared.languages.tool_runner import runner_for

REPOS = {
    "Go": {"go.mod": "module example.org/play\n\ngo 1.21\n"},
    "Rust": {
        "Cargo.toml": '[package]\nname = "play"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": "pub mod game;\n",
    },
}
GO_TEST = (
    'package game\n\nimport "testing"\n\nfunc TestScore(t *testing.T) {\n'
    '\tif Score("ab"{more}) != 2 {\n\t\tt.Fatal("score")\n\t}\n}\n'
)
RUST_TEST = (
    'use play::game::score;\n\n#[test]\nfn scores() {\n    assert_eq!(score("ab"{more}), 2);\n}\n'
)
GO_NONE = "go test -run TestNone ./game"
GO_UNUSED = ') == 2 {\n\t\tunused := 1\n\t}\n\tif Score("ab"'
RUST_UNUSED = '), 2);\n    let n = 1;\n    n = 2;\n    assert_eq!(score("ab"'
every = pytest.mark.parametrize(
    ("sample", "program", "test", "text", "spoilt", "right", "hollow"),
    [
        (IN_GO, "go", "game/game_test.go", GO_TEST, GO_UNUSED, "go test ./game", GO_NONE),
        (
            *(IN_RUST, "cargo", "tests/game.rs", RUST_TEST, RUST_UNUSED),
            *("cargo test", "cargo test nothing::here"),
        ),
    ],
    ids=["go", "rust"],
)  # fmt: skip


@pytest.mark.rest
@every
def test_a_wrong_call_and_a_hollow_command_are_found_and_a_right_plan_passes(
    tmp_path_factory: pytest.TempPathFactory,
    sample: Sample,
    program: str,
    test: str,
    text: str,
    spoilt: str,
    right: str,
    hollow: str,
) -> None:
    def codes(more: str, *commands: str) -> list[str]:
        """Return the codes for a test with more arguments, and these commands."""
        order = creating(
            1,
            sample.path,
            interfaces=[{"path": sample.path, "stub": sample.contract}],
            acceptance_files=[{"path": test, "content": text.replace("{more}", more)}],
            acceptance_commands=[*commands],
        )
        repo = REPOS[sample.language.name]
        report = judge(parse_plan(plan(order)), repo, repo, tools=tools)
        return [each.code for each in report.findings]

    with Tools(runner_for(tmp_path_factory, program)) as tools:
        assert codes("", right) == []
        assert codes(", 1", right, hollow) == ["E212", "W232"]
        assert codes(spoilt, right) == ["E206"]
        assert codes("(", right) == ["E206"]


def test_a_compiler_that_two_languages_miss_is_named_once() -> None:
    def test_of(path: str) -> str:
        return (
            "import assert from 'node:assert';\nimport { test } from 'node:test';\n"
            f"import {{ f }} from '../{path}';\n\ntest('it', () => {{ assert.equal(f(), 1); }});\n"
        )

    order = creating(
        1,
        "a.ts",
        "b.js",
        interfaces=[
            {"path": path, "stub": "export function f(): number;\n"} for path in ("a.ts", "b.js")
        ],
        acceptance_files=[
            {"path": "test/a.test.ts", "content": test_of("a.ts")},
            {"path": "test/b.test.js", "content": test_of("b.js")},
        ],
        acceptance_commands=["node --test test/a.test.ts test/b.test.js"],
    )
    repo = {"package.json": '{"type": "module"}'}
    report = judge(parse_plan(plan(order)), repo, repo)
    assert [each.code for each in report.findings] == ["W224"]
