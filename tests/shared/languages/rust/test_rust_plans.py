"""Tests of a plan in Rust, judged at their places in the chain."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import pytest

from shared.languages.acceptance_commands import analyse_command
from shared.languages.language_tools import CheckerFailed, ToolMissing, ToolResult, Tools
from shared.languages.planned_code import Chain, ChainCode, Fault
from shared.languages.rust.judge_rust import RustChain
from shared.languages.rust.rust_conformance import macro_calls
from shared.languages.rust.rust_language import RUST
from shared.work_order.work_order import Interface
from tests.shared.languages.chains import Order, chain_of
from tests.shared.languages.tool_runner import SandboxRunner, runner_for

CRATE = {
    "Cargo.toml": '[package]\nname = "my-play"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub mod game;\n",
}
GAME = "pub struct Game {\n    pub word: String,\n}\n\npub fn score(guess: &str) -> usize;\n"
MORE = (
    "impl Game {\n    pub fn play(&mut self, guess: &str) -> bool;\n}\n\n"
    "pub fn rank(n: u8) -> String;\n"
)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> SandboxRunner:
    return runner_for(tmp_path_factory, "cargo")


def read(chain: Chain) -> ChainCode:
    assert RUST.plans is not None
    return RUST.plans.read_chain(chain)


def uses(runner: SandboxRunner, *orders: Order, repo: dict[str, str] | None = None) -> list[Fault]:
    with Tools(runner) as tools:
        chain = chain_of(*orders, repo=CRATE if repo is None else repo)
        return list(read(chain).use_faults(tools))


def file_of(body: str, uses: str = "use my_play::game::*;") -> str:
    return f"{uses}\n\n#[test]\nfn holds() {{\n{body}\n}}\n"


def test_a_fault_says_its_place(runner: SandboxRunner) -> None:
    test = file_of("assert_eq!(score(5), 1);")
    (fault,) = uses(runner, Order({"src/game.rs": GAME}, {"tests/game.rs": test}))
    assert (fault.code, fault.position) == ("E213", 1)
    assert str(fault.at) == "acceptance_files[0].content"
    assert fault.message.startswith("line 5, column 18: mismatched types: expected `&str`")


def test_names_of_later_orders_are_said_to_come_too_late(runner: SandboxRunner) -> None:
    late = file_of('assert_eq!(rank(1), "one");')
    method = file_of('let mut g = Game { word: "a".into() };\nassert!(g.play("a"));')
    tests = {"tests/late.rs": late, "tests/method.rs": method}
    orders = Order({"src/game.rs": GAME}, tests), Order({"src/game.rs": MORE})
    found = uses(runner, *orders)
    assert [each.code for each in found] == ["E217", "E217"]
    assert all("declared only by WO-02" in each.message for each in found)


def test_a_file_without_contract_may_hold_the_missing_name(runner: SandboxRunner) -> None:
    test = file_of("assert_eq!(my_play::extra::one(), my_play::game::two());")
    order = Order(
        {"src/game.rs": GAME}, {"tests/game.rs": test}, writes=["src/extra.rs", "src/lib.rs"]
    )
    assert uses(runner, order) == []


def test_a_glob_brings_what_an_order_may_add(runner: SandboxRunner) -> None:
    tests = {"tests/game.rs": file_of("assert_eq!(extra(), 1);", "use my_play::*;")}
    order = Order({"src/game.rs": GAME}, tests, writes=["src/lib.rs"])
    assert uses(runner, order) == []
    found = uses(runner, Order({"src/game.rs": GAME}, tests, writes=["a.md"]))
    assert [each.code for each in found] == ["E216"]


def test_old_code_that_an_order_rewrites_may_be_used_as_it_is_not_yet(
    runner: SandboxRunner,
) -> None:
    source = "pub struct Game;\npub fn score(guess: &str) -> usize { guess.len() }\n"
    body = 'let n = score("a", true);\nassert_eq!(n, "a");\nassert_eq!(score(\n5), 1);'
    tests = {"tests/game.rs": file_of(body)}
    repo = {**CRATE, "src/game.rs": source}
    assert uses(runner, Order({}, tests, writes=["src/game.rs"]), repo=repo) == []
    found = uses(runner, Order({}, tests, writes=["src/more.rs"]), repo=repo)
    assert "E212" in {each.code for each in found}


def test_a_root_that_an_order_writes_is_taken_to_name_its_modules(runner: SandboxRunner) -> None:
    test = file_of("assert_eq!(score(5), 1);")
    order = Order(
        {"src/game.rs": GAME}, {"tests/game.rs": test}, writes=["Cargo.toml", "src/lib.rs"]
    )
    assert [each.code for each in uses(runner, order, repo={})] == ["E213"]


def test_a_trait_that_a_contract_leaves_open_is_a_doubt(runner: SandboxRunner) -> None:
    body = 'let g = Game { word: "a".into() };\nassert_eq!(g.clone(), g);'
    found = uses(runner, Order({"src/game.rs": GAME}, {"tests/game.rs": file_of(body)}))
    assert {each.code for each in found} == {"W222"}


def test_modules_that_tests_share_are_there(runner: SandboxRunner) -> None:
    test = "mod common;\n\n#[test]\nfn holds() {\n    assert_eq!(common::word(), 1);\n}\n"
    repo = {**CRATE, "tests/common/mod.rs": 'pub fn word() -> &\'static str { "a" }\n'}
    found = uses(runner, Order({"src/game.rs": GAME}, {"tests/game.rs": test}), repo=repo)
    assert [each.code for each in found] == ["E214"]


def test_a_crate_below_the_root_is_judged_in_its_folder(runner: SandboxRunner) -> None:
    repo = {f"server/{path}": text for path, text in CRATE.items()}
    test = file_of("assert_eq!(score(5), 1);")
    order = Order({"server/src/game.rs": GAME}, {"server/tests/game.rs": test})
    assert [each.code for each in uses(runner, order, repo=repo)] == ["E213"]


def test_dependencies_that_cannot_be_had_leave_the_tests_unjudged(runner: SandboxRunner) -> None:
    manifest = CRATE["Cargo.toml"] + '\n[dependencies]\nno-such-crate = "1"\n'
    test = file_of("assert_eq!(score(5), 1);")
    order = Order({"src/game.rs": GAME}, {"tests/game.rs": test})
    (fault,) = uses(runner, order, repo={**CRATE, "Cargo.toml": manifest})
    assert (fault.code, fault.position) == ("W224", 0)


def test_without_a_compiler_there_is_one_warning() -> None:
    class Missing:
        def run(self, files: object, argv: object, *, seconds: float) -> ToolResult:
            raise ToolMissing("cargo is not installed")

        def close(self) -> None:
            pass

    test = file_of("assert_eq!(score(5), 1);")
    orders = [Order({"src/game.rs": GAME}, {f"tests/a{n}.rs": test}) for n in range(2)]
    for runner, reason in ((Missing(), "cargo is not installed"), (None, "no sandbox")):
        with Tools(runner) as tools:
            (fault,) = read(chain_of(*orders, repo=CRATE)).use_faults(tools)
        assert (fault.code, fault.position) == ("W224", 0)
        assert reason in fault.message


@pytest.mark.parametrize(
    ("imported", "code"),
    [
        ("my_play::game::score", None),
        ("my_play::game", None),
        ("my_play::later::f", "E217"),
        ("my_play::board::f", "E210"),
        ("serde::Deserialize", "W221"),
        ("rand_core::RngCore", None),
        ("std::fmt", None),
    ],
)
def test_what_a_test_imports_has_to_be_there(imported: str, code: str | None) -> None:
    manifest = CRATE["Cargo.toml"] + '\n[dev-dependencies]\nrand-core = "0.9"\n'
    test = file_of("", f"use {imported};")
    orders = Order({"src/game.rs": GAME}, {"tests/game.rs": test}), Order({"src/later.rs": ""})
    chain = chain_of(*orders, repo={**CRATE, "Cargo.toml": manifest})
    needs = [*read(chain).needs_of_file(1, chain.orders[0].acceptance_files[0])]
    assert [each.code for each in needs] == ([code] if code else [])


@pytest.mark.parametrize(
    ("edition", "codes"), [("", []), ('edition = "2018"\n', ["W221", "W221", "W221"])]
)
def test_in_the_edition_of_2015_a_use_begins_at_the_root(edition: str, codes: list[str]) -> None:
    repo = {
        "Cargo.toml": f'[package]\nname = "walk"\nversion = "0.1.0"\n{edition}',
        "src/lib.rs": "pub struct Walk;\n#[cfg(test)]\nmod tests;\n",
        "src/tests/mod.rs": "mod util;\n",
    }
    test = file_of("", "use Walk;\nuse tests::util::Dir;\nuse rand::Rng;")
    chain = chain_of(Order({}, {"src/tests/deep.rs": test}, writes=["src/o.rs"]), repo=repo)
    needs = [*read(chain).needs_of_file(1, chain.orders[0].acceptance_files[0])]
    assert [each.code for each in needs] == (codes or ["W221"])


def test_modules_of_tests_below_the_source_are_part_of_the_crate(runner: SandboxRunner) -> None:
    repo = {
        **CRATE,
        "src/lib.rs": "pub mod game;\n#[cfg(test)]\nmod tests;\n",
        "src/tests/mod.rs": "mod deep;\n",
    }
    test = file_of("assert_eq!(score(5), 1);", "use crate::game::*;")
    found = uses(runner, Order({"src/game.rs": GAME}, {"src/tests/deep.rs": test}), repo=repo)
    assert [each.code for each in found] == ["E213"]


def test_a_missing_module_is_one_finding(runner: SandboxRunner) -> None:
    test = file_of("assert_eq!(f(), 1);", "use my_play::board::f;")
    order = Order({"src/game.rs": GAME}, {"tests/game.rs": test})
    assert uses(runner, order) == []  # the import is the finding, by `needs_of_file`


RIGHT = (
    "#[derive(Debug)]\npub struct Game {\n    pub word: String,\n    n: u8,\n}\n\n"
    "pub fn score(word: &str) -> usize {\n    word.len()\n}\n\nimpl Game {\n"
    "    pub fn play(&mut self, s: &str) -> bool {\n        self.n += 1;\n        s == self.word\n"
    "    }\n}\n\npub fn rank(n: u8) -> String {\n    n.to_string()\n}\n"
)


BREAKING: Final = (
    ("", "", None),
    (
        "score(word: &str) -> usize {\n    word.len()",
        "score(n: usize) -> usize {\n    n",
        "score",
    ),
    ("pub fn score", "pub fn points", "score"),
    ("pub fn score", "fn score", "score"),
    ("pub word: String", "pub word: Vec<u8>", "Game.word"),
    ("&mut self, s: &str) -> bool {", "&mut self, s: String) -> bool {", "Game.play"),
    ("String {\n    n.to_string()", "u8 {\n    n", "rank"),
    ("#[derive(Debug)]\n", "", "Game"),
)


def test_code_that_breaks_its_contract_is_found(runner: SandboxRunner) -> None:
    _assert_differ(runner, f"#[derive(Debug)]\n{GAME}\n{MORE}", RIGHT, BREAKING)


GENERIC = (
    "pub fn largest<T: Ord + Copy>(all: &[T]) -> Option<T> {\n    all.iter().copied().max()\n}\n\n"
    "pub fn pair<'a, T, const N: usize>(all: &'a [T; N]) -> &'a [T] where T: Clone {\n    all\n}\n"
)


CONSTRAINED: Final = (
    ("", "", None),
    (
        "<T: Ord + Copy>(all: &[T]) -> Option<T>",
        "<U>(all: &[U]) -> Option<U> where U: Copy + Ord",
        None,
    ),
    ("where T: Clone ", "", None),
    ("where T: Clone", "where T: Copy", "pair"),
    ("<T: Ord + Copy>", "<T: Ord + Copy + std::fmt::Debug>", "largest"),
    ("<T: Ord + Copy>(all: &[T])", "<T: Ord + Copy, U: Default>(all: &[T])", "largest"),
    ("(all: &[T]) -> Option<T>", "(all: Vec<T>) -> Option<T>", "largest"),
)


def test_generic_functions_are_compared_by_their_constraints(runner: SandboxRunner) -> None:
    stub = (
        "pub fn largest<T: Ord + Copy>(all: &[T]) -> Option<T>;\n\n"
        "pub fn pair<'a, T, const N: usize>(all: &'a [T; N]) -> &'a [T] where T: Clone;\n"
    )
    _assert_differ(runner, stub, GENERIC, CONSTRAINED)


STACK = """pub struct Stack<'a, T> {
    items: Vec<T>,
    name: &'a str,
}

