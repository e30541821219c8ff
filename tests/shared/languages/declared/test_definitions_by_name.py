"""Definitions of Go and Rust that are replaced and added by their names."""

from __future__ import annotations

import pytest

from factory.proposal.match_text import Placed, apply_splices
from shared.languages.capabilities import DefinitionEdit, EditRefused, NamedCode
from shared.languages.registry import language_of
from tests.shared.languages.declared.samples import IN_GO, IN_RUST, SAMPLES, Sample

every = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.language.name)


def edited(sample: Sample, name: str, code: str, *changes: str, text: str | None = None) -> str:
    """Return the text of the sample's file with one definition edited."""
    before = sample.code if text is None else text
    found = result(sample, name, code, *changes, text=before)
    assert isinstance(found, DefinitionEdit), found
    ordered = sorted(found.splices, key=lambda each: (-each.start, each.depth))
    for each in ordered:
        before = before[: each.start] + each.text + before[each.end :]
    return before


def result(
    sample: Sample, name: str, code: str, *changes: str, text: str | None = None
) -> DefinitionEdit | EditRefused:
    assert sample.language.edits is not None
    before = sample.code if text is None else text
    (found,) = sample.language.edits.edit_definitions(
        sample.path, before, [NamedCode(name, code)], changes
    )
    return found


RUST_PLAY = "pub fn play(&mut self, guess: &str) -> bool {\n    true\n}"
RUST_BLOCK = (
    "impl Game {\n    pub fn play(&mut self, guess: &str) -> bool {\n        true\n    }\n}\n"
)


@pytest.mark.parametrize(
    ("sample", "name", "code", "expected"),
    [
        (
            IN_GO,
            "Score",
            "func Score(guess string) int {\n\treturn 2\n}",
            "// Score counts.\nfunc Score(guess string) int {\n\treturn 2\n}\n",
        ),
        (
            IN_GO,
            "(*Game).Play",
            "// Play plays.\nfunc (g *Game) Play(guess string) bool {\n\treturn true\n}\n",
            "}\n\n// Play plays.\nfunc (g *Game) Play(guess string) bool {\n\treturn true\n}\n",
        ),
        (
            IN_RUST,
            "score",
            "pub fn score(guess: &str) -> usize {\n    2\n}",
            "/// Counts.\npub fn score(guess: &str) -> usize {\n    2\n}\n",
        ),
        (
            IN_RUST,
            "Game::play",
            RUST_PLAY,
            RUST_BLOCK,
        ),
        (IN_RUST, "Game.play", RUST_BLOCK, RUST_BLOCK),
    ],
)
def test_a_definition_is_replaced_where_it_is(
    sample: Sample, name: str, code: str, expected: str
) -> None:
    after = edited(sample, name, code)
    assert expected in after
    assert sample.language.edits is not None
    names = [each.name for each in sample.language.edits.outline(after)]
    assert names == [each.name for each in sample.language.edits.outline(sample.code)]


def test_a_function_of_go_is_added_at_the_end_with_its_import() -> None:
    code = 'import "strings"\n\nfunc Upper(s string) string {\n\treturn strings.ToUpper(s)\n}'
    after = edited(IN_GO, "Upper", code)
    assert after.startswith('package game\nimport "strings"\n')
    assert after.endswith("\n\nfunc Upper(s string) string {\n\treturn strings.ToUpper(s)\n}\n")


@pytest.mark.parametrize(
    "head", ["/*\npackage g is nice\n*/\npackage game", "package game // é: see the manual"]
)
def test_an_import_of_go_comes_behind_the_package_clause(head: str) -> None:
    text = f"{head}\n\nfunc A() int {{\n\treturn 1\n}}\n"
    code = 'import "fmt"\n\nfunc A() int {\n\tfmt.Println()\n\treturn 2\n}\n'
    assert edited(IN_GO, "A", code, text=text).startswith(f'{head}\nimport "fmt"\n')


def test_a_method_of_rust_is_added_to_the_block_of_its_type() -> None:
    after = edited(IN_RUST, "Game::won", "pub fn won(&self) -> bool {\n    false\n}")
    assert "\n    }\n\n    pub fn won(&self) -> bool {\n        false\n    }\n}\n" in after


