"""Wrong and right Rust, written from the documentation of Rust: what is caught, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.languages.rust.rust_language import RUST
from tests.shared.languages.chains import Case, Order, read_corpus
from tests.shared.languages.declared.corpora import (
    assert_told_apart,
    codes_of_commands,
    codes_of_tests,
    planned,
)
from tests.shared.languages.tool_runner import runner_for

CORPUS = Path(__file__).parent / "corpus"
CONTRACT = (CORPUS / "contract.txt").read_text()
TESTS = read_corpus((CORPUS / "tests.txt").read_text())
COMMANDS = read_corpus((CORPUS / "commands.txt").read_text())

_REPO = {
    "Cargo.toml": '[package]\nname = "words"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub mod game;\n",
}


def file_of(case: Case) -> str:
    uses = "#![allow(unused_imports)]\nuse words::game::*;\n\n"
    return f"{uses}#[test]\nfn holds() {{\n{case.text}}}\n"


@pytest.mark.rest
def test_the_compiler_tells_wrong_tests_from_right_ones(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    tests = {f"tests/case{n}.rs": file_of(each) for n, each in enumerate(TESTS)}
    code = planned(RUST, _REPO, Order({"src/game.rs": CONTRACT}, tests))
    found = codes_of_tests(code, TESTS, runner_for(tmp_path_factory, "cargo"))
    assert_told_apart("Rust tests", TESTS, found)


def test_commands_that_prove_nothing_are_told_from_those_that_do() -> None:
    score = "#[test]\nfn scores_green() { assert!(true); }\n"
    score += "mod tests {\n    #[test]\n    fn parses() { parse().unwrap(); }\n}\n"
    later = "#[test]\n#[ignore]\nfn slow() { assert!(false); }\n"
    quiet = '#[test]\nfn prints() { println!("{}", score()); }\n'
    order = Order(
        stubs={"src/game.rs": CONTRACT},
        tests={"tests/score.rs": score, "tests/later.rs": later, "tests/quiet.rs": quiet},
    )
    found = codes_of_commands(RUST, _REPO | {"src/main.rs": "fn main() {}\n"}, order, COMMANDS)
    assert_told_apart("Rust commands", COMMANDS, found)