impl<'a, T: Clone> Stack<'a, T>
where
    T: PartialEq,
{
    pub fn named(name: &'a str) -> Self {
        Self { items: Vec::new(), name }
    }

    pub fn find(&self, item: &T, near: &str) -> Option<&T> {
        self.items.iter().find(|each| *each == item && near == self.name)
    }

    pub fn map<'b, U, F: Fn(&T) -> U>(&mut self, by: &'b F) -> Vec<U> {
        self.items.iter().map(by).collect()
    }

    pub fn into_first(mut self) -> Option<T> {
        self.items.pop()
    }
}

impl Stack<'_, u8> {
    pub fn total(&self) -> u8 {
        self.items.iter().sum()
    }
}
"""
STACK_DECLARED = """pub struct Stack<'a, T> {}

impl<'s, V: Clone + PartialEq> Stack<'s, V> {
    pub fn named(name: &'s str) -> Self;
    pub fn find(&self, item: &V, near: &str) -> Option<&V>;
    pub fn map<'b, U, F: Fn(&V) -> U>(&mut self, by: &'b F) -> Vec<U>;
    pub fn into_first(self) -> Option<V>;
}

impl Stack<'_, u8> {
    pub fn total(&self) -> u8;
}
"""


SIGNED: Final = (
    ("", "", None),
    ("named(name: &'a str) -> Self", "named(name: &'a str) -> Stack<'a, T>", None),
    ("find(&self, item: &T, near: &str)", "find(&self, item: &T, near: &T)", "Stack.find"),
    ("-> Option<&T>", "-> Option<T>", "Stack.find"),
    ("by: &'b F) -> Vec<U>", "by: &'b F) -> Vec<T>", "Stack.map"),
    ("into_first(mut self)", "into_first(&mut self)", "Stack.into_first"),
    ("total(&self) -> u8", "total(&self) -> u16", "Stack.total"),
    ("fn total(", "fn sum(", "Stack.total"),
)


def test_methods_of_generic_types_are_compared_by_their_signatures(runner: SandboxRunner) -> None:
    _assert_differ(runner, STACK_DECLARED, STACK, SIGNED)


def test_a_method_that_asks_more_of_its_type_breaks_the_contract(runner: SandboxRunner) -> None:
    declared = "pub struct Bag<T> {}\n\nimpl<T> Bag<T> {\n    pub fn len(&self) -> usize;\n}\n"
    code = declared.replace("{}", "{ all: Vec<T> }").replace(";", " { self.all.len() }")
    assert _broken(runner, declared, code) == []
    assert _broken(runner, declared, code.replace("impl<T>", "impl<T: Clone>")) == ["Bag.len"]


def test_what_a_method_lends_out_is_borrowed_from_self(runner: SandboxRunner) -> None:
    declared = (
        "pub struct Book {}\n\nimpl Book {\n    pub fn find(&self, key: &str) -> &str;\n"
        "    pub fn chars(&self, key: &str) -> std::str::Chars<'_>;\n}\n"
    )
    code = declared.replace("{}", "{ text: String }")
    code = code.replace("&str;", "&str { &self.text }").replace(">;", "> { self.text.chars() }")
    assert _broken(runner, declared, code) == []
    wrong = code.replace("-> &str { &self.text }", "-> String { self.text.clone() }")
    assert _broken(runner, declared, wrong) == ["Book.find"]


MARKED = """pub struct Book<'a> {
    text: &'a str,
}