def test_a_function_of_rust_is_added_before_the_tests() -> None:
    tests = "\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"
    after = edited(IN_RUST, "twice", "fn twice() {}", text=IN_RUST.code + tests)
    assert after.endswith("fn twice() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n")


def test_a_use_comes_before_the_others() -> None:
    text = f"use std::fmt;\n\n{IN_RUST.code}"
    code = "use std::io;\n\npub fn score(guess: &str) -> usize {\n    0\n}"
    assert edited(IN_RUST, "score", code, text=text).startswith("use std::io;\nuse std::fmt;\n")


@pytest.mark.parametrize(
    ("sample", "text", "code", "expected"),
    [
        (
            IN_RUST,
            "//! Games.\n\nmod one;\nuse std::fmt;\n",
            "pub mod two;\npub use two::Two;\nuse std::fmt;\n",
            "//! Games.\n\nmod one;\npub mod two;\npub use two::Two;\nuse std::fmt;\n",
        ),
        (IN_RUST, "fn a() {}\n", "mod two;\nuse two::b;\n", "mod two;\nuse two::b;\nfn a() {}\n"),
        (
            IN_GO,
            'package game\n\nimport "os"\n',
            'import "io"\n',
            'package game\n\nimport "os"\nimport "io"\n',
        ),
    ],
)
def test_imports_and_modules_have_a_short_form(
    sample: Sample, text: str, code: str, expected: str
) -> None:
    assert edited(sample, "imports", code, text=text) == expected


@pytest.mark.parametrize(
    ("sample", "head", "text"),
    [
        (IN_GO, "package game\n\n", "func {}() int {{\n\treturn 1\n}}\n\n"),
        (IN_RUST, "", "/// Says.\nfn {}() -> u8 {{\n    1\n}}\n\n"),
        (IN_RUST, "impl Game {\n", "    fn {}(&self) -> u8 {{\n        1\n    }}\n\n"),
    ],
)
def test_what_is_new_goes_where_its_block_has_it_or_beside_the_blocks_around_it(
    sample: Sample, head: str, text: str
) -> None:
    owner, foot = ("Game.", "}\n") if head.startswith("impl") else ("", "")
    a, b, new = (text.format(each) for each in ("A", "B", "New"))
    before, wanted = (f"{head}{each}{foot}" for each in (a + b, a + new + b))
    around = head if owner else ""
    assert edited(sample, f"{owner}A", f"{around}{a}{new}{foot}", text=before) == wanted
    assert edited(sample, f"{owner}New", f"{around}{new}{b}{foot}", text=before) == wanted
    assert sample.language.edits is not None
    changed = b.replace("1\n", "2\n")
    for named in (("A", a.replace("1\n", "2\n")), ("New", new)), (("New", new), ("B", changed)):
        made = sample.language.edits.edit_definitions(
            sample.path, before, [NamedCode(f"{owner}{name}", code) for name, code in named], ()
        )
        after = before
        splices = [e for one in made if isinstance(one, DefinitionEdit) for e in one.splices]
        for each in sorted(splices, key=lambda each: (-each.start, -each.end)):
            after = after[: each.start] + each.text + after[each.end :]
        assert after.replace("2\n", "1\n") == wanted


@every
def test_another_name_takes_the_place_where_the_order_changes_it(sample: Sample) -> None:
    old = sample.names["score"]
    code = "func Points() int {\n\treturn 1\n}" if sample is IN_GO else "pub fn points() {}"
    refused = result(sample, old, code)
    assert isinstance(refused, EditRefused)
    assert "the header names" in refused.reason
    assert "oints()" in edited(sample, old, code, old)


