"""Planned tests are compared by definition and case; layout and what is beside do not count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.drift.changed_tests import find_changes
from shared.work_order.work_order import AcceptanceFile
from tests.factory.drift.landed_shop import PRICE_TEST, TOTAL_TEST

NODE = """\
import test, { describe, it } from 'node:test';
import assert from 'node:assert';
import { add } from './add.mjs';

test('adds', () => {
  assert.equal(add(1, 2), 3);
});

describe('more', () => {
  it('adds one', () => {
    assert.equal(add(1), 1);
  });
});
"""
GO = """\
package shop

import "testing"

func TestAdd(t *testing.T) {
	cases := []struct{ a, b int }{
		{1, 2},
		{2, 4},
	}
	for _, c := range cases {
		if Add(c.a) != c.b {
			t.Fatal(c)
		}
	}
}
"""
RUST = """\
use shop::add;

#[test]
fn adds() {
    assert_eq!(add(1), 2);
}
"""
METHODS = """\
import unittest


class Prices(unittest.TestCase):
    def test_one(self):
        self.assertEqual(1, 1)

    def test_two(self):
        self.assertEqual(2, 2)
"""
TEXTS = {"a.py": PRICE_TEST, "m.py": METHODS, "a.test.mjs": NODE, "a_test.go": GO, "a.rs": RUST}


def changes(path: str, text: str, planned: str = "") -> list[str]:
    piece = AcceptanceFile(path=path, content=planned or TEXTS[path])
    return [each.describe() for each in find_changes(path, piece, text.encode())]


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("a.py", "==", "<=", "a.py:12 has another `test_price`"),
        ("a.py", "    (1, 3),\n", "", "a.py:5 does not have the case (1, 3) of `CASES`"),
        ("a.py", "(1, 3)", "(1, 4)", "a.py:5 does not have the case (1, 3) of `CASES`"),
        ("a.py", "def test_a_", "def test_b_", "a.py:1 does not have `test_a_price_grows`"),
        ("a.py", "from shop", "from fake", "a.py:1 does not have the planned import of `price` "
         "from `shop`"),
        ("a.py", "def test_price", "def test_price(:", "a.py:13 cannot be parsed"),
        ("m.py", "(2, 2)", "(2, 3)", "m.py:8 has another `test_two`"),
        ("m.py", "unittest.TestCase)", "Mixin)", "m.py:4 has another `Prices`"),
        ("a.test.mjs", "2), 3", "2), 4", "a.test.mjs:5 has another `test('adds'`"),
        ("a.test.mjs", "it('adds", "it.skip('adds", "a.test.mjs:10 does not have `it('adds one'`"),
        ("a.test.mjs", "test('adds', ", "test('adds', { skip: true }, ",
         "a.test.mjs:5 has another `test('adds'`"),
        ("a_test.go", "\t\t{2, 4},\n", "",
         "a_test.go:6 does not have the case {2, 4} of `TestAdd`"),
        ("a_test.go", "{\n\tcases", "{\n\tt.Skip()\n\tcases", "a_test.go:5 has another "
         "`func TestAdd(t *testing.T)`"),
        ("a.rs", "#[test]\n", "#[test]\n#[ignore]\n", "a.rs:3 has another `fn adds()`"),
        ("a.rs", "add(1), 2", "add(1), 3", "a.rs:3 has another `fn adds()`"),
    ],
)  # fmt: skip
def test_a_softer_test_is_named_with_its_line(path: str, old: str, new: str, said: str) -> None:
    assert old in TEXTS[path]
    assert said in changes(path, TEXTS[path].replace(old, new))


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "    (1, 3),", "    (1,3), (9, 27),  # more"),
        ("a.py", "def test_a", "# Why\ndef test_more():\n    assert 1\n\n\ndef test_a"),
        ("a.py", 'assert price(3)', '"""Grow."""\n    assert price(3)'),
        ("a.py", "import pytest\n\n", "import os\nimport pytest\n"),
        ("m.py", "    def test_two", "    def test_more(self):\n        pass\n\n    def test_two"),
        ("a.test.mjs", "  it('adds", "  it('more', () => {});\n  // why\n  it(\"adds"),
        ("a.test.mjs", "add(1, 2), 3);", "add( 1, 2 ), 3)"),
        ("a_test.go", "\t\t{1, 2},\n", "\t\t{0, 0},\n\t\t{1, 2},\n"),
        ("a_test.go", "func TestAdd", "func TestOther(t *testing.T) {}\n\n// Adds.\nfunc TestAdd"),
        ("a.rs", "#[test]", "#[test]\nfn more() {}\n\n#[test]"),
    ],
)  # fmt: skip
def test_what_is_beside_and_layout_do_not_count(path: str, old: str, new: str) -> None:
    text = TEXTS[path].replace(old, new).replace("\"adds one'", "'adds one'")
    assert text != TEXTS[path]
    assert changes(path, text) == []


def test_of_two_definitions_the_one_that_counts_is_compared() -> None:
    later = f"{PRICE_TEST}\n\ndef test_a_price_grows():\n    pass\n"
    assert changes("a.py", later) == ["a.py:21 has another `test_a_price_grows`"]


def test_an_appended_test_and_cases_of_a_table() -> None:
    test = AcceptanceFile(path="a.py", append=TOTAL_TEST)
    case = AcceptanceFile(path="a.py", append="(5, 15)", table="CASES")
    whole = f"{PRICE_TEST}\n\n{TOTAL_TEST}".replace("(2, 6),", "(2, 6),\n    (5, 15),").encode()
    assert find_changes("a.py", test, whole) == find_changes("a.py", case, whole) == ()
    assert find_changes("a.py", test, PRICE_TEST.encode())
    assert find_changes("a.py", case, PRICE_TEST.encode())
    assert find_changes("a.py", test, None)[0].what == "is not there"


@given(st.sampled_from(sorted(TEXTS)), st.binary(max_size=80), st.integers(0, 400))
def test_whatever_a_file_holds_is_compared_without_an_error(
    path: str, noise: bytes, at: int
) -> None:
    data = TEXTS[path].encode()
    piece = AcceptanceFile(path=path, content=TEXTS[path])
    find_changes(path, piece, data[:at] + noise + data[at:])
    assert find_changes(path, piece, data) == ()