pub async fn fetch(url: &str) -> String {
    url.to_string()
}

pub const fn area(width: u32) -> u32 {
    width
}

pub unsafe fn read(at: usize) -> u8 {
    at as u8
}

pub extern "C" fn ring(times: u32) -> bool {
    times > 1
}

pub async fn each<T: Clone>(all: &[T]) -> Vec<T> {
    all.to_vec()
}

impl<'a> Book<'a> {
    pub async fn find(&self, key: &str) -> &str {
        self.text.trim_matches(key.len() as u8 as char)
    }

    pub async fn open(text: &'a str) -> Self {
        Self { text }
    }
}
"""
MARKED_DECLARED = """pub struct Book<'a> {}

pub async fn fetch(url: &str) -> String;
pub const fn area(width: u32) -> u32;
pub unsafe fn read(at: usize) -> u8;
pub extern "C" fn ring(times: u32) -> bool;
pub async fn each<T: Clone>(all: &[T]) -> Vec<T>;

impl<'b> Book<'b> {
    pub async fn find(&self, key: &str) -> &str;
    pub async fn open(text: &'b str) -> Self;
}
"""


WORDED: Final = (
    ("", "", None),
    ("fetch(url: &str) -> String", "fetch(url: &str) -> usize", "fetch"),
    ("fetch(url: &str)", "fetch(url: u32)", "fetch"),
    ("fetch(url: &str)", "fetch(url: &str, tries: u8)", "fetch"),
    ("pub async fn fetch", "pub fn fetch", "fetch"),
    ("pub async fn fetch", "#[rustfmt::skip]\npub fn fetch", "fetch"),
    ("pub async fn fetch", "#[tokio::main]\npub async fn fetch", None),
    ("area(width: u32)", "area(width: u64)", "area"),
    ("pub unsafe fn read", "pub fn read", None),
    ("read(at: usize) -> u8", "read(at: usize) -> i8", "read"),
    (
        "pub unsafe fn read(at: usize) -> u8",
        "#[cfg(any())]\npub unsafe fn read(at: usize) -> u8 { 0 }\n"
        "#[cfg(not(any()))]\npub unsafe fn read(at: usize) -> i8",
        "read",
    ),
    ("pub unsafe fn read", "type usize = u64;\npub unsafe fn read", "read"),
    ('extern "C" fn ring', "fn ring", "ring"),
    ("ring(times: u32) -> bool", "ring(times: u32) -> u32", "ring"),
    ("each<T: Clone>(all: &[T])", "each<T: Copy>(all: &[T])", "each"),
    ("find(&self, key: &str) -> &str", "find(&self, key: u8) -> &str", "Book.find"),
    ("open(text: &'a str) -> Self", "open(text: &'a str) -> u8", "Book.open"),
)


def test_functions_with_words_before_them_are_compared(runner: SandboxRunner) -> None:
    _assert_differ(runner, MARKED_DECLARED, MARKED, WORDED)


KINDS = """use std::collections::HashMap;
use std::sync::Mutex;

pub const NAME: &'static str = "a";
pub const SIZES: [u8; 2] = [1, 2]; // in bytes
pub static COUNT: u32 = 0;
pub static NAMES: &[&str] = &["a"];
pub static SEEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());
pub static mut LAST: u8 = 0;
pub type Id = u64;
pub type Found<T> = Result<T, String>;
pub type Call = Box<dyn Fn(&str) -> u8>;
pub type Step = fn(&Meters) -> &f64;
pub type Index = HashMap<String, Vec<Id>>;