@pytest.mark.parametrize(
    ("sample", "name", "code", "reason"),
    [
        (IN_GO, "Score", "func Score( {", "does not parse"),
        (IN_GO, "Score", "x := 1", "does not parse"),
        (IN_RUST, "score", "use std::fmt;", "imports alone go under src/game.rs::imports"),
        (IN_GO, "Score it", "func Score() {}", "is not a name"),
        (IN_RUST, "fn 1", "fn a() {}", "is not a name"),
        (IN_GO, "Score", "func Score(guess string) int {\n\t// ... as before\n}", "left out"),
        (IN_RUST, "score", "pub fn score(a: &str) -> usize {\n    // existing code\n}", "left out"),
    ],
)
def test_what_cannot_be_brought_in_is_refused(
    sample: Sample, name: str, code: str, reason: str
) -> None:
    refused = result(sample, name, code)
    assert isinstance(refused, EditRefused)
    assert reason in refused.reason


@every
def test_what_changes_nothing_is_refused(sample: Sample) -> None:
    code = sample.code[sample.code.index("// Score" if sample is IN_GO else "/// Counts") :]
    code = code.split("\n\n")[0]
    refused = result(sample, sample.names["score"], code)
    assert isinstance(refused, EditRefused)
    assert "changes nothing" in refused.reason


@every
def test_a_file_that_does_not_parse_is_refused_with_its_line(sample: Sample) -> None:
    refused = result(sample, "f", "func f() {}", text=f"{sample.code}\n}}}}\n")
    assert isinstance(refused, EditRefused)
    assert "does not parse" in refused.reason


@every
def test_the_definitions_in_some_lines_are_named(sample: Sample) -> None:
    assert sample.language.edits is not None
    names = sample.language.edits.defined_names(sample.code)
    assert set(names) == {sample.names[each] for each in ("score", "Game", "play")}


@pytest.mark.parametrize(("sample", "lost"), [(IN_GO, "func Score("), (IN_RUST, "pub fn score(")])
def test_a_rewrite_that_loses_a_public_name_is_a_violation(sample: Sample, lost: str) -> None:
    assert sample.language.edits is not None
    after = sample.code.replace(lost, lost.replace("core(", "cored("))
    name = sample.names["score"]
    check = sample.language.edits.check_rewrite
    (violation,) = check(sample.path, sample.code, after, ())
    assert violation.name == name
    assert "is gone" in violation.message
    assert check(sample.path, sample.code, after, (name,)) == ()
    assert check(sample.path, sample.code, sample.code, ()) == ()


def test_a_file_of_go_without_a_last_line_end_is_read() -> None:
    language = language_of("a.go")
    assert language is not None and language.edits is not None
    text = "package a\n\ntype T struct {\n\tA int\n}"
    assert [each.name for each in language.edits.outline(text)] == ["T"]


PREAMBLE = "// Licensed.\n\n//! Plays.\n\n#![allow(\n    dead_code,\n    clippy::all\n)]\n\n"
BLOCK = "pub struct A;\n\nimpl A {\n    pub fn x(&self) {}\n}\n"


