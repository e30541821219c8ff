"""Definitions of JavaScript and TypeScript that are replaced and added by their names."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.capabilities import DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.registry import language_of

TYPED = """\
import { add } from './add.ts';

// Scores a guess.
export function score(guess: string): number {
  return add(guess.length, 0);
}

export default class Game {
  word: string = 'abc';

  /** Plays. */
  play(guess: string): boolean {
    return this.word === guess;
  }

  #secret(): void {}
}

export interface Player {
  name: string;
}

export const twice = (n: number): number => n * 2;
function hidden(): void {}
"""
SCRIPT = """\
'use strict';
const { one } = require('./one');

function score(guess) {
  return guess.length;
}

exports.twice = (n) => n * 2;
module.exports = { score };
"""


def result(
    path: str, text: str, name: str, code: str, *changes: str
) -> DefinitionEdit | EditRefused:
    language = language_of(path)
    assert language is not None and language.edits is not None
    (found,) = language.edits.edit_definitions(path, text, [NamedCode(name, code)], changes)
    return found


def edited(path: str, text: str, name: str, code: str, *changes: str) -> str:
    """Return the text with one definition edited."""
    found = result(path, text, name, code, *changes)
    assert isinstance(found, DefinitionEdit), found
    return applied(text, found.splices)


def applied(text: str, splices: tuple[Splice, ...]) -> str:
    parts, at = [], 0
    for each in sorted(splices, key=lambda each: (each.start, -each.depth)):
        parts += [text[at : each.start], each.text]
        at = each.end
    return "".join((*parts, text[at:]))


def lost(path: str, before: str, after: str, *changes: str) -> list[str]:
    language = language_of(path)
    assert language is not None and language.edits is not None
    return [each.name for each in language.edits.check_rewrite(path, before, after, changes)]


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        (
            "score",
            "export function score(guess: string): number {\n  return 2;\n}",
            "// Scores a guess.\nexport function score(guess: string): number {\n  return 2;\n}\n",
        ),
        (
            "score",
            "function score(guess: string): number {\n  return 3;\n}\n",
            "// Scores a guess.\nexport function score(guess: string): number {\n  return 3;\n}\n",
        ),
        (
            "Game.play",
            "play(guess: string): boolean {\n  return true;\n}",
            "  /** Plays. */\n  play(guess: string): boolean {\n    return true;\n  }\n\n  #secret",
        ),
        (
            "Game#play",
            "class Game {\n    play(guess: string): boolean {\n        return false;\n    }\n}",
            "  play(guess: string): boolean {\n      return false;\n  }\n\n  #secret",
        ),
        (
            "Player",
            "export interface Player {\n  name: string;\n  age: number;\n}",
            "}\n\nexport interface Player {\n  name: string;\n  age: number;\n}\n\nexport const",
        ),
        (
            "twice",
            "const twice = (n: number): number => n + n;",
            "export const twice = (n: number): number => n + n;\nfunction hidden",
        ),
        (
            "Game",
            "class Game {\n  play(): boolean {\n    return true;\n  }\n}",
            "export default class Game {\n  play(): boolean {\n    return true;\n  }\n}\n",
        ),
    ],
)
def test_a_definition_is_replaced_where_it_is_and_stays_exported(
    name: str, code: str, expected: str
) -> None:
    after = edited("src/game.ts", TYPED, name, code)
    assert expected in after
    assert lost("src/game.ts", TYPED, after) == []


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("score", "function score(guess) {\n  return 2;\n}", "\n\nfunction score(guess) {\n  ret"),
        ("score", "export function score(guess) {\n  return 2;\n}", "\n\nfunction score(guess)"),
        ("twice", "exports.twice = (n) => n + n;", "\n\nexports.twice = (n) => n + n;\nmodule"),
        ("exports.twice", "exports.twice = (n) => n + n;", "\nexports.twice = (n) => n + n;\nmod"),
    ],
)
def test_a_definition_of_a_script_is_replaced(name: str, code: str, expected: str) -> None:
    assert expected in edited("src/game.js", SCRIPT, name.rpartition(".")[2], code)


def test_a_method_is_added_to_its_class_and_a_function_at_the_end() -> None:
    after = edited("game.ts", TYPED, "Game.won", "won(): boolean {\n  return false;\n}")
    assert "\n  #secret(): void {}\n\n  won(): boolean {\n    return false;\n  }\n}\n" in after
    after = edited(
        "game.ts", TYPED, "half", "export function half(n: number): number {\n  return n / 2;\n}"
    )
    assert after.endswith("\n\nexport function half(n: number): number {\n  return n / 2;\n}\n")
    after = edited("game.ts", "class A {}\n", "A.b", "b(): void {\n  c();\n}")
    assert after == "class A {\n  b(): void {\n    c();\n  }\n}\n"


def test_what_the_code_imports_comes_with_it_once() -> None:
    code = (
        "import { add, sub } from './add.ts';\nimport fs from 'node:fs';\n\n"
        "export function score(guess: string): number {\n  return sub(guess.length, 0);\n}"
    )
    after = edited("game.ts", TYPED, "score", code)
    head = (
        "import { add } from './add.ts';\nimport { sub } from './add.ts';\n"
        "import fs from 'node:fs';\n\n// Scores"
    )
    assert after.startswith(head)
    code = "const { one, two } = require('./one');\nfunction score(guess) {\n  return two;\n}"
    after = edited("game.js", SCRIPT, "score", code)
    assert "require('./one');\nconst { two } = require('./one');\n\nfunction score" in after


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("score", "function score( {", "does not parse"),
        ("score it", "function score() {}", "is not a name"),
        ("score", "import fs from 'node:fs';", "defines no function"),
        ("score", "export function score(guess: string): number {\n  // ...\n}", "left out"),
        ("Other.play", "play(): void {}", "has no class `Other`"),
        ("score", "export function points(): number {\n  return 1;\n}", "the header names"),
        ("twice", "export const twice = (n: number): number => n * 2;", "changes nothing"),
    ],
)
def test_what_cannot_be_brought_in_is_refused(name: str, code: str, reason: str) -> None:
    refused = result("game.ts", TYPED, name, code)
    assert isinstance(refused, EditRefused), refused
    assert reason in refused.reason


def test_overloads_are_one_definition() -> None:
    text = (
        "export function f(a: string): string;\nexport function f(a: number): number;\n"
        "export function f(a: unknown): unknown {\n  return a;\n}\n"
    )
    assert edited("f.ts", text, "f", "export function f(a: string): string {\n  return a;\n}") == (
        "export function f(a: string): string {\n  return a;\n}\n"
    )


def test_definitions_are_outlined_with_their_lines_whatever_the_suffix() -> None:
    for suffix, text in (("ts", TYPED), ("tsx", f"{TYPED}const shown = () => <b>1</b>;\n")):
        language = language_of(f"game.{suffix}")
        assert language is not None and language.edits is not None
        found = {each.name: (each.first, each.last) for each in language.edits.outline(text)}
        assert found["score"] == (4, 6)
        assert found["Game"] == (8, 17)
        assert found["Game.play"] == (12, 14)
        assert {"Player", "twice", "hidden"} <= found.keys()


def test_the_definitions_in_some_lines_are_named() -> None:
    language = language_of("game.ts")
    assert language is not None and language.edits is not None
    names = language.edits.defined_names(TYPED)
    assert set(names) == {"score", "Game", "play", "Player", "twice", "hidden"}
    inner = "  if (a) {\n  }\n  test('x', () => {\n  });\n    const f = () => 1;\n"
    assert language.edits.defined_names(inner) == ()


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "names"),
    [
        ("game.ts", TYPED, "export function score", "export function points", ["score"]),
        ("game.ts", TYPED, "export function score", "function score", ["score"]),
        ("game.ts", TYPED, "play(", "plays(", ["Game.play"]),
        ("game.ts", TYPED, "#secret", "#hidden", []),
        ("game.ts", TYPED, "function hidden", "function other", []),
        ("game.ts", TYPED, "export const twice", "const double", ["twice"]),
        ("game.test.ts", TYPED, "export function score", "function score", []),
        ("game.js", SCRIPT, "exports.twice", "exports.double", ["twice"]),
        ("game.js", SCRIPT, "{ score }", "{}", ["score"]),
        ("game.mjs", "export { a, b } from './x.js';\n", "a, ", "", ["a"]),
        ("game.mjs", "export const a = 1;\n", "const a = 1;", "* from './x.js';", []),
    ],
)
def test_a_rewrite_that_loses_an_export_is_a_violation(
    path: str, text: str, old: str, new: str, names: list[str]
) -> None:
    after = text.replace(old, new)
    assert after != text
    assert lost(path, text, after) == names
    assert lost(path, text, after, *names) == []


_PIECES = st.lists(
    st.sampled_from(
        ["function ", "class ", "a", "b", "{", "}", "(", ")", "=>", "export ", "default ", "\n",
         "'", "`", "${", "=", ";", "import ", "from ", ":", "<", "/", "#", "é", "@x ", "static "]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(text=_PIECES, code=_PIECES, name=st.sampled_from(["a", "a.b", "a#b", "x y", "", "#a"]))
def test_any_text_is_edited_or_refused(text: str, code: str, name: str) -> None:
    for path in ("x.js", "x.ts", "x.tsx"):
        found = result(path, text, name, code)
        if isinstance(found, DefinitionEdit):
            places = sorted((each.start, each.end) for each in found.splices)
            assert all(first[1] <= second[0] for first, second in pairwise(places))
            assert all(0 <= start <= end <= len(text) for start, end in places)
        lost(path, text, code)


def test_the_text_of_a_class_that_goes_or_moves_does_not_count() -> None:
    methods = "".join(f"  m{n}() {{\n    return {n};\n  }}\n" for n in range(8))
    game = f"export class Game {{\n{methods}}}\n"
    rest = "".join(f"export const v{n} = {n};\n" for n in range(25))
    assert lost("a.js", f"{game}{rest}", rest, "Game") == []
    moved = 'import { Game } from "./game.js";\nexport { Game };\nexport const v0 = 0;\n'
    assert lost("a.js", f"{game}export const v0 = 0;\n", moved) == []
    assert lost("a.js", f"{game}{rest}", "export const v0 = 0;\n", "Game")[-1] == ""


@pytest.mark.parametrize(
    ("path", "text", "name", "code", "expected"),
    [
        # A decorated class stays decorated, and exported.
        (
            "a.ts",
            "@Component({a: 1})\nexport class A {\n  x() { return 1; }\n}\n",
            "A",
            "export class A {\n  x() { return 2; }\n}",
            "@Component({a: 1})\nexport class A {\n  x() { return 2; }\n}\n",
        ),
        (
            "a.ts",
            "class A {\n  @Input()\n  x() { return 1; }\n}\n",
            "A.x",
            "x() { return 2; }",
            "class A {\n  @Input()\n  x() { return 2; }\n}\n",
        ),
        # A comment of JSDoc comes with its function, and takes the place of the one before.
        (
            "a.js",
            "/**\n * Old.\n */\nfunction a() { return 1; }\n",
            "a",
            "/**\n * New.\n */\nfunction a() { return 2; }",
            "/**\n * New.\n */\nfunction a() { return 2; }\n",
        ),
        # A function takes the place of a variable, which it cannot stand beside.
        (
            "a.js",
            "export const add = curry((a, b) => a + b);\n",
            "add",
            "export function add(a, b) {\n  return a + b;\n}",
            "export function add(a, b) {\n  return a + b;\n}\n",
        ),
        (
            "a.ts",
            "export class Add {}\n",
            "Add",
            "export function Add(a: number) {\n  return a;\n}",
            "export function Add(a: number) {\n  return a;\n}\n",
        ),
        (
            "a.ts",
            "export interface Add {}\n",
            "Add",
            "export function Add(a: number) {\n  return a;\n}",
            "export interface Add {}\n\nexport function Add(a: number) {\n  return a;\n}\n",
        ),
        (
            "a.mjs",
            "export function a() { return 1; }\n",
            "a",
            'import c from "./c.json" with { type: "json" };\nexport function a() { return c; }',
            'import c from "./c.json" with { type: "json" };\nexport function a() { return c; }\n',
        ),
        (
            "a.ts",
            "export function a() { return 1; }\n",
            "a",
            'import fs = require("fs");\nexport function a() { return fs; }',
            'import fs = require("fs");\nexport function a() { return fs; }\n',
        ),
        # The text of a template is a value, however its method is indented.
        (
            "a.ts",
            "class A {\n  m() { return 1; }\n}\n",
            "A.m",
            "m() {\n  return `a\n b`;\n}",
            "class A {\n  m() {\n    return `a\n b`;\n  }\n}\n",
        ),
        # A statement keeps the semicolon without which it would go on in the next line.
        (
            "a.js",
            "const f = () => 1\n;[1].map(f)\n",
            "f",
            "const f = () => 2",
            "const f = () => 2\n;[1].map(f)\n",
        ),
        (
            "a.js",
            "const f = () => 1;\n[1].map(f)\n",
            "f",
            "const f = () => 2",
            "const f = () => 2;\n[1].map(f)\n",
        ),
        # What a script exports stays exported.
        (
            "a.js",
            "exports.f = function () { return 1; };\n",
            "f",
            "function f() { return 2; }",
            "exports.f = function f() { return 2; };\n",
        ),
        (
            "a.js",
            "exports.f = function () { return 1; };\n",
            "f",
            "const f = () => 2;",
            "exports.f = () => 2;\n",
        ),
        # The signatures of overloads stay where what they stand for is declared as before.
        (
            "a.ts",
            "export function f(a: string): string;\nexport function f(a: any) { return a; }\n",
            "f",
            "function f(a: any) { return 1; }",
            "export function f(a: string): string;\nexport function f(a: any) { return 1; }\n",
        ),
        (
            "a.js",
            "function a() {\r\n  return 1;\r\n}\r\n",
            "a",
            "function a() {\n  return 2;\n}",
            "function a() {\r\n  return 2;\r\n}\r\n",
        ),
    ],
)
def test_what_surrounds_a_definition_keeps_its_meaning(
    path: str, text: str, name: str, code: str, expected: str
) -> None:
    assert edited(path, text, name, code) == expected


@pytest.mark.parametrize(
    ("there", "wanted", "why"),
    [
        ('import { r } from "node:fs";', 'import { r } from "node:fs/promises";', "is from"),
        ('import type { r } from "./r";', 'import { r } from "./r";', "as a type alone"),
    ],
)
def test_a_name_that_the_file_has_from_elsewhere_is_refused(
    there: str, wanted: str, why: str
) -> None:
    code = f"{wanted}\nfunction a() {{ return r(); }}"
    found = result("a.ts", f"{there}\nfunction a() {{ return 1; }}\n", "a", code)
    assert isinstance(found, EditRefused) and why in found.reason and found.lines == (1,)


def test_the_same_module_by_another_spelling_is_no_other_source() -> None:
    text = 'import { r } from "./r.js";\nfunction a() { return 1; }\n'
    code = "import { r } from './r';\nfunction a() { return r(); }"
    assert edited("a.ts", text, "a", code) == text.replace("return 1", "return r()")


def test_names_and_fragments_of_any_length_are_read_at_once() -> None:
    language = language_of("a.js")
    assert language is not None and language.edits is not None
    found = result("a.js", "function a() {}\n", "async" + " " * 100_000 + "!", "function a() {}")
    assert isinstance(found, EditRefused)
    assert language.edits.defined_names("  a(" + ")" * 100_000) == ()


PAIR = """\
class Game {
  get left() { return this.n; }