pub struct Meters(pub f64);
pub struct Pair(pub Id, pub Box<dyn Fn(u8) -> u8>);
pub struct Key(u8);
pub struct Wide<'a, T>(pub &'a [T]);
pub struct Marker;
pub struct Point {
    pub x: f64,
    y: f64,
}

impl Point {
    pub const ZERO: Self = Self { x: 0.0, y: 0.0 };
    pub const AXES: &'static str = "xy";
}

impl<'a, T: Clone> Wide<'a, T> {
    pub const LIMIT: Option<&'a T> = None;
}

#[cfg(unix)]
pub type Handle = i32;
#[cfg(not(unix))]
pub type Handle = isize;

pub mod api {
    pub use super::Point;
    pub use super::Marker as Mark;

    pub fn run(times: u32) -> u32 {
        times
    }
}
"""
KINDS_DECLARED = """use std::collections::HashMap;

pub const NAME: &str;
pub const SIZES: [u8; 2];
pub static COUNT: u32;
pub static NAMES: &[&str];
pub static SEEN: std::sync::Mutex<Vec<u8>>;
pub static mut LAST: u8;
pub type Id = u64;
pub type Found<T> = Result<T, String>;
pub type Call = Box<dyn Fn(&str) -> u8>;
pub type Step = fn(&Meters) -> &f64;
pub type Index = std::collections::HashMap<String, Vec<u64>>;

pub struct Meters(pub f64);
pub struct Pair(pub u64, pub Box<dyn Fn(u8) -> u8>);
pub struct Key;
pub struct Wide<'b, U>(pub &'b [U]);
pub struct Marker;
pub struct Point {
    pub x: f64,
}

impl Point {
    pub const ZERO: Point;
    pub const AXES: &str;
}

impl<'b, U: Clone> Wide<'b, U> {
    pub const LIMIT: Option<&'b U>;
}

#[cfg(unix)]
pub type Handle = i32;
#[cfg(not(unix))]
pub type Handle = isize;

pub mod api {
    pub struct Point;
    pub struct Mark;
    pub fn run(times: u32) -> u32;
}
"""


OF_KINDS: Final = (
    ("", "", None),
    ('NAME: &\'static str = "a"', "NAME: u32 = 3", "NAME"),
    ("COUNT: u32", "COUNT: u8", "COUNT"),
    ('NAMES: &[&str] = &["a"]', "NAMES: &[u8] = &[1]", "NAMES"),
    ("Mutex<Vec<u8>>", "Mutex<Vec<u16>>", "SEEN"),
    ("type Call = Box<dyn Fn(&str) -> u8>", "type Call = Box<dyn Fn(&str) -> u16>", "Call"),
    ("type Call = Box<dyn Fn(&str) -> u8>", "struct Call(u8)", "Call"),
    ("Meters(pub f64)", "Meters(pub String, u8)", "Meters"),
    ("Meters(pub f64)", "Meters(f64)", "Meters"),
    ("Meters(pub f64);", "Meters {\n    pub m: f64,\n}", "Meters"),
    ("pub struct Marker;", "pub enum Marker {}", "Marker"),
    ("pub x: f64", "x: f64", "Point.x"),
    ('AXES: &\'static str = "xy"', "AXES: u8 = 2", "Point.AXES"),
    ("Option<&'a T> = None", "Option<T> = None", "Wide.LIMIT"),
    ("pub static COUNT", "pub(crate) static COUNT", "COUNT"),
    ("pub mod api", "pub(crate) mod api", "api"),
    ("    pub fn run", "    fn run", "api::run"),
    ("Marker as Mark", "Marker", "api::Mark"),
)


def test_values_types_and_modules_are_compared(runner: SandboxRunner) -> None:
    _assert_differ(runner, KINDS_DECLARED, KINDS, OF_KINDS)
    assert "Id" in _broken(runner, KINDS_DECLARED, KINDS.replace("type Id = u64", "type Id = u32"))


def _broken(runner: SandboxRunner, stub: str, code: str) -> list[str]:
    return _broken_each(runner, [(stub, code)])[0]


def _broken_each(runner: SandboxRunner, given: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the names that differ in each pair of stub and code; all are compiled together."""
    paths = [f"src/case_{at}.rs" for at in range(len(given))]
    modules = "".join(f"pub mod case_{at};\n" for at in range(len(given)))
    files = dict(zip(paths, (code for _, code in given), strict=True))
    stubs = [Interface(path=p, stub=stub) for p, (stub, _) in zip(paths, given, strict=True)]
    assert RUST.conformance is not None
    with Tools(runner) as tools:
        found = RUST.conformance.check_conformance(
            stubs, {**CRATE, "src/lib.rs": modules, **files}, tools
        )
    return [[each.name for each in found if each.path == path] for path in paths]


