"""Cases of a plan are added to the table of a test, and nothing else of the file changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.appended_tests import CannotAppend, append_test, holds_test

PYTHON = """import pytest

SHARED = [1, 2]


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1, "one"),  # the first
        (2, "two"),
    ],
)
def test_word(number: int, word: str) -> None:
    assert word


@pytest.mark.parametrize("number", SHARED)
def test_shared(number: int) -> None:
    assert number


class TestIt:
    @pytest.mark.parametrize("ä", ["ö"])
    @pytest.mark.parametrize(argnames="b", argvalues=("c", "d"))
    def test_pairs(self, ä: str, b: str) -> None:
        assert ä
"""
GO = """package game

import "testing"

var shared = []string{"a"}

func TestWord(t *testing.T) {
	args := []string{"x", "y"}
	tests := []struct {
		number int
		words  []string
	}{
		{1, []string{"one"}},
		{number: 2, words: args},
	}
	for _, each := range tests {
		_ = each
	}
}

func TestMap(t *testing.T) {
	for name, each := range map[string]struct{ a int }{"x": {1}} {
		_, _ = name, each
	}
}
"""
SCRIPT = """import { test } from 'vitest';

const cases = [
  { number: 1, word: 'one' }
];

test.each(cases)('word %s', ({ number }) => {});
test.each([
  [1, 'one'],
])('pair', (number, word) => {});
it.each(['a'] as const)("sign", () => {});
"""
RUST = """#[test]
fn words() {
    for (number, word) in [
        (1, "one"),
    ] {
        assert!(number > 0);
    }
    let signs = &["+", "-"];
}
"""


@pytest.mark.parametrize(
    ("path", "text", "table", "code", "old", "new"),
    [
        (
            "t.py",
            PYTHON,
            "test_word",
            '(3, "three"),',
            '"two"),\n',
            '"two"),\n        (3, "three"),\n',
        ),
        (
            "t.py",
            PYTHON,
            "test_word",
            '  pytest.param(\n      3, "three", id="3"\n  ),\n  # the last\n  (4, "four")\n',
            '"two"),\n',
            '"two"),\n        pytest.param(\n            3, "three", id="3"\n        ),\n'
            '        # the last\n        (4, "four"),\n',
        ),
        (
            "t.py",
            PYTHON,
            "test_word",
            "(3, '''a\n b'''),",
            '"two"),\n',
            "\"two\"),\n(3, '''a\n b'''),\n",
        ),
        ("t.py", PYTHON, "SHARED", "3,", "[1, 2]", "[1, 2, 3]"),
        ("t.py", PYTHON, "test_shared", "3, 4", "[1, 2]", "[1, 2, 3, 4]"),
        ("a_test.go", GO, "TestWord", "{3, nil},", "args},\n", "args},\n\t\t{3, nil},\n"),
        ("a_test.go", GO, "tests", "{3, nil}", "args},\n", "args},\n\t\t{3, nil},\n"),
        ("a_test.go", GO, "shared", '"b"', '{"a"}', '{"a", "b"}'),
        ("a_test.go", GO, "args", '"z"', '"y"}', '"y", "z"}'),
        ("a_test.go", GO, "TestMap", '"y": {2},', "{1}}", '{1}, "y": {2}}'),
        (
            "a.test.ts",
            SCRIPT,
            "word %s",
            "{ number: 2, word: 'two' }",
            "'one' }\n",
            "'one' },\n  { number: 2, word: 'two' },\n",
        ),
        (
            "a.test.ts",
            SCRIPT,
            "cases",
            "{ number: 2 }",
            "'one' }\n",
            "'one' },\n  { number: 2 },\n",
        ),
        ("a.test.ts", SCRIPT, "pair", "[2, 'two']", "'one'],\n", "'one'],\n  [2, 'two'],\n"),
        ("a.test.ts", SCRIPT, "sign", "'b',", "['a']", "['a', 'b']"),
        ("tests/a.rs", RUST, "words", '(2, "two")', 'one"),\n', 'one"),\n        (2, "two"),\n'),
        ("tests/a.rs", RUST, "signs", '"*"', '"-"]', '"-", "*"]'),
    ],
)
def test_cases_are_added_at_the_end_of_a_table_in_its_layout(
    path: str, text: str, table: str, code: str, old: str, new: str
) -> None:
    if table == "words":
        text = text.replace('    let signs = &["+", "-"];\n', "")
    after = append_test(path, text, code, table)
    assert after == text.replace(old, new, 1)
    assert holds_test(path, after, code, table)
    assert not holds_test(path, text, code, table)
    with pytest.raises(CannotAppend, match="already"):
        append_test(path, after, code, table)


@pytest.mark.parametrize(
    ("path", "text", "table", "code", "reason"),
    [
        ("t.py", PYTHON, "test_else", "(3, 4),", "no table of cases for `test_else`"),
        ("t.py", PYTHON, "test_pairs", "'e'", "2 tables of cases for `test_pairs`"),
        ("t.py", PYTHON, "test_word", '(1,   "one")', "already"),
        ("t.py", PYTHON, "test_word", '(3, "x")]), pytest.mark.skip([', "as before"),
        ("t.py", PYTHON, "test_word", '(3, "x")], ids=["a"', "as before"),
        ("t.py", PYTHON, "test_word", "# nothing", "as before"),
        ("t.py", PYTHON, "test_word", "(3, 'x'", "as before"),
        ("t.py", PYTHON, "test_word", "*SHARED for x in y", "as before"),
        ("t.py", PYTHON, "SHARED", "3  # gone", "as before"),
        ("t.py", "def broken(:\n", "test_word", "1", "does not parse"),
        ("a_test.go", GO, "TestWord", "{3, nil}}\n\tos.Exit(0)\n\t_ = []int{1", "as before"),
        ("a_test.go", GO, "TestElse", "{1}", "no table"),
        ("a.go", GO, "TestWord", "{3, nil}", "not a file of tests"),
        ("a.test.ts", SCRIPT, "pair", "[2]])('x', f); test.each([[3]", "as before"),
        ("a.test.ts", SCRIPT, "pair", "[2] /*", "as before"),
        ("tests/a.rs", RUST, "words", '(2, "x")', "2 tables"),
        ("t.bats", "@test a {\n}\n", "a", "b", "no table"),
    ],
)
def test_cases_that_cannot_be_added_say_why(
    path: str, text: str, table: str, code: str, reason: str
) -> None:
    with pytest.raises(CannotAppend, match=reason):
        append_test(path, text, code, table)
    assert not holds_test(path, text, code, table) or reason == "already"


@given(st.text("[](){},'\"#/*`\n 1ax:", max_size=30), st.sampled_from(["py", "go", "ts"]))
def test_whatever_the_cases_are_the_rest_of_the_file_stays(code: str, kind: str) -> None:
    path, text, table = {
        "py": ("t.py", PYTHON, "test_word"),
        "go": ("a_test.go", GO, "TestWord"),
        "ts": ("a.test.ts", SCRIPT, "pair"),
    }[kind]
    try:
        after = append_test(path, text, code, table)
    except CannotAppend:
        return
    added = len(after) - len(text)
    assert any(after[:at] + after[at + added :] == text for at in range(len(text)))
