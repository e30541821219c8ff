"""The same order in several languages: a word is scored, beside a function that exists already.

Each lies in a repo with one source file and one test of it. The plan brings its own tests along.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.planner.plans import creating, plan
from tests.real_tools import NODE_TOOLS, needs, needs_node_tools
from tests.shared.languages.ecmascript.plans import needs_tsc

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Story:
    """Hold a repo, a plan on it with a wrong call and without, and two proposals.

    `test` and `hollow` are tests of the plan as path, text and the command that runs the file. In
    the text of `test`, `{more}` stands where a call has one argument too many; `hollow` holds for
    code that does nothing. `idle` is a command that runs no test at all. `dropping` is code without
    the function `lost`, which the file has before, and `right` has both functions. A model that
    drops a declared name `is_asked_again` before its code is judged, in some languages.
    """

    files: Files
    source: str
    stub: str
    test: tuple[str, str, str]
    hollow: tuple[str, str, str]
    idle: str
    dropping: str
    right: str
    lost: str
    is_asked_again: bool = False
    folders: Mapping[str, Path] = field(default_factory=dict)

    def wrong_plan(self, more: str = ", 1") -> dict[str, Any]:
        """Return the plan whose test calls the function with too many arguments."""
        return self._plan(more, (self.test, self.hollow), (self.idle,))

    def right_plan(self) -> dict[str, Any]:
        """Return the plan without the wrong call and without the command that runs no test."""
        return self._plan("", (self.test, self.hollow))

    def _plan(
        self, more: str, tests: tuple[tuple[str, str, str], ...], commands: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        order = creating(
            1,
            self.source,
            title="Score a guess",
            intent="Count the letters that are in place, beside what the file has already.",
            context_files=[self.source],
            preconditions=[{"kind": "file_exists", "path": self.source}],
            interfaces=[{"path": self.source, "stub": self.stub}],
            acceptance_files=[
                {"path": path, "content": text.replace("{more}", more)} for path, text, _ in tests
            ],
            acceptance_commands=[*(command for _, _, command in tests), *commands],
        )
        return plan(order)


def _imports(source: str, names: str) -> str:
    return (
        "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n"
        f"import {{ {names} }} from '{source}';\n\n"
    )


def _node_test(source: str, call: str, value: str) -> str:
    return (
        f"{_imports(source, 'score')}"
        f"test('letters in place count', () => {{\n  assert.equal({call}, {value});\n}});\n"
    )


def _shout_test(source: str) -> str:
    return (
        f"{_imports(source, 'shout')}"
        "test('shouts', () => {\n  assert.equal(shout('a'), 'A');\n});\n"
    )


_SCORE_JS = (
    "export function score(guess{s}, answer{s}){n} {{\n"
    "  return [...guess].filter((letter, at) => letter === answer[at]).length;\n}}\n"
)
_SHOUT_JS = "export function shout(word{s}){s} {{\n  return word.toUpperCase();\n}}\n"
_STUB_JS = (
    "export function shout(word: string): string;\n"
    "export function score(guess: string, answer: string): number;\n"
)


def _javascript() -> Story:
    shout, score = (each.format(s="", n="") for each in (_SHOUT_JS, _SCORE_JS))
    source = "../src/words.js"
    manifest = {"name": "words", "type": "module", "scripts": {"test": "node --test"}}
    return Story(
        files={
            "package.json": json.dumps(manifest),
            "src/words.js": shout,
            "test/shout.test.js": _shout_test(source),
        },
        source="src/words.js",
        stub=_STUB_JS,
        test=(
            "test/score.test.js",
            _node_test(source, "score('abc', 'abd'{more})", "2"),
            "node --test test/score.test.js",
        ),
        hollow=(
            "test/none.test.js",
            _node_test(source, "score('ab', 'cd')", "0"),
            "node --test test/none.test.js",
        ),
        idle="node --test --test-name-pattern=nothing test/score.test.js",
        dropping=score,
        right=f"{shout}\n{score}",
        lost="shout",
    )


def _typescript() -> Story:
    shout, score = (each.format(s=": string", n=": number") for each in (_SHOUT_JS, _SCORE_JS))
    source = "../src/words.ts"
    given = json.loads((NODE_TOOLS.parent / "package.json").read_text())
    manifest = {
        **given,
        "type": "module",
        "scripts": {"test": "tsc && node --test build/test"},
    }
    options = {
        "module": "nodenext",
        "outDir": "build",
        "rootDir": ".",
        "types": [],
        "rewriteRelativeImportExtensions": True,
    }
    modules = "declare module 'node:test';\ndeclare module 'node:assert/strict';\n"
    run = "bash -c 'npx tsc && node --test build/test/{}.test.js'"
    return Story(
        files={
            "package.json": json.dumps(manifest),
            "package-lock.json": (NODE_TOOLS.parent / "package-lock.json").read_text(),
            "tsconfig.json": json.dumps({"compilerOptions": options, "include": ["src", "test"]}),
            ".gitignore": "node_modules/\nbuild/\n",
            "src/modules.d.ts": modules,
            "src/words.ts": shout,
            "test/shout.test.ts": _shout_test(source),
        },
        source="src/words.ts",
        stub=_STUB_JS,
        test=(
            "test/score.test.ts",
            _node_test(source, "score('abc', 'abd'{more})", "2"),
            run.format("score"),
        ),
        hollow=(
            "test/none.test.ts",
            _node_test(source, "score('ab', 'cd')", "0"),
            run.format("none"),
        ),
        idle="node --test --test-name-pattern=nothing test/score.test.ts",
        dropping=score,
        right=f"{shout}\n{score}",
        lost="shout",
        folders={"node_modules": NODE_TOOLS},
    )


def _go_test(name: str, call: str, value: str) -> str:
    return (
        f'package words\n\nimport "testing"\n\nfunc {name}(t *testing.T) {{\n'
        f"\tif {call} != {value} {{\n\t\tt.Fatal({call})\n\t}}\n}}\n"
    )


def _go() -> Story:
    head = 'package words\n\nimport "strings"\n\n'
    shout = "func Shout(word string) string {\n\treturn strings.ToUpper(word)\n}\n"
    score = (
        "func Score(guess, answer string) int {\n\tcount := 0\n\tfor at := range guess {\n"
        "\t\tif at < len(answer) && guess[at] == answer[at] {\n\t\t\tcount++\n\t\t}\n\t}\n"
        "\treturn count\n}\n"
    )
    return Story(
        files={
            "go.mod": "module example.org/words\n\ngo 1.19\n",
            "words.go": head + shout,
            "words_test.go": _go_test("TestShout", 'Shout("a")', '"A"'),
        },
        source="words.go",
        stub=(
            "package words\n\nfunc Shout(word string) string\n\n"
            "func Score(guess, answer string) int\n"
        ),
        test=(
            "score_test.go",
            _go_test("TestScore", 'Score("abc", "abd"{more})', "2"),
            "go test -run TestScore .",
        ),
        hollow=(
            "none_test.go",
            _go_test("TestNoLetter", 'Score("ab", "cd")', "0"),
            "go test -run TestNoLetter .",
        ),
        idle="go test -run TestNone .",
        dropping=f"package words\n\n{score}",
        right=f"{head}{shout}\n{score}",
        lost="Shout",
        is_asked_again=True,
    )


def _rust_test(name: str, call: str, value: str) -> str:
    return f"use words::score;\n\n#[test]\nfn {name}() {{\n    assert_eq!({call}, {value});\n}}\n"


def _rust() -> Story:
    shout = "pub fn shout(word: &str) -> String {\n    word.to_uppercase()\n}\n"
    score = (
        "pub fn score(guess: &str, answer: &str) -> usize {\n"
        "    guess\n        .chars()\n        .zip(answer.chars())\n"
        "        .filter(|(a, b)| a == b)\n        .count()\n}\n"
    )
    package = '[package]\nname = "words"\nversion = "0.1.0"\n'
    lock = package.replace("[package]", "[[package]]")
    shouts = '#[test]\nfn shouts() {\n    assert_eq!(words::shout("a"), "A");\n}\n'
    return Story(
        files={
            "Cargo.toml": f'{package}edition = "2021"\n',
            "Cargo.lock": f"version = 3\n\n{lock}",
            ".gitignore": "target/\n",
            "src/lib.rs": shout,
            "tests/shout.rs": shouts,
        },
        source="src/lib.rs",
        stub=(
            "pub fn shout(word: &str) -> String;\n"
            "pub fn score(guess: &str, answer: &str) -> usize;\n"
        ),
        test=(
            "tests/score.rs",
            _rust_test("counts", 'score("abc", "abd"{more})', "2"),
            "cargo test --test score",
        ),
        hollow=(
            "tests/none.rs",
            _rust_test("no_letter", 'score("ab", "cd")', "0"),
            "cargo test --test none",
        ),
        idle="cargo test --test score nothing::here",
        dropping=score,
        right=f"{shout}\n{score}",
        lost="shout",
        is_asked_again=True,
    )


STORIES = [
    pytest.param(_javascript, id="javascript", marks=[needs("node", "npm"), needs_tsc]),
    pytest.param(
        _typescript,
        id="typescript",
        marks=[needs("node", "npm"), needs_tsc, needs_node_tools()],
    ),
    pytest.param(_go, id="go", marks=needs("go")),
    pytest.param(_rust, id="rust", marks=needs("cargo", "rustc")),
]
