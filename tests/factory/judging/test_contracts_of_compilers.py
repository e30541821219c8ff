"""Contracts of Go and Rust in the factory, kept or broken, with the real compilers."""

from __future__ import annotations

import shutil

import pytest

from factory.orders.stages import Stage
from tests.fakes import proposal
from tests.harness import Factory, Json, commit_all, stages, use_rust, writing
from tests.shared.languages.declared.samples import IN_GO, IN_RUST, Sample

pytestmark = pytest.mark.rest


REPOS = {
    "Go": {"go.mod": "module example.org/play\n\ngo 1.21\n"},
    "Rust": {
        "Cargo.toml": '[package]\nname = "play"\nversion = "0.1.0"\nedition = "2021"\n',
        "Cargo.lock": 'version = 3\n\n[[package]]\nname = "play"\nversion = "0.1.0"\n',
        "src/lib.rs": "pub mod game;\n",
        ".gitignore": "target/\n",
    },
}
GO_TEST = (
    'package game\n\nimport "testing"\n\nfunc TestScore(t *testing.T) {\n'
    '\tif Score("ab") != 2 {\n\t\tt.Fatal("score")\n\t}\n}\n'
)
RUST_TEST = 'use play::game::score;\n\n#[test]\nfn scores() {\n    assert_eq!(score("ab"), 2);\n}\n'


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


CASES = [
    pytest.param(
        IN_GO, "game/game_test.go", GO_TEST, "go test -vet=off ./game", "func Score", "func Points",
        id="go", marks=needs("go"),
    ),
    pytest.param(
        IN_RUST, "tests/game.rs", RUST_TEST, "cargo test --offline --test game", "pub fn score",
        "fn score", id="rust", marks=needs("cargo"),
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def real_rust(monkeypatch: pytest.MonkeyPatch) -> None:
    use_rust(monkeypatch)


@pytest.mark.parametrize(("sample", "test", "content", "command", "old", "new"), CASES)
def test_code_that_drops_a_name_is_refused_and_right_code_lands(
    factory: Factory, sample: Sample, test: str, content: str, command: str, old: str, new: str
) -> None:
    commit_all(factory.repo, REPOS[sample.language.name])
    order: Json = writing(
        sample.path,
        interfaces=[{"path": sample.path, "stub": sample.contract}],
        acceptance_files=[{"path": test, "content": content}],
        acceptance_commands=[command],
    )
    wrong = sample.code.replace(old, new)
    replies = [proposal({sample.path: text}) for text in (wrong, wrong, sample.code)]
    summary = factory.run(order, replies, timeout_seconds=300)
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert sample.names["score"] in brief.primary_error_excerpt


TYPES = [
    pytest.param(IN_GO, "func Score(guess string) int", "func Score(guess string, n ...int) int",
                 id="go", marks=needs("go")),
    pytest.param(IN_RUST, "score(guess: &str) -> usize", "score(guess: &String) -> usize",
                 id="rust", marks=needs("cargo")),
]  # fmt: skip


@pytest.mark.parametrize(("sample", "old", "new"), TYPES)
def test_code_with_other_types_is_refused_in_a_module_of_its_own(
    factory: Factory, sample: Sample, old: str, new: str
) -> None:
    """The manifests of the repository say where the module begins, and how it is built."""
    files = {f"part/{path}": text for path, text in REPOS[sample.language.name].items()}
    odd = f"part/odd{sample.language.suffixes[0]}"
    commit_all(factory.repo, {**files, odd: b"\xff"})
    path = f"part/{sample.path}"
    order: Json = writing(
        path,
        interfaces=[{"path": path, "stub": sample.contract}],
        acceptance_commands=[f"test -s {path}"],
    )
    wrong = sample.code.replace(old, new)
    replies = [proposal({path: text}) for text in (wrong, wrong, sample.code)]
    summary = factory.run(order, replies, timeout_seconds=300)
    assert stages(summary) == [Stage.CONTRACT_VIOLATED, ""]
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert f"`{sample.names['score']}` is declared as" in brief.primary_error_excerpt
