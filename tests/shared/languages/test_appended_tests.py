"""A test of a plan is added to a test file that is there, and nothing else of the file changes."""

from __future__ import annotations

import pytest

from shared.languages.appended_tests import CannotAppend, append_test, holds_test

PYTHON = "import pytest\n\n\ndef test_a():\n    assert 1 == 1\n"
GUARD = '\n\nif __name__ == "__main__":\n    pytest.main()\n'
GO = 'package game\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n'
RUST = (
    "pub fn a() {}\n\n#[cfg(test)]\nmod tests {\n"
    "    use super::*;\n\n    #[test]\n    fn one() {}\n}\n"
)
SCRIPT = "import { test } from 'node:test';\n\ntest('a', () => {});\n"
IN_PYTHON = "def test_b():\n    # exactly so\n    assert 2 == 2\n"
IN_GO = "// TestB is new.\nfunc TestB(t *testing.T) {}\n"
IN_RUST = "#[test]\nfn two() {\n    assert_eq!(1, 1);\n}\n"
IN_SCRIPT = "test('b', () => {\n  // exactly so\n});\n"


@pytest.mark.parametrize(
    ("path", "text", "code", "expected"),
    [
        ("t.py", PYTHON, IN_PYTHON, f"{PYTHON}\n\n{IN_PYTHON}"),
        ("t.py", PYTHON + GUARD, IN_PYTHON, f"{PYTHON}\n\n{IN_PYTHON}{GUARD}"),
        ("t.py", PYTHON.rstrip("\n"), f"\n\n{IN_PYTHON}", f"{PYTHON}\n\n{IN_PYTHON}"),
        ("t.py", "", IN_PYTHON, IN_PYTHON),
        (
            "t.py",
            PYTHON,
            f"import pytest\nfrom os import (\n    name,\n)\n\n\n{IN_PYTHON}",
            f"{PYTHON}\n\n{IN_PYTHON}".replace("import", "from os import name\n\nimport", 1),
        ),
        ("a_test.go", GO, IN_GO, f"{GO}\n{IN_GO}"),
        (
            "a_test.go",
            GO,
            f'import (\n\t"os"\n\t"testing"\n)\n\n{IN_GO}',
            f"{GO}\n{IN_GO}".replace('"testing"\n', '"testing"\nimport "os"\n'),
        ),
        (
            "a_test.go",
            GO,
            f'// Of files.\n\n// And tests.\nimport (\n\t"os"\n\t"testing"\n)\n\n// B.\n{IN_GO}',
            f"{GO}\n// B.\n{IN_GO}".replace('"testing"\n', '"testing"\nimport "os"\n'),
        ),
        ("t.py", PYTHON, f"# Why.\nimport pytest\n\n\n{IN_PYTHON}", f"{PYTHON}\n\n{IN_PYTHON}"),
        (
            "t.py",
            PYTHON,
            f"from os import (  # (of files)\n    name,  # the one (old)\n)\n\n\n{IN_PYTHON}",
            f"{PYTHON}\n\n{IN_PYTHON}".replace("import", "from os import name\n\nimport", 1),
        ),
        (
            "a.test.ts",
            SCRIPT,
            f"// @ts-expect-error\nimport {{ a }} from './a';\n\n{IN_SCRIPT}",
            f"{SCRIPT}\n// @ts-expect-error\nimport {{ a }} from './a';\n\n{IN_SCRIPT}",
        ),
        (
            "t.py",
            PYTHON,
            f"from os import name  # (see\n\n\n{IN_PYTHON}",
            f"{PYTHON}\n\n{IN_PYTHON}".replace("import", "from os import name\n\nimport", 1),
        ),
        ("t.py", PYTHON, f"# Why.\n{IN_PYTHON}", f"{PYTHON}\n\n# Why.\n{IN_PYTHON}"),
        ("a_test.go", GO, f"{GO.partition(chr(10))[0]}\n\n{IN_GO}", f"{GO}\n{IN_GO}"),
        (
            "src/a.rs",
            RUST,
            IN_RUST,
            RUST[:-2] + "\n    #[test]\n    fn two() {\n        assert_eq!(1, 1);\n    }\n}\n",
        ),
        # The lines of a string are a value, and stay as they are.
        (
            "src/a.rs",
            RUST,
            '#[test]\nfn two() {\n    assert_eq!(g(), "a\nb");\n}\n',
            RUST[:-2] + '\n#[test]\nfn two() {\n    assert_eq!(g(), "a\nb");\n}\n}\n',
        ),
        ("tests/a.rs", "#[test]\nfn one() {}\n", IN_RUST, f"#[test]\nfn one() {{}}\n\n{IN_RUST}"),
        (
            "tests/a.rs",
            "use app::f;\n\n#[test]\nfn one() {}\n",
            f"use std::{{\n    collections::{{HashMap, HashSet}},\n    io,\n}};\n\n{IN_RUST}",
            "use std::{\n    collections::{HashMap, HashSet},\n    io,\n};\nuse app::f;\n\n"
            f"#[test]\nfn one() {{}}\n\n{IN_RUST}",
        ),
        ("a.test.js", SCRIPT, SCRIPT[:34] + IN_SCRIPT, f"{SCRIPT}\n{IN_SCRIPT}"),
        ("a.js", f"{SCRIPT}\ntest.run();\n", IN_SCRIPT, f"{SCRIPT}\n{IN_SCRIPT}\ntest.run();\n"),
        ("a.js", f"{SCRIPT}test.run()", IN_SCRIPT, f"{SCRIPT}\n{IN_SCRIPT}test.run()"),
        (
            "a.test.ts",
            f"{SCRIPT}\n\nA.run();\n\nB.run();\n",
            IN_SCRIPT,
            f"{SCRIPT}\n{IN_SCRIPT}\n\nA.run();\n\nB.run();\n",
        ),
        ("t.bats", "@test a {\n}\n", "@test b {\n}\n", "@test a {\n}\n\n@test b {\n}\n"),
    ],
)
def test_a_test_is_added_below_the_others_and_its_imports_above(
    path: str, text: str, code: str, expected: str
) -> None:
    after = append_test(path, text, code)
    assert after == expected
    assert holds_test(path, after, code)
    other = after.replace("b", "c").replace("B", "C").replace("two", "x")
    assert not holds_test(path, other, code)