  set left(n) { this.n = n; }

  static left() { return 0; }
}
"""


@pytest.mark.parametrize(
    ("text", "code", "old", "new"),
    [
        (PAIR, "get left() { return 1; }", "get left() { return this.n; }", None),
        (
            PAIR,
            "class Game {\n  set left(n) {}\n}",
            "set left(n) { this.n = n; }",
            "set left(n) {}",
        ),
        (PAIR, "static left() { return 2; }", "static left() { return 0; }", None),
        (PAIR.partition("\n\n")[0] + "\n}\n", "left() {}", "get left() { return this.n; }", None),
        (
            PAIR.partition("\n\n")[0] + "\n}\n",
            "set left(n) {}",
            "this.n; }",
            "this.n; }\n\n  set left(n) {}",
        ),
    ],
)
def test_getters_setters_and_what_is_static_are_told_apart(
    text: str, code: str, old: str, new: str | None
) -> None:
    assert text.count(old) == 1
    after = edited("a.js", text, "Game.left", code)
    assert after == text.replace(old, code if new is None else new)


def test_a_getter_and_its_setter_come_in_one_block() -> None:
    code = "get left() { return 1; }\n\nset left(n) { this.m = n; }"
    after = edited("a.js", PAIR, "Game.left", code)
    expected = PAIR.replace("return this.n", "return 1").replace("this.n = n", "this.m = n")
    assert after == expected


@pytest.mark.parametrize("form", ["export {{{}}};\n", "export var {};\n"])
def test_a_statement_with_thousands_of_names_is_held_once(form: str) -> None:
    text = form.format(", ".join(f"name{number}" for number in range(4_000))) + TYPED
    language = language_of("a.ts")
    assert language is not None and language.edits is not None
    tracemalloc.start()
    try:
        assert language.edits.outline(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 400 * len(text), "each name had the whole statement"