def _assert_pairs_differ(
    runner: SandboxRunner, cases: Sequence[tuple[str, str, str | None]]
) -> None:
    """Assert which name of a stub differs in some code, if any."""
    given = [(stub, code) for stub, code, _ in cases]
    for (stub, code, name), found in zip(cases, _broken_each(runner, given), strict=True):
        assert found == ([name] if name else []), f"{stub}\n{code}"


def _assert_differ(
    runner: SandboxRunner, stub: str, code: str, cases: Sequence[tuple[str, str, str | None]]
) -> None:
    """Assert which name differs, if any, where one text of some code is another."""
    assert all(old in code for old, _, _ in cases)
    given = [(stub, code.replace(old, new) if old else code) for old, new, _ in cases]
    for (old, new, name), found in zip(cases, _broken_each(runner, given), strict=True):
        assert found == ([name] if name else []), f"{old} -> {new}"


def test_blocks_may_call_type_parameters_otherwise_in_a_later_contract() -> None:
    later = STACK_DECLARED.replace("'s", "'x").replace("V", "W").replace("Wec", "Vec")
    wrong = STACK_DECLARED.replace("Option<&V>", "Option<V>")
    for stub, codes in ((later, []), (wrong, ["E204"])):
        orders = Order({"src/game.rs": STACK_DECLARED}), Order({"src/game.rs": stub})
        faults = read(chain_of(*orders, repo=CRATE)).interface_faults()
        assert [each.code for each in faults] == codes


def test_hollow_code_passes_what_proves_nothing_and_fails_what_proves_something(
    runner: SandboxRunner,
) -> None:
    assert RUST.conformance is not None
    stub = Interface(path="src/game.rs", stub=f"{GAME}\n{MORE}")
    hollow = RUST.conformance.build_skeleton([stub], CRATE)
    strong, weak = file_of('assert_eq!(score("ab"), 2);'), file_of('score("ab");')
    for test, passes in ((strong, False), (weak, True)):
        files = {**CRATE, **hollow, "tests/game.rs": test}
        argv = ["cargo", "test", "--offline", "--test", "game"]
        result = runner.run(files, argv, seconds=120)
        assert (result.exit_code == 0) is passes, result.stderr


def test_a_module_that_an_order_removes_is_not_there_any_more() -> None:
    test = file_of("", "use my_play::old::score;")
    repo = {**CRATE, "src/lib.rs": "pub fn f() {}\n", "src/old.rs": "pub fn score() {}\n"}
    orders = Order(tests={"tests/a.rs": test}), Order(removes=["src/old.rs"])
    before, after = chain_of(*orders, repo=repo), chain_of(*reversed(orders), repo=repo)
    assert [*read(before).needs_of_file(1, before.orders[0].acceptance_files[0])] == []
    (need,) = read(after).needs_of_file(2, after.orders[1].acceptance_files[0])
    assert need.code == "E210" and need.message.endswith("that WO-01 removes")
    planned = RustChain(after)
    assert "src/old.rs" not in planned.view(2)


def needs_of_program(command: str, *orders: Order, repo: dict[str, str] = CRATE) -> list[str]:
    chain = chain_of(*orders, Order(commands=[command]), repo=repo)
    position, order = len(chain.orders), chain.orders[-1]
    needs = read(chain).needs_of_command(position, order.commands[0][1])
    return [f"{each.code} {each.name}" for each in needs]


def test_a_program_that_nobody_writes_is_not_there() -> None:
    for command in (
        "cargo run --bin score -- 3",
        "cargo test --bin score",
        "cargo run --bin=score",
    ):
        assert needs_of_program(command) == ["E241 src/bin/score.rs"]
    assert needs_of_program("cargo run --bin my-play") == ["E241 src/main.rs"]


@pytest.mark.parametrize("path", ["src/bin/score.rs", "src/bin/score/main.rs"])
def test_a_program_that_an_order_writes_is_there(path: str) -> None:
    assert needs_of_program("cargo run --bin score", Order(writes=[path])) == []


def test_a_program_of_the_package_or_of_the_manifest_is_there() -> None:
    assert needs_of_program("cargo run --bin my-play", Order(writes=["src/main.rs"])) == []
    named = CRATE | {"Cargo.toml": CRATE["Cargo.toml"] + '[[bin]]\nname = "score"\n'}
    assert needs_of_program("cargo run --bin score", repo=named) == []
    writes = Order(writes=["Cargo.toml"])
    assert needs_of_program("cargo run --bin score", writes) == [], "it may name the program"
    for other in ("cargo run", "cargo run --bin 's*'", "cargo run -p tools --bin score"):
        assert needs_of_program(other) == []


