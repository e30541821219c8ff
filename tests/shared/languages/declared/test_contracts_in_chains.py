"""Contracts of Go and Rust along a chain of orders: E201, E203, E204 and W223."""

from __future__ import annotations

import pytest

from shared.languages.planned_code import Fault
from tests.shared.languages.chains import Order, chain_of, codes
from tests.shared.languages.declared.samples import IN_GO, IN_RUST, SAMPLES, Sample

every = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.language.name)


def faults(sample: Sample, *orders: Order, repo: dict[str, str] | None = None) -> list[Fault]:
    assert sample.language.plans is not None
    return [*sample.language.plans.read_chain(chain_of(*orders, repo=repo)).interface_faults()]


@every
def test_a_good_contract_has_no_faults(sample: Sample) -> None:
    assert faults(sample, Order({sample.path: sample.contract})) == []


@every
def test_a_contract_in_a_code_fence_is_read(sample: Sample) -> None:
    fenced = f"```{sample.language.outliner.fence}\n{sample.contract}```"
    assert faults(sample, Order({sample.path: fenced})) == []


@pytest.mark.parametrize(
    ("sample", "stub", "line"),
    [
        (IN_GO, "package game\n\nfunc Score(guess string int\n", "line 3"),
        (IN_RUST, "use std::fmt;\n\npub fn score(guess: &str -> usize;\n", "line 3"),
    ],
)
def test_a_contract_that_does_not_parse_is_said_with_its_line(
    sample: Sample, stub: str, line: str
) -> None:
    (fault,) = faults(sample, Order({sample.path: stub}))
    assert fault.code == "E201"
    assert line in fault.message
    assert str(fault.at) == "interfaces[0].stub"


def test_a_constant_of_go_without_a_value_is_said_in_words() -> None:
    (fault,) = faults(IN_GO, Order({IN_GO.path: "package game\n\nconst Max int\n"}))
    assert "a constant needs its value in line 3" in fault.message


@pytest.mark.parametrize(
    ("sample", "stub", "name"),
    [
        (IN_GO, "package game\n\nfunc F(b Board) int\n", "Board"),
        (IN_GO, "package game\n\nfunc F(at time.Time) int\n", "time"),
        (IN_GO, "package game\n\ntype Set struct{ All map[string]Mark }\n", "Mark"),
        (IN_RUST, "pub fn f(b: &Board) -> u8;\n", "Board"),
        (IN_RUST, "pub fn f() -> HashMap<String, u8>;\n", "HashMap"),
        (IN_RUST, "pub struct Set {\n    pub all: Vec<Mark>,\n}\n", "Mark"),
    ],
)
def test_an_undefined_type_is_found(sample: Sample, stub: str, name: str) -> None:
    (fault,) = faults(sample, Order({sample.path: stub}))
    assert fault.code == "E203"
    assert f'uses "{name}" in line' in fault.message


@pytest.mark.parametrize(
    ("sample", "stub"),
    [
        (
            IN_GO,
            'package game\n\nimport "time"\n\nfunc F[T any](items []T, at time.Time) map[T]T\n',
        ),
        (
            IN_GO,
            "package game\n\ntype Pair[A, B any] struct{ L A; R B }\n\nfunc (p Pair[A, B]) S() B\n",
        ),
        (IN_RUST, "use std::fmt;\n\nimpl fmt::Display for Game;\npub struct Game;\n"),
        (IN_RUST, "pub trait Shape {\n    type Unit;\n    fn area(&self) -> Self::Unit;\n}\n"),
        (
            IN_RUST,
            "pub fn f<T: Clone, const N: usize>(items: [T; N]) -> impl Iterator<Item = T>;\n",
        ),
        (IN_RUST, "use super::*;\npub fn f(b: Board) -> u8;\n"),
    ],
)
def test_what_a_contract_defines_itself_is_known(sample: Sample, stub: str) -> None:
    assert faults(sample, Order({sample.path: stub})) == []


def test_a_type_of_another_file_of_the_package_is_known_in_go() -> None:
    repo = {"game/board.go": "package game\n\ntype Board struct{}\n"}
    assert faults(IN_GO, Order({IN_GO.path: "package game\n\nfunc F(b Board)\n"}), repo=repo) == []


def test_a_package_with_files_that_nobody_declares_may_have_any_type() -> None:
    stub = {"game/game.go": "package game\n\nfunc F(b Board)\n"}
    assert codes(faults(IN_GO, Order(stub, writes=["game/more.go"]))) == ["W223"]


