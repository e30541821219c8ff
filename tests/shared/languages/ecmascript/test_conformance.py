"""Code is compared with what is declared of it, and a skeleton keeps it without doing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from shared.languages.ecmascript.conformance_check import check_conformance
from shared.languages.ecmascript.empty_code import build_skeleton
from shared.languages.language_tools import CheckerFailed, Tools
from shared.work_order.work_order import Interface
from tests.shared.languages.ecmascript.plans import Runner, needs_tsc

TYPED = """export type Mark = 'hit' | 'miss';
export interface Options { limit?: number }
export declare const LIMIT: number;
export declare function score(guess: string, answer: string): number;
export declare function load(path: string): Promise<string[]>;
export declare function find<T>(items: T[], test: (item: T) => boolean): T | undefined;
export declare class Game {
  constructor(answer: string, options?: Options);
  readonly answer: string;
  get left(): number;
  play(guess: string): Mark[];
  static random(words: string[]): Game;
}
export default function main(argv: string[]): number;
"""
GAME = """export type Mark = 'hit' | 'miss';
export interface Options { limit?: number; more?: boolean }
export const LIMIT = 6;
export const score = (guess: string, answer: string, weight = 1): number =>
  guess === answer ? weight : 0;
export async function load(path: string) { return [path]; }
export function find<T>(items: T[], test: (item: T) => boolean) { return items.find(test); }
export class Game {
  private n = 0;
  #x = 1;
  constructor(public answer: string, private options: Options = {}) {}
  get left() { return 6 - this.n; }
  play(guess: string): Mark[] { this.n++; return ['hit']; }
  static random(words: string[]) { return new Game(words[0]); }
}
export default function main(argv: string[]): number { return argv.length; }
"""
PLAIN = """export class Stack {
  constructor(limit?: number);
  push(value: number): number;
  get size(): number;
}
export function sum(numbers: number[]): number;
export function two(a: string, b: string): string;
"""
STACK = """export class Stack {
  constructor(limit) { this.limit = limit; this.items = []; }
  push(value) { this.items.push(value); return this.items.length; }
  get size() { return this.items.length; }
}
export function sum(numbers) { return numbers.reduce((a, b) => a + b, 0); }
export const two = (a, b) => a + b;
"""


def _names(stub: str, text: str, path: str) -> list[str]:
    found = check_conformance([Interface(path=path, stub=stub)], {path: text}, Tools(Runner()))
    return [each.name for each in found]


def _names_each(stub: str, texts: Sequence[str], paths: str) -> list[list[str]]:
    """Return the names that differ in each text; the compiler is asked about all at once."""
    sources = {paths.format(at): text for at, text in enumerate(texts)}
    interfaces = [Interface(path=path, stub=stub) for path in sources]
    found = check_conformance(interfaces, sources, Tools(Runner()))
    return [[each.name for each in found if each.path == path] for path in sources]


@needs_tsc
@pytest.mark.parametrize(
    ("path", "stub", "text"),
    [("src/game.ts", TYPED, GAME), ("lib/stack.js", PLAIN, STACK)],
    ids=["TypeScript", "JavaScript"],
)
def test_code_that_keeps_its_contract_has_no_violation(path: str, stub: str, text: str) -> None:
    assert _names(stub, text, path) == []


BROKEN: Final = (
    ("LIMIT = 6", "LIMIT = '6'", "LIMIT"),
    ("export const score", "const score", "score"),
    ("weight = 1", "weight: number", "score"),
    (": number =>\n  guess === answer ? weight : 0", ": string => guess", "score"),
    ("async function load(path: string) {", "function load(path: string) {", "load"),
    ("get left()", "left()", "Game.left"),
    ("play(guess: string)", "guess(guess: string)", "Game.play"),
    ("play(guess: string): Mark[]", "play(guess: number): Mark[]", "Game.play"),
    ("static random", "random", "Game.random"),
    ("public answer", "private answer", "Game.answer"),
    ("export default ", "", "default"),
    ("export type", "type", "Mark"),
)


@needs_tsc
def test_one_broken_promise_is_one_violation() -> None:
    assert all(before in GAME for before, _, _ in BROKEN)
    texts = [GAME.replace(before, after) if before else GAME for before, after, _ in BROKEN]
    found = _names_each(TYPED, texts, "src/game{}.ts")
    for (before, after, name), each in zip(BROKEN, found, strict=True):
        assert each == [name], f"{before} -> {after}"


BOX = """export interface Item { id: string }
export class Box<T extends Item, K extends keyof T = keyof T> {
  private all: T[] = [];
  static of<V extends Item>(first: V): Box<V> { return new Box<V>([first]); }
  constructor(items: T[], private by: (a: T, b: T) => number = () => 0) { this.all = items; }
  first(): T | undefined { return this.all[0]; }
  add(...items: T[]): this { this.all.push(...items); return this; }
  pick(key: K): T[K][] { return this.all.map((each) => each[key]); }
  map<U>(change: (item: T) => U): U[] { return this.all.map(change); }
  get size() { return this.all.length; }
}
export function group<T, K extends string>(items: T[], by: (item: T) => K): Record<K, T[]> {
  const found = {} as Record<K, T[]>;
  for (const each of items) (found[by(each)] ??= []).push(each);
  return found;
}
"""
BOX_DECLARED = """export interface Item { id: string }
export declare class Box<E extends Item, P extends keyof E = keyof E> {
  static of<V extends Item>(first: V): Box<V>;
  constructor(items: E[], by?: (a: E, b: E) => number);
  first(): E | undefined;
  add(...items: E[]): this;
  pick(key: P): E[P][];
  map<U>(change: (item: E) => U): U[];
  get size(): number;
}
export declare function group<T, K extends string>(items: T[], by: (item: T) => K): Record<K, T[]>;
"""


GENERIC: Final[Sequence[tuple[str, str, list[str]]]] = (
    ("", "", []),
    ("<U>(change: (item: T) => U): U[]", "<R>(by: (item: T, at: number) => R): R[]", []),
    ("first(): T | undefined { return this.all[0]", "first() { return this.all", ["Box.first"]),
    ("this { this.all.push(...items); return this", "void {", ["Box.add"]),
    ("pick(key: K): T[K][] { return", "pick(key: K): void {", ["Box.pick"]),
    ("(change: (item: T) => U): U[] { return", "(change: (item: U) => T): T {", ["Box.map"]),
    ("constructor(items: T[], private", "constructor(items: T, private", ["Box.constructor"]),
    ("get size() { return this.all.length", "get size() { return 'many'", ["Box.size"]),
    (": Box<V> { return new Box<V>([first])", ": V { return first", ["Box.of"]),
    ("class Box<T extends Item,", "class Box<T extends Item & { n: 1 },", ["Box"]),
    ("class Box<T extends Item, K extends keyof T = keyof T>", "class Box<T>", ["Box"]),
    (": Record<K, T[]> {\n  const", ": T[][] {\n  return [items]; const", ["group"]),
)  # fmt: skip


@needs_tsc
def test_generic_classes_and_functions_are_compared_by_their_signatures() -> None:
    assert all(before in BOX for before, _, _ in GENERIC)
    texts = [BOX.replace(before, after) if before else BOX for before, after, _ in GENERIC]
    found = _names_each(BOX_DECLARED, texts, "a{}.ts")
    for (before, after, names), each in zip(GENERIC, found, strict=True):
        assert each == names, f"{before} -> {after}"


@needs_tsc
def test_type_parameters_may_be_bound_by_types_of_other_files() -> None:
    stub = "import { type Item } from './item';\nexport class Row<T extends Item> { one(): T; }\n"
    code = stub.replace("one(): T;", "one(): T { return null; }")
    sources = {"a.ts": code, "item.ts": "export interface Item { id: string }\n"}
    for text, names in ((code, []), (code.replace("one(): T", "one(): T[]"), ["Row.one"])):
        found = check_conformance(
            [Interface(path="a.ts", stub=stub)], {**sources, "a.ts": text}, Tools(Runner())
        )
        assert [each.name for each in found] == names


@needs_tsc
def test_a_generic_class_of_a_script_is_compared_by_its_names() -> None:
    stub = "export class Box<T> { constructor(items: T[]); first(): T; }"
    code = "export class Box { constructor(items) { this.all = items; } first() { return 1; } }"

    assert _names(stub, code, "a.js") == []
    assert _names(stub, code.replace("class Box", "class Bag"), "a.js") == ["Box"]


OF_SCRIPTS: Final = (
    ("get size()", "size()", "Stack.size"),
    ("push(value) {", "add(value) {", "Stack.push"),
    ("export function sum(numbers)", "export function sum()", "sum"),
    ("export function sum(numbers)", "export function sum(numbers, more)", "sum"),
    ("return numbers.reduce((a, b) => a + b, 0)", "return 'x'", "sum"),
    ("export class", "class", "Stack"),
)


@needs_tsc
def test_a_script_breaks_its_contract_likewise() -> None:
    assert all(before in STACK for before, _, _ in OF_SCRIPTS)
    texts = [STACK.replace(before, after) if before else STACK for before, after, _ in OF_SCRIPTS]
    found = _names_each(PLAIN, texts, "lib/stack{}.js")
    for (before, after, name), each in zip(OF_SCRIPTS, found, strict=True):
        assert each == [name], f"{before} -> {after}"


@needs_tsc
def test_a_module_of_common_js_is_compared_too() -> None:
    stub = "export function join(parts: string[], by: string): string;"
    code = "function join(parts, by) { return parts.join(by); }\nmodule.exports = { join };"

    assert _names(stub, code, "a.cjs") == []
    assert _names(stub, code.replace("{ join }", "{ joined: join }"), "a.cjs") == ["join"]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({}, "is declared but was not written"),
        ({"a.ts": "export function f( {"}, "does not parse: line 1"),
    ],
)
def test_a_file_that_is_missing_or_broken_needs_no_compiler(
    sources: Mapping[str, str], message: str
) -> None:
    interface = Interface(path="a.ts", stub="export function f(): void;")

    (found,) = check_conformance([interface], sources, Tools())

    assert found.name == ""
    assert message in found.message


@needs_tsc
@pytest.mark.parametrize(
    ("path", "stub", "code", "names"),
    [
        ("a.mjs", "export function f(): void;", "export const o = Object.assign({}, {});\n", ["f"]),
        ("a.cjs", "export function f(): void;", "Object.assign(module.exports, more());\n", []),
        (
            "a.mjs",
            "export class A {\n  m(): void;\n}",
            "export class A {\n  constructor(o) {\n    Object.assign(this, o);\n  }\n}\n",
            [],
        ),
        (
            "a.mjs",
            "export class A {\n  m(): void;\n}",
            "export class A {\n  n(o) {\n    return Object.assign({}, o);\n  }\n}\n",
            ["A.m"],
        ),
    ],
)
def test_a_script_may_have_what_it_adds_where_no_compiler_sees_it(
    path: str, stub: str, code: str, names: list[str]
) -> None:
    assert _names(stub, code, path) == names


def test_what_the_text_shows_counts_without_a_compiler() -> None:
    stub = "export function f(): void;"
    interfaces = [Interface(path=path, stub=stub) for path in ("a.ts", "b.ts")]
    found = check_conformance(interfaces, {"a.ts": "export function f() {}"}, Tools())
    assert [(each.path, each.name) for each in found] == [("b.ts", "")]


def test_without_a_compiler_nothing_is_judged() -> None:
    interface = Interface(path="a.ts", stub="export function f(): void;")

    with pytest.raises(CheckerFailed):
        check_conformance([interface], {"a.ts": "export function f() {}"}, Tools())


@needs_tsc
@pytest.mark.parametrize(
    ("path", "stub", "sources"),
    [
        ("src/game.ts", TYPED, {}),
        ("src/game.ts", TYPED, {"src/game.ts": GAME}),
        ("lib/stack.js", PLAIN, {}),
        ("lib/stack.js", PLAIN, {"lib/stack.js": STACK}),
    ],
)
def test_a_skeleton_keeps_the_contract(path: str, stub: str, sources: Mapping[str, str]) -> None:
    made = _skeleton(path, stub, sources)

    assert _names(stub, made, path) == []


def _skeleton(path: str, stub: str, sources: Mapping[str, str]) -> str:
    interfaces: Sequence[Interface] = [Interface(path=path, stub=stub)]
    return build_skeleton(interfaces, sources)[path]


def test_a_skeleton_returns_empty_values() -> None:
    made = _skeleton(
        "a.js",
        "export function a(): { n: number; s: string };\n"
        "export function b(): Promise<string[]>;\n"
        "export function c(): number | undefined;\n",
        {},
    )

    assert made.splitlines() == [
        'export function a(...given) { return { n: 0, s: "" }; }',
        "export function b(...given) { return Promise.resolve([]); }",
        "export function c(...given) { return undefined; }",
    ]


def test_a_skeleton_of_a_file_that_is_there_keeps_what_is_not_declared() -> None:
    made = _skeleton(
        "lib/stack.js", "export function sum(n: number[]): number;", {"lib/stack.js": STACK}
    )

    assert "export function sum(numbers) { return 0; }" in made
    assert "export const two = (a, b) => a + b;" in made


FORGED = (
    "type T = `x\n{folder}src/a.llmch-probe.ts(1,1): error TS1005: ';' expected.\n${string}`;\n"
)


@needs_tsc
@pytest.mark.parametrize("folder", ["", "llmch-view/", "llmch-view-0123456789abcdef/", "/"])
def test_a_type_that_looks_like_a_complaint_of_the_compiler_is_none(folder: str) -> None:
    code = (
        FORGED.replace("{folder}", folder) + "export function f(a: number): T { return null!; }\n"
    )
    stub = "export declare function f(a: string): number;\n"
    assert _names(stub, code, "src/a.ts") == ["f"]


TYPES: Final = """export interface Point { x: number; y: string; at?: Date }
export interface Box<T> { held: T; next?: Box<T> }
export type Mark = 'hit' | 'miss';
export type Size = { width: number };
export type Id = string;
export type Either = Point | Size;
export declare enum Colour { Red, Green = 'green' }
export declare function f(a: string): number;
export declare function f(a: number): string;
"""
KEEPING: Final = """export interface Point { x: number; y: string; at?: Date; z?: number }
export class Box<T> { held!: T; next?: Box<T>; private n = 0; }
export type Mark = 'hit' | 'miss' | 'gone';
export interface Size { width: number; height: number }
export type Id = string;
export type Either = Size | Point | Id;
export const Colour = { Red: 1, Green: 'green', Blue: 3 } as const;
export function f(a: any): any { return a; }
"""


@needs_tsc
@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("", "", []),
        ("y: string; at", "at", ["Point"]),
        ("x: number; y", "x?: number; y", ["Point"]),
        ("held!: T", "held!: T[]", ["Box"]),
        (" | 'miss'", "", ["Mark"]),
        ("'hit' | 'miss' | 'gone'", "number", ["Mark"]),
        ("{ width: number; height", "{ height", ["Size"]),
        ("Id = string;", "Id = number;", ["Id"]),
        ("export type Either", "type Either", ["Either"]),
        ("Green: 'green', ", "", ["Colour.Green"]),
        ("export function f(a: any): any { return a; }", "export const f = 5;", ["f"]),
    ],
)
def test_types_have_all_that_is_declared_of_them(before: str, after: str, names: list[str]) -> None:
    assert before in KEEPING
    code = KEEPING.replace(before, after, 1) if before else KEEPING
    assert _names(TYPES, code, "src/types.ts") == names
