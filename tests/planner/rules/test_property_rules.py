"""Tests on generated inputs that differ from run to run, have no bound, or compare nothing."""

from __future__ import annotations

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from shared.errors import quoted
from shared.languages.registry import LANGUAGES, language_of
from tests.planner.plans import creating, plan
from tests.planner.prompts.test_properties import code_of

HYPOTHESIS = "from hypothesis import given, settings\n@settings({})\n@given(st.text())\n"
CHANCE = [
    ("a.py", HYPOTHESIS.format("max_examples=200"), "derandomize"),
    ("a.py", HYPOTHESIS.format("derandomize=True"), ""),
    ("a.py", HYPOTHESIS.format("max_examples=5_000, derandomize=True"), "thousands"),
    ("a.py", HYPOTHESIS.format("max_examples=100000, derandomize=True"), "thousands"),
    ("a.py", HYPOTHESIS.format("max_examples=1000, derandomize=True"), ""),
    ("a.py", "@given('a bank', target_fixture='bank')\n# as pytest-bdd has it", ""),
    ("a.py", "# hypothesis\n@hypothesis.given(st.text())\n", "derandomize"),
    ("a.py", "import random\nx = random.choice('ab')\n", "has no seed"),
    ("a.py", "import random\nrandom.seed(1)\nx = random.choice('ab')\n", ""),
    ("a.py", "import random\nrandom.seed()\nx = random.choice('ab')\n", "has no seed"),
    ("a.py", "from random import choice, randint\n", "has no seed"),
    ("a.py", "from random import Random\ndraw = Random(1)\nx = draw.choice('ab')\n", ""),
    ("a.py", "import random\ndraw = random.Random()\n", "has no seed"),
    ("a.py", "import os\nx = os.urandom(3)\n", "has no seed"),
    ("a.py", "import game\nx = game.random.choice('ab')\n", ""),
    ("a.test.js", "fc.assert(fc.property(fc.integer(), f));", "lacks a `seed`"),
    ("a.test.js", "fc.assert(fc.property(fc.integer(), f), { seed: 1 });", ""),
    ("a.test.ts", "fc.assert(p, { seed: 1, numRuns: 20000 });", "thousands"),
    ("a.test.ts", "const x = Math.random();", "has no seed"),
    ("a.test.js", "const x = draw.random();", ""),
    ("a_test.go", "quick.Check(f, nil)", "lacks a `Rand`"),
    ("a_test.go", "quick.Check(f, &quick.Config{Rand: rand.New(rand.NewSource(1))})", ""),
    ("a_test.go", "rand.New(rand.NewSource(time.Now().UnixNano()))", "has no seed"),
    ("a_test.go", "x := rand.Intn(5)", "has no seed"),
    ("a_test.go", "rand := rand.New(rand.NewSource(1))\nx := rand.Intn(5)", ""),
    ("a_test.go", "quick.Config{MaxCount: 1_000_000}", "thousands"),
    ("a.rs", "let x: u8 = rand::random();", "has no seed"),
    ("a.rs", "let x = rand::thread_rng().gen();", "has no seed"),
    ("a.rs", "let x = StdRng::seed_from_u64(1).gen();", ""),
    ("a.rs", "#![proptest_config(ProptestConfig::with_cases(200))]", ""),
    ("a.rs", "#![proptest_config(ProptestConfig::with_cases(50_000))]", "thousands"),
]


@pytest.mark.parametrize(("path", "text", "fault"), CHANCE)
def test_inputs_that_nothing_fixes_or_bounds_are_found(path: str, text: str, fault: str) -> None:
    language = language_of(path)
    assert language is not None
    (found,) = [each.fault for each in language.chance if each.is_in(text)] or [""]
    assert fault in found
    assert bool(fault) == bool(found)


ITSELF = [
    ("def test_a():\n    assert f(1) == f(1)\n", "f(1)"),
    ("def test_a():\n    assert f(1) == f(1)\n    assert f(1) == 2\n", ""),
    ("def test_a():\n    assert f(1) == f(2)\n", ""),
    ("def test_a():\n    assert f(f(1)) == f(1)\n", ""),
    ("def test_a():\n    assert f(1) == f(1).lower()\n", ""),
    ("@given(st.text())\ndef test_a(x):\n    assert decode(x) == decode(x)\n", "decode(x)"),
    ("test('a', () => assert.deepEqual(f(x), f(x)));", "f(x)"),
    ("test('a', () => assert.deepEqual(f(f(x)), f(x)));", ""),
    ("test('a', () => { expect(f(x)).toBe(f(x)); });", "f(x)"),
    ("fc.assert(fc.property(fc.nat(), (n) => f(n) === f(n)), { seed: 1 });", "f(n)"),
    ('if F(x) != F(x) {\n\tt.Error("a")\n}', "F(x)"),
    ("if err := quick.CheckEqual(F, F, config); err != nil {\n\tt.Error(err)\n}", "F"),
    ("if err := quick.CheckEqual(F, slow, config); err != nil {\n\tt.Error(err)\n}", ""),
    ("    prop_assert_eq!(decode(&x), decode(&x));", "decode(&x)"),
    ("    assert_eq!(decode(&encode(&x)), x);", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "call"), ITSELF)
def test_a_test_that_compares_a_call_with_itself_asserts_nothing(text: str, call: str) -> None:
    assert weak(text) == (
        [f"compares {quoted(call)} with itself, and asserts nothing else"] if call else []
    )


def weak(text: str) -> list[str]:
    """Return the messages of W232 on a test of this text, whatever its language."""
    return [each for code, each in findings(text) if code == "W232"]


def findings(text: str, command: str = "python -m pytest -q test_a.py") -> list[tuple[str, str]]:
    order = creating(
        1,
        "a.md",
        acceptance_files=[{"path": "test_a.txt", "content": text or " "}],
        acceptance_commands=[command],
    )
    report = judge(parse_plan(plan(order)))
    return [(each.code, each.message) for each in report.findings]


def test_a_command_may_draw_by_chance_as_well() -> None:
    assert "W237" in dict(findings("x", "go test -fuzz FuzzA ./a"))
    assert "W237" in dict(findings("x", "go test -fuzz=FuzzA -fuzztime 5s ./a"))
    assert "W237" not in dict(findings("x", "go test -run FuzzA ./a"))
    drawn = "python -c 'import random, a; assert a.f(random.choice([1]))'"
    assert "W237" in dict(findings("x", drawn))


@pytest.mark.parametrize("spec", ["Python.", "JavaScript.", "TypeScript.", "in Go.", "Rust."])
def test_what_plans_are_shown_breaks_no_rule(spec: str) -> None:
    declared = dict.fromkeys(("requirements_txt", "package_json", "Cargo_toml"), "")
    for library in ("", "hypothesis fast-check proptest"):
        code = code_of(spec, **dict.fromkeys(declared, library))
        marks = [mark for each in LANGUAGES for mark in each.chance]
        assert [each.fault for each in marks if each.is_in(code)] == []
        assert weak(code) == []
