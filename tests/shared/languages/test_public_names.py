"""The public names of files in languages that are outlined and not judged."""

import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.languages.declared import declarations
from shared.languages.registry import LANGUAGES, language_of


def names_of(path: str, source: str) -> str | None:
    """Return the lines of the outline, joined."""
    language = language_of(path)
    assert language is not None
    lines = language.outliner.public_names(path, textwrap.dedent(source))
    return None if lines is None else "\n".join(lines)


def listed(lines: str) -> str:
    return textwrap.dedent(lines).strip("\n")


def test_every_language_has_outlines_and_no_suffix_belongs_to_two() -> None:
    suffixes = [suffix for each in LANGUAGES for suffix in each.outliner.outlined]
    assert len(suffixes) == len(set(suffixes))
    assert language_of("README.md") is None


# TypeScript


def test_typescript_shows_exports_with_their_types() -> None:
    source = """
        import { Base } from "./base";
        export const total = (items: Item[], tax = 0): number => { return 1; };
        export const LIMIT = 10, NAME: string = "cart";
        export type Id = string | number;
        export enum Kind { A, B = 2 }
        export function over(a: string): void;
        export function over(a: unknown) { return; }
        export * from "./other";
        export { a, b as c } from "./more";
        function hidden() {}
    """
    assert names_of("a.ts", source) == listed("""
        export const total = (items: Item[], tax = 0): number => ...
        export const LIMIT = 10
        export const NAME: string = "cart"
        export type Id = string | number
        export enum Kind { A, B = 2 }
        export function over(a: string): void
        export function over(a: unknown)
        export * from "./other"
        export { a, b as c } from "./more"
    """)


def test_typescript_shows_the_members_of_types_that_others_may_use() -> None:
    source = """
        export default class Cart<T extends Item> extends Base implements Store {
            readonly items: T[] = [];
            private secret = 1;
            #hidden = 2;
            _old = 3;
            constructor(private readonly size: number) { super(); }
            static make(n: number): Cart<Item> { return new Cart(n); }
            async add(item: T, count?: number): Promise<void> {}
        }
        export interface Store { readonly id: string; find(id: string): Item | undefined }
        export abstract class Shape { abstract area(): number; protected side: number; }
        export namespace Text { export function trim(s: string): string { return s; } }
    """
    assert names_of("a.ts", source) == listed("""
        export default class Cart<T extends Item> extends Base implements Store {
            readonly items: T[] = []
            constructor(private readonly size: number)
            static make(n: number): Cart<Item>
            async add(item: T, count?: number): Promise<void>
        }
        export interface Store {
            readonly id: string
            find(id: string): Item | undefined
        }
        export abstract class Shape {
            abstract area(): number
            protected side: number
        }
        export namespace Text {
            function trim(s: string): string
        }
    """)


def test_names_that_are_exported_apart_are_shown_with_their_declarations() -> None:
    source = """
        class Local { run(): void {} }
        function helper(a: number): string { return ""; }
        const LIMIT = 1, unused = 2;
        export { Local, helper as aid, LIMIT, unknown };
    """
    assert names_of("a.ts", source) == listed("""
        export class Local {
            run(): void
        }
        export { helper as aid }
        function helper(a: number): string
        export const LIMIT = 1
        export { unknown }
    """)


def test_a_declaration_file_shows_what_it_declares() -> None:
    source = """
        declare module "zip" { export function zip(path: string): void; }
        declare global { interface Window { cart: string } }
        declare const VERSION: string;
    """
    assert names_of("types.d.ts", source) == listed("""
        declare module "zip" {
            function zip(path: string): void
        }
        declare global {
            interface Window {
                cart: string
            }
        }
        declare const VERSION: string
    """)


def test_tags_are_read_where_the_suffix_says_so() -> None:
    source = "export const Box = (props: Props) => <div>{props.text}</div>;\n"
    assert names_of("a.tsx", source) == "export const Box = (props: Props) => ..."
    assert names_of("a.jsx", "export default () => <p/>;") == "export default () => ..."


# JavaScript