def test_a_part_of_a_program_needs_no_interface() -> None:
    repo = {"go.mod": "module example.org/play\n", "cmd/play/run.go": "// Play.\npackage main\n"}
    writes = ["cmd/play/run.go", "cmd/play/more.go", "game/more.go"]
    found = faults(IN_GO, Order(writes=writes), repo=repo)
    assert [each.message.split()[0] for each in found] == ['"game/more.go"']


@pytest.mark.parametrize(
    ("sample", "later"),
    [
        (IN_GO, "package game\n\nfunc Score(guess, answer string) int\n"),
        (IN_RUST, "pub fn score(guess: &str, answer: &str) -> usize;\n"),
        (IN_GO, "package game\n\ntype Game struct {\n\tWord int\n}\n"),
        (IN_RUST, "pub struct Game {\n    pub word: u8,\n}\n"),
    ],
)
def test_a_contract_that_contradicts_an_earlier_one_is_found(sample: Sample, later: str) -> None:
    (fault,) = faults(sample, Order({sample.path: sample.contract}), Order({sample.path: later}))
    assert (fault.code, fault.position) == ("E204", 2)
    assert "WO-01 declares `" in fault.message


@pytest.mark.parametrize(
    ("sample", "later"),
    [
        (IN_GO, "package game\n\nfunc Score(word string) int\n"),
        (IN_GO, "package game\n\ntype Game struct {\n\tTries int\n}\n"),
        (IN_RUST, "pub fn score(word: &str) -> usize;\n"),
        (IN_RUST, "pub struct Game {\n    pub tries: u32,\n}\n"),
    ],
)
def test_other_names_of_parameters_and_more_fields_are_no_contradiction(
    sample: Sample, later: str
) -> None:
    orders = Order({sample.path: sample.contract}), Order({sample.path: later})
    assert faults(sample, *orders) == []


@every
def test_a_name_among_the_changes_may_be_declared_anew(sample: Sample) -> None:
    later = sample.contract.replace("guess string) int", "guess string) string").replace(
        "guess: &str) -> usize", "guess: &str) -> String"
    )
    assert later != sample.contract
    changes = (sample.names["score"],)
    orders = Order({sample.path: sample.contract}), Order({sample.path: later}, changes=changes)
    assert faults(sample, *orders) == []


@every
def test_a_file_without_a_contract_is_warned_of(sample: Sample) -> None:
    (fault,) = faults(sample, Order(writes=[sample.path]))
    assert fault.code == "W223"


@every
def test_tests_programs_and_known_files_need_no_contract(sample: Sample) -> None:
    written = ["game/game_test.go", "main.go", "src/main.rs", "tests/game.rs", sample.path]
    assert faults(sample, Order(writes=written), repo={sample.path: sample.code}) == []


@pytest.mark.parametrize(
    ("sample", "before", "after", "same"),
    [
        (IN_GO, "func F[T any](x T) T", "func F[U any](x U) U", True),
        (IN_GO, "func F[K, V any](x K) V", "func F[V, K any](x V) K", True),
        (IN_GO, "func F[K, V any](x K) V", "func F[K, V any](x V) K", False),
        (IN_GO, "func F[T any](x T) T", "func F[T comparable](x T) T", False),
        (IN_GO, "type Set[T any] struct {\n\tAll []T\n}", "type Set[E any] struct {\n\tAll []E\n}",
         True),
        (IN_RUST, "pub fn f<T: Ord>(x: T) -> T;", "pub fn f<U: Ord>(x: U) -> U;", True),
        (IN_RUST, "pub fn f<'a>(x: &'a str) -> &'a str;", "pub fn f<'b>(x: &'b str) -> &'b str;",
         True),
        (IN_RUST, "pub fn f<T: Ord>(x: T) -> T;", "pub fn f<T: Eq>(x: T) -> T;", False),
        (IN_RUST, "pub fn f<T>(x: T, y: u8) -> T;", "pub fn f<T>(x: u8, y: T) -> T;", False),
    ],
)  # fmt: skip
def test_type_parameters_are_the_same_whatever_their_names(
    sample: Sample, before: str, after: str, same: bool
) -> None:
    head = "package game\n\n" if sample is IN_GO else ""
    orders = [Order({sample.path: f"{head}{each}\n"}) for each in (before, after)]
    assert [each.code for each in faults(sample, *orders)] == ([] if same else ["E204"])
