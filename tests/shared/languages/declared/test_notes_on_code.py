"""What is said of Go and Rust that was written: empty functions, faults of syntax, lost names."""

from __future__ import annotations

import time

import pytest

from shared.languages.go.go_modules import read_modules
from tests.shared.languages.declared.samples import IN_GO, IN_RUST, SAMPLES, Sample

every = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.language.name)


@pytest.mark.parametrize(
    ("sample", "code", "is_certain"),
    [
        (IN_GO, 'func F(a int) int { panic("not implemented") }', True),
        (IN_GO, 'func F(a int) int { panic("TODO: write this") }', True),
        (IN_GO, "func F(a int) int { return 0 }", False),
        (IN_GO, "func F(a int) (int, error) {\n\t// later\n\treturn 0, nil\n}", False),
        (IN_GO, "func F(a int) {}", False),
        (IN_RUST, "pub fn f(a: u8) -> u8 { todo!() }", True),
        (IN_RUST, 'pub fn f(a: u8) -> u8 { unimplemented!("later") }', True),
        (IN_RUST, 'pub fn f(a: u8) -> u8 { panic!("not implemented") }', True),
        (IN_RUST, "pub fn f(a: u8) -> bool { false }", False),
        (IN_RUST, "pub fn f(a: &str) -> String { String::new() }", False),
        (IN_RUST, "pub fn f(a: u8) {}", False),
    ],
)
def test_a_function_without_a_body_is_pointed_out(
    sample: Sample, code: str, is_certain: bool
) -> None:
    assert sample.language.notes is not None
    (found,) = sample.language.notes.find_unwritten(sample.path, "", f"{sample.head}{code}\n")
    assert found.is_certain is is_certain
    assert not found.was_so
    assert sample.path in found.message


@every
def test_a_function_that_does_something_is_not_pointed_out(sample: Sample) -> None:
    assert sample.language.notes is not None
    assert sample.language.notes.find_unwritten(sample.path, "", sample.code) == ()


def test_what_a_trait_asks_for_may_be_empty() -> None:
    code = "impl Drop for A { fn drop(&mut self) {} }\nfn limit() -> u8 { 5 }\n"
    assert IN_RUST.language.notes is not None
    assert IN_RUST.language.notes.find_unwritten("src/a.rs", "", code) == ()


@every
def test_a_fault_of_syntax_is_said_with_its_line(sample: Sample) -> None:
    assert sample.language.notes is not None
    assert sample.language.notes.note_syntax(sample.path, sample.code) == ""
    note = sample.language.notes.note_syntax(sample.path, f"{sample.code}\n}}\n")
    assert note.startswith(f"{sample.path} does not parse at line ")


@every
def test_the_names_of_a_file_are_known_with_members(sample: Sample) -> None:
    assert sample.language.notes is not None
    names = sample.language.notes.names_in(sample.code)
    assert names is not None
    assert {sample.names["score"], sample.names["Game.play"]} <= set(names)
    assert sample.language.notes.names_in("}{") is None


def test_go_says_what_there_is_in_the_place_of_a_name() -> None:
    sources = {
        "go.mod": "module example.org/play\n",
        "game/game.go": IN_GO.code,
        "game/out_test.go": 'package game_test\n\nimport "example.org/play/game"\n',
    }
    output = (
        "# example.org/play/game\ngame/in_test.go:3:5: undefined: Scores\n"
        "game/in_test.go:4:5: g.Plays undefined (type *Game has no field or method Plays)\n"
        "game/out_test.go:4:5: undefined: game.Scored\n"
        "game/in_test.go:5:5: not enough arguments in call to Score\n"
    )
    assert IN_GO.language.notes is not None
    notes = IN_GO.language.notes.note_errors(output, sources, sources)
    assert "The package in game has no `Scores`. It has `Score`." in notes
    assert "The package in game has no `Scored`. It has `Score`." in notes
    assert "The type `Game` in game/game.go has no `Plays`. It has `Play`." in notes
    assert "game/game.go declares `func Score(guess string) int`." in notes


def test_go_says_nothing_of_a_package_that_is_known_in_part() -> None:
    sources = {"go.mod": "module example.org/play\n", "game/game.go": IN_GO.code}
    output = "game/in_test.go:3:5: undefined: Scores\n"
    assert IN_GO.language.notes is not None
    assert IN_GO.language.notes.note_errors(output, sources, [*sources, "game/more.go"]) == ()


def test_rust_says_what_there_is_in_the_place_of_a_name() -> None:
    sources = {"src/lib.rs": "pub mod game;\n", "src/game.rs": IN_RUST.code}
    output = (
        "error[E0432]: unresolved import `play::game::scores`\n"
        "error[E0425]: cannot find function `score` in this scope\n"
        "error[E0599]: no method named `plays` found for struct `Game` in the current scope\n"
    )
    assert IN_RUST.language.notes is not None
    notes = IN_RUST.language.notes.note_errors(output, sources, sources)
    assert "src/game.rs has no `scores`. It has `score`." in notes
    assert "`score` is in src/game.rs: `pub fn score(guess: &str) -> usize`." in notes
    assert any("has no `plays`. It has `play`" in each for each in notes)


@pytest.mark.parametrize(
    "body", [f"return 0b{'10' * 40} | m", f'return "{"/* " * 20_000}"', f"return {'0, ' * 9_000}m"]
)
def test_long_values_of_go_take_bounded_time(body: str) -> None:
    assert IN_GO.language.notes is not None
    code = f"package a\n\nfunc F(m int) int {{ {body} }}\n"
    started = time.process_time()
    IN_GO.language.notes.find_unwritten("a.go", "", code)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("text", ["\n" * 60_000, "a." * 30_000, "require\n" * 8_000])
def test_any_go_mod_takes_bounded_time(text: str) -> None:
    started = time.process_time()
    assert read_modules({"go.mod": text}, ["go.mod"]) == ()
    assert read_modules({"go.mod": f"{text}\nmodule a\n"}, ["go.mod"])[0].required == ()
    assert time.process_time() - started < 2.0