@pytest.mark.parametrize(
    ("path", "text", "code", "reason"),
    [
        ("t.py", None, IN_PYTHON, "is no text of at most 200,000 bytes that is there"),
        ("t.py", "x = 1\r\n", IN_PYTHON, "CRLF"),
        ("t.py", PYTHON, "def test_a(): pass\n", "has `test_a` already"),
        ("t.py", PYTHON, f"import os as pytest\n\n{IN_PYTHON}", "cannot have the imports"),
        ("t.py", "def f(:\n", IN_PYTHON, "does not parse"),
        ("a_test.go", GO, "func TestA(t *testing.T) {}\n", "has `TestA` already"),
        ("a_test.go", GO, f"package other\n\n{IN_GO}", "`package other`: leave it out"),
        ("a.go", GO, IN_GO, "is not a file of tests"),
        ("src/a.rs", "pub fn a() {}\n", IN_RUST, "exactly one module of tests"),
        ("src/a.rs", RUST + RUST, IN_RUST, "exactly one module of tests"),
        ("src/a.rs", "#[cfg(test)]\nmod tests { }\n", IN_RUST, "on one line"),
        ("src/a.rs", RUST, "#[test]\nfn one() {}\n", "has `one` already"),
    ],
)
def test_a_test_that_does_not_fit_its_file_is_refused_with_the_reason(
    path: str, text: str | None, code: str, reason: str
) -> None:
    with pytest.raises(CannotAppend, match=reason):
        append_test(path, text, code)


@pytest.mark.parametrize(
    ("head", "added", "expected"),
    [
        ("import pytest\n", "import os", "import os\n\nimport pytest\n"),
        ("import re\n\nimport pytest\n", "import os", "import os\nimport re\n\nimport pytest\n"),
        (
            "from __future__ import annotations\n\nimport pytest\n",
            "import os\nimport re",
            "from __future__ import annotations\n\nimport os\nimport re\n\nimport pytest\n",
        ),
        (
            "import re\nfrom os import sep\n\nfrom shop import price\n",
            "from shop.a import b\nfrom ast import dump\nimport sys",
            "import re\nimport sys\nfrom ast import dump\nfrom os import sep\n\n"
            "from shop import price\nfrom shop.a import b\n",
        ),
        (
            "import pytest\n\nfrom shop import price\n",
            "import till",
            "import pytest\n\nfrom shop import price\nimport till\n",
        ),
        ('"""Tests."""\n', "import os", '"""Tests."""\n\nimport os\n'),
        ("", "import os", "import os\n"),
    ],
)
def test_an_import_of_a_python_test_goes_where_isort_would_have_it(
    head: str, added: str, expected: str
) -> None:
    old, new = "\n\ndef test_a() -> None:\n    pass\n", "def test_b() -> None:\n    pass\n"
    text = f"{head}{old}" if head else old.lstrip("\n")
    whole = append_test("t.py", text, f"{added}\n\n\n{new}")
    assert whole == f"{expected}{old}\n\n{new}"
