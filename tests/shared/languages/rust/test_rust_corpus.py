"""Wrong and right Rust, written from the documentation of Rust: what is caught, and what is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shared.commands.commands import analyse_command
from shared.languages.capabilities.chain import ChainCode
from shared.languages.capabilities.tools import Tools
from shared.languages.rust.language import RUST
from tests.shared.languages.chains import Case, Order, chain_of, read_corpus
from tests.shared.languages.tool_runner import runner_for

CORPUS = Path(__file__).parent / "corpus"
CONTRACT = (CORPUS / "contract.txt").read_text()
TESTS = read_corpus((CORPUS / "tests.txt").read_text())
COMMANDS = read_corpus((CORPUS / "commands.txt").read_text())

_REPO = {
    "Cargo.toml": '[package]\nname = "words"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub mod game;\n",
}


def planned(*orders: Order) -> ChainCode:
    assert RUST.plans is not None
    return RUST.plans.read_chain(chain_of(*orders, repo=_REPO))


def file_of(case: Case) -> str:
    uses = "#![allow(unused_imports)]\nuse words::game::*;\n\n"
    return f"{uses}#[test]\nfn holds() {{\n{case.text}}}\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """Return the codes that are reported for each case; one look at all of them."""
    tests = {f"tests/case{n}.rs": file_of(each) for n, each in enumerate(TESTS)}
    with Tools(runner_for(tmp_path_factory, "cargo")) as tools:
        code = planned(Order({"src/game.rs": CONTRACT}, tests))
        assert not list(code.interface_faults())
        faults = list(code.use_faults(tools))
    reported: list[set[str]] = [set() for _ in TESTS]
    for each in faults:
        index = each.at.parts[1]
        assert isinstance(index, int)
        reported[index].add(each.code)
    return reported


def test_the_compiler_tells_wrong_tests_from_right_ones(found: list[set[str]]) -> None:
    pairs = list(zip(TESTS, found, strict=True))
    wrong, right = [e for e in pairs if e[0].code], [e for e in pairs if not e[0].code]
    caught = [case for case, codes in wrong if codes == {case.code}]
    false = [(case.name, codes) for case, codes in right if codes]
    figures = f"{len(caught)} of {len(wrong)} caught, {len(false)} of {len(right)} false"
    sys.stdout.write(f"Rust tests: {figures}\n")
    assert len(wrong) >= 30
    assert len(right) >= 30
    assert not false
    assert [(c.name, c.code, codes) for c, codes in wrong if codes != {c.code}] == []


def test_commands_that_prove_nothing_are_told_from_those_that_do() -> None:
    score = "#[test]\nfn scores_green() { assert!(true); }\n"
    score += "mod tests {\n    #[test]\n    fn parses() { parse().unwrap(); }\n}\n"
    later = "#[test]\n#[ignore]\nfn slow() { assert!(false); }\n"
    quiet = '#[test]\nfn prints() { println!("{}", score()); }\n'
    order = Order(
        stubs={"src/game.rs": CONTRACT},
        tests={"tests/score.rs": score, "tests/later.rs": later, "tests/quiet.rs": quiet},
    )
    chain = chain_of(order, repo=_REPO)
    assert RUST.plans is not None
    code = RUST.plans.read_chain(chain)
    found: list[tuple[Case, str]] = []
    for case in COMMANDS:
        command = analyse_command(case.text.strip())
        assert RUST.commands is not None
        paths = RUST.commands.needed_paths(command)
        missing = [
            each
            for each in paths
            if not chain.is_there(each, 1) and not chain.files.may_be_folder(each, 1)
        ]
        missing += [each.name for each in code.needs_of_command(1, command)]
        weak = RUST.commands.weakness(command) or code.weakness(1, command)
        found.append((case, "E241" if missing else weak.code if weak else ""))
    wrong = [each for each in found if each[0].code]
    right = [each for each in found if not each[0].code]
    caught = [case for case, code in wrong if case.code == code]
    sys.stdout.write(f"Rust commands: {len(caught)} of {len(wrong)} caught\n")
    assert len(wrong) >= 30
    assert len(right) >= 30
    assert [(case.name, code) for case, code in found if case.code != code] == []