def test_a_commonjs_module_shows_what_it_exports() -> None:
    source = """
        const fs = require("fs");
        class Cart { constructor(tax) {} add(item, { count } = {}) {} #sum() {} static limit = 1 }
        function total(cart) { return 1; }
        const join = async (a, b) => a + b;
        module.exports = { Cart, total, join, zero: 0, clear(cart) {}, ...fs };
        exports.late = function (n) {};
        module.exports.parse = require("./parse");
        other.thing = 1;
    """
    assert names_of("a.js", source) == listed("""
        exports.Cart = class Cart {
            constructor(tax)
            add(item, { count } = {})
            static limit = 1
        }
        exports.total = function total(cart)
        exports.join = async (a, b) => ...
        exports.zero = 0
        exports.clear(cart)
        exports { ...fs }
        exports.late = function (n)
        exports.parse = require("./parse")
    """)


def test_a_module_that_is_one_function_shows_it() -> None:
    source = "function leftPad(text, width) {}\nexports = module.exports = leftPad;\n"
    assert names_of("index.cjs", source) == "exports = function leftPad(text, width)"


def test_code_that_a_tool_made_small_is_not_shown() -> None:
    assert names_of("jquery.min.js", "export const a = 1") == ""


# Go


def test_go_shows_names_with_an_upper_case_letter() -> None:
    source = """
        package cart

        import "errors"

        // Cart holds items.
        type Cart struct {
            Items []Item `json:"items"`
            total int
            Base
        }
        type (
            Store interface {
                Find(id string) (Item, error)
            }
            Handler func(int) string
            local   = string
        )
        const (
            First = iota
            second
        )
        var ErrEmpty = errors.New("empty")
        var Left, right int

        func New[T any](items ...T) (*Cart, error) { return nil, nil }
        func (c *Cart) Add(item Item) int { return 1 }
        func (c cart) Hidden() {}
        func helper() {}
    """
    assert names_of("cart.go", source) == listed("""
        package cart
        type Cart struct {
            Items []Item
            Base
        }
        type Store interface {
            Find(id string) (Item, error)
        }
        type Handler func(int) string
        const First = iota
        var ErrEmpty = errors.New("empty")
        var Left int
        func New[T any](items ...T) (*Cart, error)
        func (c *Cart) Add(item Item) int
    """)


def test_go_shows_nothing_of_tests_and_of_programs_without_exports() -> None:
    assert names_of("cart_test.go", "package cart\nfunc TestAdd(t *testing.T) {}\n") == ""
    assert names_of("main.go", "package main\nfunc main() {}\n") == ""


# Rust


def test_rust_shows_what_is_public() -> None:
    source = """
        use std::fmt;
        pub use crate::item::{Item, Kind};
        /// A cart.
        #[derive(Debug, Clone)]
        #[repr(C)]
        pub struct Cart<T: Copy> where T: Ord { pub items: Vec<T>, total: u8 }
        pub struct Id(pub u32);
        pub(crate) fn inner(a: u8) -> u8 { a }
        pub enum Shape { Dot, Line(u8), Box { side: u8 } }
        pub trait Area: Sized { const SIDES: u8; type Unit; fn area(&self) -> u8; fn zero() {} }
        impl<T: Copy> Cart<T> { pub fn new() -> Self { todo!() } fn hidden(&self) {} }
        impl fmt::Display for Id { fn fmt(&self) {} }
        pub mod text { pub fn trim() {} fn hidden() {} }
        #[macro_export]
        macro_rules! cart { () => {} }
        pub const LIMIT: u8 = 1;
        pub async fn load<'a>(path: &'a str) -> Result<(), Error> { Ok(()) }
        #[cfg(test)]
        pub mod tests { pub fn helper() {} }
        fn main() {}
    """
    assert names_of("lib.rs", source) == listed("""
        pub use crate::item::{Item, Kind};
        #[derive(Debug, Clone)]
        pub struct Cart<T: Copy> where T: Ord {
            pub items: Vec<T>
        }
        pub struct Id(pub u32);
        pub(crate) fn inner(a: u8) -> u8;
        pub enum Shape {
            Dot
            Line(u8)
            Box { side: u8 }
        }
        pub trait Area: Sized {
            const SIDES: u8;
            type Unit;
            fn area(&self) -> u8;
            fn zero();
        }
        impl<T: Copy> Cart<T> {
            pub fn new() -> Self;
        }
        impl fmt::Display for Id
        pub mod text {
            pub fn trim();
        }
        macro_rules! cart
        pub const LIMIT: u8 = 1;
        pub async fn load<'a>(path: &'a str) -> Result<(), Error>;
    """)