CONSTANT: Final = (
    (
        "pub const fn area(w: u32) -> u32;",
        "pub const fn area(w: bool) -> bool {\n    w\n}\n",
        "area",
    ),
    (
        "pub const fn area(w: u32) -> u32;",
        "pub const fn area(w: u32) -> u32 {\n    w\n}\n",
        None,
    ),
    ("pub const NAME: &'static str;", "pub const NAME: u32 = 3;\n", "NAME"),
    ("pub static SEED: u32;", "pub static SEED: u8 = 3;\n", "SEED"),
    ("pub static SEED: u32;", "pub static SEED: u32 = 3;\n", None),
    ("pub static WORD: &str;", 'pub static WORD: &str = "a";\n', None),
    ("pub static mut SEED: u32;", "pub static mut SEED: u32 = 3;\n", None),
    (
        "pub struct A;\nimpl A {\n    pub const N: u32;\n}",
        "pub struct A;\nimpl A {\n    pub const N: u8 = 1;\n}\n",
        "A.N",
    ),
    (
        "pub struct A;\nimpl A {\n    pub const N: u32;\n}",
        "pub struct A;\nimpl A {\n    pub const N: u32 = 1;\n}\n",
        None,
    ),
    ("pub const NAME: &'static str;", 'pub const NAME: &\'static str = "a";\n', None),
    (
        "pub struct A;\nimpl A {\n    pub fn name(&self) -> &'static str;\n}",
        "pub struct A;\nimpl A {\n    pub fn name(&self) -> &'static str {\n"
        '        "a"\n    }\n}\n',
        None,
    ),
)


def test_constants_and_what_lives_for_ever_are_compared(runner: SandboxRunner) -> None:
    _assert_pairs_differ(runner, CONSTANT)


ID = "pub struct Id(pub u64);\n"
FROM = (
    "impl From<{0}> for Id {{\n    fn from(n: {0}) -> Self {{\n        Id(n as u64)\n    }}\n}}\n"
)
EVEN = "pub fn even(all: {}) -> {} {{\n    all.into_iter().filter(|n| n % 2 == 0)\n}}\n"
WRAP = "pub struct Wrap<T: Clone>(pub T, pub u8);"