@pytest.mark.parametrize(
    ("text", "name", "code", "expected"),
    [
        # An implementation of a trait is a block of its own.
        (
            BLOCK,
            "A.fmt",
            "impl Display for A {\n    fn fmt(&self) {}\n}",
            f"{BLOCK}\nimpl Display for A {{\n    fn fmt(&self) {{}}\n}}\n",
        ),
        (
            "#[inline]\npub fn f() {}\n",
            "f",
            "pub fn f() -> u8 {\n    1\n}",
            "#[inline]\npub fn f() -> u8 {\n    1\n}\n",
        ),
        (
            "fn f() {}\n",
            "f",
            "use std::{\n    io, // to read\n    env,\n};\nfn f() -> u8 {\n    1\n}",
            "use std::{\n    io, // to read\n    env,\n};\nfn f() -> u8 {\n    1\n}\n",
        ),
        # What is said of the whole file stays above all `use`.
        (
            f"{PREAMBLE}/// F.\nfn f() {{}}\n",
            "f",
            "use std::io;\nfn f() -> u8 {\n    1\n}",
            f"{PREAMBLE}use std::io;\n/// F.\nfn f() -> u8 {{\n    1\n}}\n",
        ),
        (
            "/* Licensed\n */\n/*! Plays. */\nfn f() {}\n",
            "f",
            "use std::io;\nfn f() -> u8 {\n    1\n}",
            "/* Licensed\n */\n/*! Plays. */\nuse std::io;\nfn f() -> u8 {\n    1\n}\n",
        ),
        # A name that two `use` bring in does not compile.
        (
            "use std::io;\n\nfn f() {}\n",
            "f",
            "#[cfg(unix)]\npub use std::{io, fmt::{self, Write as _}, env::*};\n"
            "fn f() -> u8 {\n    1\n}",
            "#[cfg(unix)]\npub use std::fmt;\n#[cfg(unix)]\npub use std::fmt::Write as _;\n"
            "#[cfg(unix)]\npub use std::env::*;\nuse std::io;\n\nfn f() -> u8 {\n    1\n}\n",
        ),
        (
            "use std::io;\n\nfn f() {}\n",
            "f",
            "#[cfg(unix)] use ::std::{fmt, io};\nfn f() -> u8 {\n    1\n}",
            "#[cfg(unix)] use ::std::fmt;\nuse std::io;\n\nfn f() -> u8 {\n    1\n}\n",
        ),
        (
            "use std::io;\n\nfn f() {}\n",
            "f",
            "use std::{fmt as f, io};\nfn f() -> u8 {\n    1\n}",
            "use std::fmt as f;\nuse std::io;\n\nfn f() -> u8 {\n    1\n}\n",
        ),
    ],
)
def test_code_of_rust_comes_to_its_own_place(
    text: str, name: str, code: str, expected: str
) -> None:
    language = language_of("a.rs")
    assert language is not None and language.edits is not None
    (found,) = language.edits.edit_definitions("a.rs", text, [NamedCode(name, code)], ())
    assert isinstance(found, DefinitionEdit), found
    assert apply_splices(text, [Placed(0, each) for each in found.splices]) == expected


@pytest.mark.parametrize(
    "text",
    ["pub mod inner {\n    pub fn g() {}\n}\n", "pub trait inner {\n    fn g(&self) {}\n}\n"],
)
def test_what_would_be_inside_a_module_or_trait_is_refused(text: str) -> None:
    language = language_of("a.rs")
    assert language is not None and language.edits is not None
    given = [NamedCode("inner::f", "pub fn f() {}")]
    (found,) = language.edits.edit_definitions("a.rs", text, given, ())
    assert isinstance(found, EditRefused) and "would be inside" in found.reason


def test_what_a_private_use_brings_is_lost_all_the_same() -> None:
    language = language_of("a.rs")
    assert language is not None and language.edits is not None
    before = "pub fn g() {}\npub fn h() {}\n"
    after = "use std::io::prelude::*;\nuse crate::b::g;\npub fn h() {}\n"
    check = language.edits.check_rewrite
    for text in (after, after.replace("use", '#[cfg(feature = "x")]\nuse')):
        assert [each.name for each in check("a.rs", before, text, ())] == ["g"]
    assert not check("a.rs", before, after.replace("use crate", "pub use crate"), ())


def test_a_use_comes_with_its_attributes_and_a_new_one_stands_above_them() -> None:
    text = "#[cfg(test)]\nuse std::fmt;\n\nfn a() {}\n"
    code = "#[cfg(unix)]\n// reads\nuse std::{\n    io, // reading\n    env,\n};\n\nfn a() { b() }"
    use, _, function = code.partition("\n\n")
    after = edited(IN_RUST, "a", code, text=text)
    assert after == f"{use}\n#[cfg(test)]\nuse std::fmt;\n\n{function}\n"


def test_a_block_of_rust_with_a_long_head_stays_whole() -> None:
    names = [f"Parameter{at}" for at in range(12)]
    bounds = ",\n    ".join(f"{each}: Clone + Send" for each in names)
    head = f"impl<{', '.join(names)}> Pair<{', '.join(names)}>\nwhere // each\n    {bounds},"
    code = f"{head}\n{{\n    pub fn b(&self) {{}}\n}}"
    after = edited(IN_RUST, "Pair::b", code, text="fn a() {}\n")
    expected = " ".join(head.replace("// each", "").split())
    assert after == f"fn a() {{}}\n\n{expected} {{\n    pub fn b(&self) {{}}\n}}\n"
