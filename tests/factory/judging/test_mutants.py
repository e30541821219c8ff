"""Mutants of each language: what is changed, what is left out, and which are tried."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.judging.strength import (
    BATCH,
    FIRST_CODE,
    MAX_CHARACTERS,
    Mutant,
    choose,
    mutants_of,
    outcomes_of,
)
from shared.languages.capabilities import MutationKind, Mutations, Useless
from shared.languages.python.mutant_runs import as_bits
from shared.languages.registry import language_of

GO: Final = "package a\n\nfunc f{}\n"
RUST: Final = "fn f{}\n"
# A file, what it holds, and every mutant of it: what was changed.
CASES: Final = [
    ("a.py", "x = a + b\n", ["`+` to `-`"]),
    ("a.py", "x = (a)  # plus\n", []),
    ("a.py", "x = (\n    (a)  # +\n    + (b)\n)\n", ["`+` to `-`"]),
    (
        "a.py",
        "def f(é, b):\n    return 'ü' + é < b\n",
        ["`'ü' + é < b` to `None`", "`'ü'` to `\"\"`", "`+` to `-`", "`<` to `<=`"],
    ),
    ("a.py", "x = a is  not b\n", ["`is not` to `is`"]),
    ("a.py", "x = a not in b and c\n", ["`not in` to `in`", "`and` to `or`"]),
    ("a.py", "x = not a\n", ["`not` to `not not`"]),
    ("a.py", "x = 0 <= a < 9\n", ["`0` to `1`", "`<=` to `<`", "`<` to `<=`", "`9` to `10`"]),
    ("a.py", "a **= 2\n", ["removed `a **= 2`", "`**=` to `*=`", "`2` to `3`"]),
    ("a.py", "if a > b:\n    pass\n", ["inverted `a > b`", "`>` to `>=`"]),
    ("a.py", "if a == b:\n    pass\n", ["`==` to `!=`"]),
    ("a.py", "while True:\n    break\n", ["`True` to `False`", "removed `break`"]),
    ("a.py", "x = [a for a in b if a]\n", ["inverted `a`"]),
    ("a.py", "f(a)\n", ["removed `f(a)`"]),
    ("a.py", "raise E\n", ["removed `raise E`"]),
    ("a.py", "x = -1.5\n", ["`-` to `+`", "`1.5` to `2.5`"]),
    ("a.py", "self.x = a\n", ["removed `self.x = a`"]),
    ("a.py", "def f():\n    '''Say 1 + 1.'''\n", []),
    ("a.py", "def f(a: 'X' = None) -> 'Y': ...\nx: 'int'\n", []),
    ("a.py", "if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2\n", ["`2` to `3`"]),
    ("a.py", "log.info('a %s', 1 + 1)\nself._logger.debug('x')\n", []),
    ("a.py", "x = f'{a + 1}'\n", []),
    ("a.py", "__all__ = ['a']\nT = TypeVar('T')\n", []),
    ("a.pyi", "x = 1\n", []),
    ("a.py", "x = (\n", None),
    ("a.js", "const x = a === b;\n", ["`===` to `!==`"]),
    ("a.js", "if (a < b) { f(); }\n", ["inverted `(a < b)`", "`<` to `<=`", "removed `f();`"]),
    ("a.js", "const f = (a) => a * 2;\n", ["`a * 2` to `undefined`", "`*` to `/`", "`2` to `3`"]),
    ("a.js", "function f() {\n  return 1;\n  g();\n}\n", ["`1` to `2`"]),
    (
        "a.mjs",
        "import a from 'a';\n'use strict';\nrequire('b');\nlog.info('c');\n",
        ["removed `require('b');`"],
    ),
    (
        "a.ts",
        "type A = 'a' | 1;\nconst x: 'a' = y ? 'ü' : '';\n",
        ["inverted `y`", "`'ü'` to `''`", "`''` to `'llmch'`"],
    ),
    ("a.tsx", "const x = <p a={1}>text</p>;\n", ["`1` to `2`"]),
    (
        "a.go",
        GO.format("(a int) int { return a + 0x1 }"),
        ["`a + 0x1` to `0`", "`+` to `-`", "`0x1` to `(0x1 + 1)`"],
    ),
    ("a.go", GO.format("() error { return errors.New(`x`) }"), ["`errors.New('x')` to `nil`"]),
    (
        "a.go",
        GO.format("() { for i := 0; i < 3; i++ { g() } }"),
        ["`0` to `1`", "`<` to `<=`", "`3` to `4`", "`++` to `--`", "removed `g()`"],
    ),
    (
        "a.go",
        GO.format('() { fmt.Sprintf("%d", n); log.Print(1) }'),
        ['removed `fmt.Sprintf("%d", n)`', '`"%d"` to `"llmch %d"`'],
    ),
    (
        "a.rs",
        RUST.format("() -> u8 { a - 1u8 }"),
        ["`a - 1u8` to `0`", "`-` to `+`", "`1u8` to `2u8`"],
    ),
    ("a.rs", RUST.format("() { if let Some(x) = a { g(x); } }"), ["removed `g(x);`"]),
    (
        "a.rs",
        RUST.format("() -> bool { match a { 1 if b => true, _ => !b } }"),
        [
            "`match a { 1 if b => true, _ => !b }` to `!(match a { 1 if b => true, _ => !b })`",
            "`1` to `2`",
            "inverted `b`",
            "`true` to `false`",
            "`!` to `!!`",
        ],
    ),
    ("a.rs", "#[cfg(test)]\nmod tests { fn f() { g(1); } }\n#[test]\nfn t() { g(1); }\n", []),
    (
        "a.rs",
        RUST.format('() { println!("{}", 1); warn!("x"); }'),
        ['removed `println!("{}", 1);`', '`"{}"` to `"llmch {}"`', "`1` to `2`"],
    ),
]


def mutations_of(path: str) -> Mutations:
    language = language_of(path)
    assert language is not None and language.mutations is not None
    return language.mutations


def all_of(path: str, text: str) -> tuple[Mutant, ...] | None:
    return mutants_of(mutations_of(path), path, text, range(1, text.count("\n") + 2))


@pytest.mark.parametrize(("path", "text", "changes"), CASES)
def test_each_place_is_found_and_nothing_else(
    path: str, text: str, changes: list[str] | None
) -> None:
    found = all_of(path, text)
    whats = None if found is None else sorted(each.what for each in found)
    assert whats == (None if changes is None else sorted(changes))


@pytest.mark.parametrize(("path", "text", "changes"), CASES)
def test_each_mutant_is_code_that_differs(path: str, text: str, changes: list[str] | None) -> None:
    for each in all_of(path, text) or ():
        assert mutations_of(path).why_useless(path, text, each.applied_to(text)) is None, each


@pytest.mark.parametrize(
    ("text", "mutated", "why"),
    [
        ("x = a\n", "x  =  (a)  # so\n", Useless.EQUIVALENT),
        (
            "def f():\n    return 1\n    return 2\n",
            "def f():\n    return 1\n    return 3\n",
            Useless.EQUIVALENT,
        ),
        ("x = 1\n", "x = 1.0\n", None),
        ("x = 1\n", "x = True\n", None),
        ("x = 0.0\n", "x = -0.0\n", None),
        ("x = lambda: 1\n", "x = lambda: 2\n", None),
        ("x = 1\n", "x = (1\n", Useless.INVALID),
        ("x = 1\n", "return 1\n", Useless.INVALID),
    ],
)
def test_what_python_compiles_alike_is_equivalent(
    text: str, mutated: str, why: Useless | None
) -> None:
    assert mutations_of("a.py").why_useless("a.py", text, mutated) == why


def test_what_has_the_same_tokens_is_equivalent() -> None:
    mutations = mutations_of("a.go")
    text = GO.format("() { g( ) }")
    assert mutations.why_useless("a.go", text, text.replace("g( )", "g()")) is Useless.EQUIVALENT
    assert mutations.why_useless("a.go", text, text.replace("g( )", "g(")) is Useless.INVALID


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a.go", "# a\n./a.go:3:9: undefined: x\nFAIL\ta [build failed]\n"),
        ("a.rs", "error[E0308]: mismatched types\nerror: could not compile `a` (lib)\n"),
        ("a.ts", "src/a.ts(1,7): error TS2322: Type 'string' is not assignable\n"),
    ],
)
def test_what_a_compiler_refuses_is_told_from_a_failed_test(path: str, said: str) -> None:
    assert mutations_of(path).is_unbuilt(said)
    assert not mutations_of(path).is_unbuilt("--- FAIL: TestX\n    want build failed\nFAIL\n")


def test_only_changes_within_the_given_lines_count() -> None:
    text = "x = 1\ny = 2\nf(\n    3,\n)\n"
    found = mutants_of(mutations_of("a.py"), "a.py", text, {2, 3, 4})
    assert found is not None
    assert [str(each) for each in found] == ["a.py:2 `2` to `3`", "a.py:4 `3` to `4`"]


def test_a_generated_file_is_not_read() -> None:
    assert all_of("a.py", "x = 1\n" * (MAX_CHARACTERS // 6 + 1)) is None


def test_the_seed_decides_which_are_tried_and_lines_come_before_seconds() -> None:
    text = "".join(f"x{n} = a + {n} < b\n" for n in range(9))
    found = all_of("a.py", text)
    assert found is not None
    first = list(choose(found, 1))
    assert first == list(choose(found[::-1], 1)) != list(choose(found, 2))
    assert sorted(map(str, first)) == sorted(map(str, found))
    assert len({each.line for each in first[:9]}) == 9
    kinds = Counter(each.mutation.kind for each in first[:9])
    assert set(kinds.values()) == {3}


def test_a_survivor_is_one_printable_line() -> None:
    found = all_of(
        "a.py", "raise E('`\\x1b', '''\n\x1b[31m''' * 99999, 'aaaaaaaaaaaaaaaaaaaaaaaaaaa')\n"
    )
    assert found is not None
    whats = [each.what for each in found if each.mutation.kind is MutationKind.STATEMENT]
    assert whats == ["removed `raise E(''\\x1b', ''' ?[31m''' * 99999, 'aaaaaaaaaaaaaaaa ...`"]


@given(st.lists(st.booleans(), max_size=BATCH))
def test_an_exit_code_holds_the_outcomes_of_a_batch(killed: list[bool]) -> None:
    code = FIRST_CODE + as_bits(killed)
    assert list(outcomes_of(code)) == killed
    assert 32 < code < 96


@pytest.mark.parametrize("code", [-1, 0, 1, 2, 31, 32, 96, 127, 137, 255])
def test_other_exit_codes_hold_nothing(code: int) -> None:
    assert outcomes_of(code) == ()


NAMES: Final = st.sampled_from(["a", "é", "名", "b1"])
LITERALS: Final = st.sampled_from(["1", '"ü"', "0x10", "2.5", "'a' 'b'", "True", "b'x'", "None"])
PYTHON: Final = st.recursive(
    NAMES | LITERALS,
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(
                ["+", "- ", "//", "\t<", ">=", " is not ", " not in ", " and ", " or ", "**"]
            ),
            inner,
        ).map("({0[0]}{0[1]}{0[2]})".format),
        inner.map("not {}".format).map("({})".format),
        inner.map("-{}".format),
        st.tuples(inner, inner).map("f({0[0]},  # é +\n {0[1]})".format),
        st.tuples(inner, inner, inner).map("({0[0]} if {0[1]} else {0[2]})".format),
        inner.map("[名 for 名 in a if {}]".format),
    ),
    max_leaves=8,
)
STATEMENTS: Final = st.lists(
    st.one_of(
        PYTHON.map("x = {}\n".format),
        PYTHON.map("def é():\n    return {}\n".format),
        PYTHON.map("if {}:\n    f(名)\n".format),
        PYTHON.map("é += {}\r\n".format),
        PYTHON.map("while {}:\n    break\n".format),
    ),
    min_size=1,
    max_size=4,
).map("".join)


@pytest.mark.rest
@given(STATEMENTS)
def test_mutants_of_any_python_parse_and_differ_in_one_place(text: str) -> None:
    found = all_of("a.py", text)
    assert found is not None
    for each in found:
        mutated = each.applied_to(text)
        assert mutations_of("a.py").why_useless("a.py", text, mutated) is not Useless.INVALID, each
        assert text[each.mutation.start : each.mutation.end] == each.was != each.mutation.text
        assert text.count("\n", 0, each.mutation.start) + 1 == each.line


SCRIPT: Final = st.recursive(
    st.sampled_from(["a", "é", "1", "'ü'", "0x1f", "true", '""']),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "<", "===", "&&", "??", "%"]), inner).map(
            "(({0[0]}) {0[1]} ({0[2]}))".format
        ),
        inner.map("!({})".format),
        st.tuples(inner, inner).map("f({0[0]}, /* é */ {0[1]})".format),
        st.tuples(inner, inner, inner).map("({0[0]} ? {0[1]} : {0[2]})".format),
    ),
    max_leaves=8,
)


@given(
    st.sampled_from(["a.js", "a.ts", "a.tsx"]),
    st.lists(
        st.one_of(
            SCRIPT.map("x = {};\n".format),
            SCRIPT.map("function g() {{ return {}; }}\n".format),
            SCRIPT.map("if ({}) {{ f(é); }}\n".format),
        ),
        min_size=1,
        max_size=4,
    ).map("".join),
)
def test_mutants_of_any_script_parse_and_differ_in_tokens(path: str, text: str) -> None:
    found = all_of(path, text)
    assert found is not None
    for each in found:
        assert mutations_of(path).why_useless(path, text, each.applied_to(text)) is None, each
        assert text[each.mutation.start : each.mutation.end] == each.was