# Each is a stub, code, and the name that differs, if any.
TAKEN: Final = (
    (f"{ID}impl From<u32> for Id {{}}", ID + FROM.format("u32"), None),
    (f"{ID}impl From<u32> for Id {{}}", ID + FROM.format("u16"), "From<u32> for Id"),
    (
        f"{ID}impl From<u32> for Id {{}}",
        f"{ID}impl<T: Into<u64>> From<T> for Id {{\n    fn from(n: T) -> Self {{\n"
        "        Id(n.into())\n    }\n}\n",
        None,
    ),
    (
        f"{ID}impl PartialEq<&str> for Id {{}}",
        f"{ID}impl PartialEq<&str> for Id {{\n    fn eq(&self, _: &&str) -> bool {{\n"
        "        false\n    }\n}\n",
        None,
    ),
    (
        f"{ID}impl PartialEq<&str> for Id {{}}",
        f"{ID}impl PartialEq<u8> for Id {{\n    fn eq(&self, _: &u8) -> bool {{\n"
        "        false\n    }\n}\n",
        "PartialEq<&str> for Id",
    ),
    (
        "pub fn even(all: impl IntoIterator<Item = u32>) -> impl Iterator<Item = u32>;",
        EVEN.format("impl IntoIterator<Item = u32>", "impl Iterator<Item = u32>"),
        None,
    ),
    (
        "pub fn even(all: impl IntoIterator<Item = u32>) -> impl Iterator<Item = u32>;",
        EVEN.format("Vec<u32>", "impl Iterator<Item = u32>"),
        "even",
    ),
    (
        "pub fn even(all: impl IntoIterator<Item = u32>) -> impl Iterator<Item = u32>;",
        EVEN.format("impl IntoIterator<Item = u64>", "impl Iterator<Item = u64>"),
        "even",
    ),
    (
        "pub fn even(all: Vec<u32>) -> impl Iterator<Item = u32>;",
        EVEN.format("Vec<u32>", "std::vec::IntoIter<u32>").replace(".filter(|n| n % 2 == 0)", ""),
        None,
    ),
    (
        "pub fn even(all: Vec<u32>) -> impl Iterator<Item = u32>;",
        "pub fn even(all: Vec<u32>) -> Vec<u32> {\n    all\n}\n",
        "even",
    ),
    (
        "pub struct A;\nimpl A {\n    pub fn each(&self, by: impl Fn(&str) -> u8) -> u8;\n}",
        "pub struct A;\nimpl A {\n    pub fn each<F: Fn(&str) -> u8>(&self, by: F) -> u8 {\n"
        '        by("a")\n    }\n}\n',
        None,
    ),
    (
        "pub struct A;\nimpl A {\n    pub fn each(&self, by: impl Fn(&str) -> u8) -> u8;\n}",
        "pub struct A;\nimpl A {\n    pub fn each(&self, by: fn(u8) -> u8) -> u8 {\n"
        "        by(1)\n    }\n}\n",
        "A.each",
    ),
    # None of these makes the probe of another declaration one that does not parse.
    (
        f"{ID}impl Iterator for Id {{\n    type Item = u8;\n}}\npub fn even(n: u8) -> bool;",
        f"{ID}impl Iterator for Id {{\n    type Item = u8;\n"
        "    fn next(&mut self) -> Option<u8> {\n        None\n    }\n}\n\n"
        "pub fn even(n: u16) -> bool {\n    n % 2 == 0\n}\n",
        "even",
    ),
    (
        f"{ID}impl From<u8> for Id where Id: Sized {{}}\npub fn even(n: u8) -> bool;",
        ID + FROM.format("u8") + "pub fn even(n: u16) -> bool {\n    n % 2 == 0\n}\n",
        "even",
    ),
    (
        "pub fn even<T>(n: T) -> bool\nwhere\n    T: Ord, // sorted\n    T: Copy;\n"
        "pub fn odd(n: u8) -> bool;",
        "pub fn even<T: Ord + Copy>(_: T) -> bool {\n    true\n}\n\n"
        "pub fn odd(n: u16) -> bool {\n    n % 2 == 1\n}\n",
        "odd",
    ),
    (
        "pub fn adder(n: u8) -> impl Fn(u8) -> u8;",
        "pub fn adder(n: u8) -> impl Fn(u8) -> u8 {\n    move |m| n + m\n}\n",
        None,
    ),
    (
        "pub fn adder(n: u8) -> impl Fn(u8) -> u8;",
        "pub fn adder(n: u8) -> impl Fn(u8) -> u16 {\n    move |m| (n + m) as u16\n}\n",
        "adder",
    ),
    ("pub type Call<T> = dyn Fn(T);", "pub type Call<T> = dyn Fn(T);\n", None),
    ("pub struct Dst<T: ?Sized>(pub T);", "pub struct Dst<T: ?Sized>(pub T);\n", None),
    (
        f"pub struct Heap<T: Clone>(pub T);\npub struct Wrapper<T>(/// {'x' * 250}\n pub Heap<T>)\n"
        "where T: Clone;",
        f"pub struct Heap<T: Clone>(pub T);\npub struct Wrapper<T>(/// {'x' * 250}\n pub Heap<T>)\n"
        "where T: Clone;\n",
        None,
    ),
    ("pub struct M(pub f64);", "pub struct M(pub(crate) f64);\n", "M"),
    (
        "use std::collections::HashMap;\n\npub fn found() -> HashMap<String, u8>;",
        "pub fn found() -> Vec<u8> {\n    Vec::new()\n}\n",
        "found",
    ),
    (
        "use std::collections::HashMap;\n\npub fn found() -> HashMap<String, u8>;",
        "pub fn found() -> std::collections::HashMap<String, u8> {\n    Default::default()\n}\n",
        None,
    ),
    (
        "pub struct Bag<T> {\n    /// where they are\n    pub all: Vec<T>,\n}\n"
        "pub fn odd(n: u8) -> bool;",
        "pub struct Bag<T> {\n    /// where they are\n    pub all: Vec<T>,\n}\n\n"
        "pub fn odd(n: u16) -> bool {\n    n % 2 == 1\n}\n",
        "odd",
    ),
    (
        "pub trait Ext {}\nimpl<T: AsRef<str> + ?Sized> Ext for T {}",
        "pub trait Ext {}\nimpl<T: AsRef<str> + ?Sized> Ext for T {}\n",
        None,
    ),
    (
        "pub struct Link<T> {\n    pub of: T,\n    pub next: Option<Box<Link<T>>>,\n}",
        "pub struct Link<T> {\n    pub of: T,\n    pub next: Option<Box<Self>>,\n}\n",
        None,
    ),
    (
        "pub fn page() -> String;",
        "#[my::component]\npub fn page() -> u8 {\n    1\n}\n",
        None,
    ),
    (
        "pub struct Bag<T: Clone> {\n    pub a: T,\n}",
        "pub struct Bag<T: Copy> {\n    pub a: T,\n}\n",
        "Bag",
    ),
    ("pub enum Bag<T: Clone> {\n    A(T),\n}", "pub enum Bag<T: Copy> {\n    A(T),\n}\n", "Bag"),
    ("pub struct Bag<T> {\n    pub a: T,\n}", "pub struct Bag<U> {\n    pub a: U,\n}\n", None),
    (
        "pub struct Link {\n    pub next: Option<Box<Link>>,\n}",
        "pub struct Link {\n    pub next: Option<Box<Self>>,\n}\n",
        None,
    ),
    (
        f"{ID}impl Iterator for Id {{\n    type Item = u8;\n}}",
        f"{ID}impl Iterator for Id {{\n    type Item = u16;\n"
        "    fn next(&mut self) -> Option<u16> {\n        None\n    }\n}\n",
        "Id.Item",
    ),
    (
        "pub struct Of<T>(pub T);\nimpl<T> From<T> for Of<T> {}",
        "pub struct Of<T>(pub T);\nimpl<T> From<T> for Of<T> {\n    fn from(n: T) -> Self {\n"
        "        Of(n)\n    }\n}\n",
        None,
    ),
    (
        "pub struct Of<T>(pub T);\nimpl<T> From<T> for Of<T> {}",
        "pub struct Of<T>(pub T);\nimpl<T> From<Vec<T>> for Of<Vec<T>> {\n"
        "    fn from(n: Vec<T>) -> Self {\n        Of(n)\n    }\n}\n",
        "From<T> for Of",
    ),
    ("pub type Pair<T> = (T, u8);", "pub type Pair<U> = (U, u8);\n", None),
    ("pub type Pair<T> = (T, u8);", "pub type Pair<T> = (u8, T);\n", "Pair"),
    (WRAP, f"{WRAP}\n", None),
    (WRAP, WRAP.replace("T: Clone", "T: Copy"), "Wrap"),
    (WRAP, WRAP.replace("pub u8", "pub u16"), "Wrap"),
    (
        "pub enum Shape {\n    Box { w: u8, h: u8 },\n}",
        "pub enum Shape {\n    Box {\n        w: u8,\n        h: u8,\n    },\n}\n",
        None,
    ),
    (
        "pub struct Bag {\n    pub of: HashMap<String, u8>,\n}",
        "pub struct Bag {\n    pub of: std::collections::HashMap<String, u8>,\n}\n",
        None,
    ),
    (
        "pub struct Bag {\n    pub of: std::fmt::Error,\n}",
        "pub struct Bag {\n    pub of: std::io::Error,\n}\n",
        "Bag.of",
    ),
)


def test_traits_and_generic_types_are_compared_by_what_they_take(runner: SandboxRunner) -> None:
    _assert_pairs_differ(runner, TAKEN)


MAKE = "macro_rules! make {{\n    ($name:ident) => {{\n        {}\n    }};\n}}\n\nmake!({});\n"
SHOWN = (
    "impl std::fmt::Display for $name {\n"
    "            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {\n"
    '                f.write_str("flag")\n            }\n        }'
)
TWICE = "pub fn twice(n: u8) -> u8;"
FLAG = "pub struct Flag(pub u8);\n"
MADE: Final = (
    (TWICE, MAKE.format("pub fn $name(n: u8) -> u8 { n * 2 }", "twice"), None),
    (f"{FLAG}impl std::fmt::Display for Flag {{}}", FLAG + MAKE.format(SHOWN, "Flag"), None),
    (
        f"{FLAG}impl Flag {{\n    pub fn bits(&self) -> u8;\n}}",
        MAKE.format("pub struct $name(pub u8); impl $name { pub fn bits(&self) -> u8 { 1 } }",
                    "\n    Flag\n"),
        None,
    ),
    # No probe says whether a type with named fields is there.
    ("pub struct Game {\n    pub word: String,\n}", MAKE.format("", "Game"), "Game"),
    (TWICE, 'pub fn half(n: u8) -> u8 {\n    println!("twice");\n    n / 2\n}\n', "twice"),
)  # fmt: skip