# All of them, and hostile files

PATHS = ("a.ts", "a.tsx", "a.js", "a.go", "a.rs")


@pytest.mark.parametrize("path", PATHS)
def test_declarations_that_are_whole_are_shown_beside_a_fault(path: str) -> None:
    good = {
        "a.go": "package a\nfunc Good() {}\n",
        "a.rs": "pub fn good() {}\n",
    }.get(path, "export function good() {}\n")
    assert "good" in (names_of(path, good + "\n@@@ ((( nonsense\n") or "").lower()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "source",
    ["(" * 100_000, "{" * 100_000, "\0" * 1_000, "\udc80", "@@@ ((( nonsense"],
    ids=["parentheses", "braces", "nul", "surrogate", "nonsense"],
)
def test_what_is_not_code_has_no_outline(path: str, source: str) -> None:
    assert names_of(path, source) is None


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.ts", "export namespace A {" * 5_000),
        ("a.ts", "declare " * 10_000),
        ("a.rs", "pub mod a {" * 10_000),
        ("a.go", "type A struct {" * 5_000),
        ("a.js", "export {" * 5_000),
    ],
)
def test_deep_nesting_ends_well(path: str, source: str) -> None:
    names_of(path, source)


def test_reading_is_given_up_where_it_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "seconds_for", lambda text: 0.05)
    assert names_of("a.rs", '"' * 200_000) is None
    assert names_of("a.rs", "pub fn good() {}") == "pub fn good();"


def test_a_large_class_under_many_names_is_shown_once() -> None:
    source = "class A {" + "m() {}\n" * 2_000 + "}\n" + "export { A as B };\n" * 2_000
    assert (names_of("a.js", source) or "").count("    m()") == 2_000


def test_a_long_declaration_is_cut_and_stays_on_one_line() -> None:
    parameters = ",\n".join(f"parameter{i}: string" for i in range(100))
    line = names_of("a.ts", f"export function f({parameters}) {{}}")
    assert line is not None
    assert line.startswith("export function f(parameter0: string, parameter1: string")
    assert len(line) == declarations.MAX_LINE
    assert line.endswith(" ...")


def test_characters_that_a_terminal_obeys_are_not_passed_on() -> None:
    assert names_of("a.js", "export const a = '\x1b[2J';") == "export const a = ' [2J'"


pieces = st.sampled_from(
    (
        *("export ", "default ", "class A ", "{", "}", "(", ")", "function f", "const a", "="),
        *(";", "\n", "pub ", "fn f", "impl ", "mod m", "struct S", "enum E", "trait T", "#[a]"),
        *("for ", ",", "package a\n", "func F", "type T ", "interface ", "var V", "exports.a"),
        *("module.exports", "namespace N", "declare ", "global ", "=>", ":", "<", ">", "é"),
        *("😀", "\0", "`", chr(34), chr(39)),
    )
)


@settings(max_examples=200, deadline=None)
@given(path=st.sampled_from(PATHS), parts=st.lists(pieces, max_size=30))
def test_any_text_is_outlined_or_not(path: str, parts: list[str]) -> None:
    lines = names_of(path, "".join(parts))
    assert lines is None or lines.replace("\n", "").isprintable()


def test_a_python_outline_imports_no_grammar() -> None:
    code = """if True:
        import sys
        from shared.languages.registry import language_of
        python, go = language_of("a.py").outliner, language_of("a.go").outliner
        assert python.public_names("a.py", "def f(): ...") == ("def f(): ...",)
        assert not [name for name in sys.modules if name.startswith("tree_sitter")]
        go.public_names("a.go", "package a")
        assert [name for name in sys.modules if name.startswith("tree_sitter")]
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