def test_what_a_macro_makes_is_not_missing(runner: SandboxRunner) -> None:
    _assert_pairs_differ(runner, MADE)


@pytest.mark.parametrize("body", ["", "pub fn thrice(n: u8) -> u8 { n }"])
def test_what_a_macro_is_only_given_is_missing(runner: SandboxRunner, body: str) -> None:
    assert _broken(runner, TWICE, MAKE.format(body, "twice")) == ["twice"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"src/lib.rs": ""}, "did not compile src/game.rs: no module has it"),
        (
            {"build.rs": "fn main() {\n    let x = 1;\n    panic!();\n}\n"},
            "did not compile src/game.rs",
        ),
        (
            {"Cargo.toml": CRATE["Cargo.toml"] + '[dependencies]\nserde = "1"\n'},
            "src/game.rs: error: no matching package named `serde`",
        ),
    ],
)
def test_what_the_compiler_did_not_get_to_is_not_taken_for_kept(
    runner: SandboxRunner, changed: dict[str, str], said: str
) -> None:
    assert RUST.conformance is not None
    stubs = [Interface(path="src/game.rs", stub="pub fn score(n: u8) -> u8;")]
    code = "pub fn score(n: u16) -> u16 {\n    n\n}\n"
    files = {**CRATE, **changed, "src/game.rs": code}
    with Tools(runner) as tools, pytest.raises(CheckerFailed) as refused:
        RUST.conformance.check_conformance(stubs, files, tools)
    assert said in refused.value.message


def test_what_depends_on_a_crate_with_a_contract_is_compared_as_well(
    runner: SandboxRunner,
) -> None:
    assert RUST.conformance is not None
    stubs = [
        Interface(
            path="src/game.rs",
            stub="use crate::gone::Gone;\n\npub fn score(n: u8) -> u8;\npub fn lost(n: Gone);",
        ),
        Interface(path="src/main.rs", stub="fn points(n: u8) -> u8;"),
    ]
    files = {
        **CRATE,
        # A probe that is no difference keeps nothing from being compared.
        "src/game.rs": "pub fn score(n: u8) -> u8 {\n    n\n}\n\npub fn lost(_: u8) {}\n",
        "src/main.rs": "fn points(n: u16) -> u8 {\n    my_play::game::score(n as u8)\n}\n\n"
        "fn main() {\n    points(1);\n}\n",
    }
    with Tools(runner) as tools:
        found = RUST.conformance.check_conformance(stubs, files, tools)
    assert [each.name for each in found] == ["points"]


@pytest.mark.parametrize("path", ["examples/show.rs", "tests/show.rs"])
def test_what_is_compiled_beside_a_crate_is_compared_as_well(
    runner: SandboxRunner, path: str
) -> None:
    assert RUST.conformance is not None
    code = "fn points(n: u16) -> u16 {\n    n\n}\n\nfn main() {\n    points(1);\n}\n"
    stubs = [Interface(path=path, stub="fn points(n: u8) -> u8;")]
    with Tools(runner) as tools:
        files = {**CRATE, "src/game.rs": "", path: code}
        found = RUST.conformance.check_conformance(stubs, files, tools)
    assert [each.name for each in found] == ["points"]


def weakness(test: str) -> str:
    """Return the code that is reported for a command that runs this file of tests alone."""
    order = Order({"src/game.rs": GAME}, {"tests/game.rs": test})
    command = analyse_command("cargo test --test game")
    weak = read(chain_of(order, repo=CRATE)).weakness(1, command)
    return weak.code if weak else ""


RESULT = "#[test]\nfn holds() -> Result<(), String> {{\n    {}\n}}\n"


@pytest.mark.parametrize(
    ("test", "code"),
    [
        (RESULT.format("run()"), ""),
        (RESULT.format('if a() {\n return Err("no".into());\n }\n    Ok(())'), ""),
        (RESULT.format("match a() { 1 => Ok(()), n => Err(n.to_string()) }"), ""),
        (RESULT.format("a();\n    Ok(()) // fine"), "W231"),
        (RESULT.format("a();\n    return Ok(());"), "W231"),
        (RESULT.format("a();\n    Ok::<(), String>(())"), "W231"),
        ("#[test]\nfn quiet() {\n    a()\n}\n", "W231"),
        ("#[inline]\nfn a() {}\n", "W232"),
        ("mod a;\n", ""),
        ("#[parameterized(n = {1, 2})]\nfn holds(n: u8) {\n    assert!(n > 0);\n}\n", ""),
        (
            "mod tests {\n    proptest! {\n        #[test]\n        fn a(x in 0..1) {}\n    }\n}\n",
            "",
        ),
        ("mod tests {\n    fn a() {}\n}\n", "W232"),
    ],
)
def test_tests_that_may_fail_are_told_from_those_that_cannot(test: str, code: str) -> None:
    assert weakness(test) == code


def test_calls_of_macros_among_the_items_are_found_whole() -> None:
    text = "one!(A);\n\nmacro_rules! own {\n    () => {};\n}\n\nmy::two! {\n    B\n}\nfn f() {\n}\n"
    assert macro_calls(text) == ("one!(A);", "my::two! {\n    B\n}")


def test_calls_of_macros_that_never_end_are_looked_for_in_linear_time() -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        assert macro_calls("/*\n" + "m!(\n" * count) == ()
        return time.process_time() - started

    small = max(min(seconds(2_000), seconds(2_000)), 0.01)
    assert seconds(32_000) < 80 * small
