"""Which formatter a project names, and what of a text is layout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shared.projects.project_tools import find_formatters, keeps_lines, same_code


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({}, []),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, []),
        ({"pyproject.toml": "[tool.ruff.format]\n"}, ["ruff format"]),
        ({"ruff.toml": "[format]\n"}, ["ruff format"]),
        ({".pre-commit-config.yaml": "- id: ruff-format\n"}, ["ruff format"]),
        ({".github/workflows/ci.yml": "run: uv run ruff format --check\n"}, ["ruff format"]),
        ({"pyproject.toml": "[tool.black]\n[tool.ruff.format]\n"}, ["black"]),
        ({"go.mod": "", "Cargo.toml": "", "rustfmt.toml": ""}, ["gofmt", "rustfmt"]),
        ({"Cargo.toml": ""}, ["rustfmt, unnamed"]),
        ({"Cargo.toml": "", ".github/workflows/a.yaml": "cargo fmt --check"}, ["rustfmt"]),
        ({"biome.json": "", ".prettierrc": ""}, ["biome"]),
        ({".oxfmtrc.json": "{}"}, ["oxfmt"]),
        ({".prettierrc.json": "{}"}, ["prettier"]),
        ({"package.json": '{"prettier": {"semi": false}}'}, ["prettier"]),
    ],
)
def test_the_files_of_a_project_name_its_formatter(files: dict[str, str], names: list[str]) -> None:
    written = ("a.py", "a.go", "a.rs", "a.ts", "a.md")
    found = find_formatters(tuple(files), files.__getitem__, written)
    assert [e.name if e.named else f"{e.name}, unnamed" for e in found.values()] == names


MONOREPO = {
    "pyproject.toml": "[tool.black]\n",
    ".prettierrc": "",
    "Cargo.toml": '[workspace.package]\nedition = "2021"\n',
    ".github/workflows/ci.yml": "cargo fmt --check",
    "py/pyproject.toml": "[tool.ruff.format]\n",
    "py/bare/pyproject.toml": "[project]\n",
    "web/biome.json": "",
    "web/package.json": '{"prettier": "@x/style"}',
    "odd/package.json": "[" * 100_000,
    "crates/a/Cargo.toml": "[package]\nedition.workspace = true\n",
    "crates/c/Cargo.toml": "[package]\n",
    "crates/b/Cargo.toml": 'edition = "2018"\n',
    "tools/go/go.mod": "",
}


@pytest.mark.parametrize(
    ("path", "name", "folder"),
    [
        ("a.py", "black", ""),
        ("py/src/a.py", "ruff format", ""),
        ("py/bare/a.py", "ruff format", ""),
        ("web/src/a.ts", "biome", "web"),
        ("site/src/a.ts", "prettier", ""),
        ("odd/a.js", "prettier", ""),
        ("crates/a/src/lib.rs", "rustfmt 2021", "crates/a"),
        ("crates/c/src/lib.rs", "rustfmt 2015", "crates/c"),
        ("crates/b/src/lib.rs", "rustfmt 2018", "crates/b"),
        ("tools/go/a.go", "gofmt", ""),
        ("a.go", "", ""),
        ("web/README.md", "", ""),
    ],
)
def test_the_nearest_folder_decides_in_a_monorepo(path: str, name: str, folder: str) -> None:
    found = find_formatters(frozenset(MONOREPO), MONOREPO.__getitem__, [path]).get(path)
    edition = found.argv[-1:] if found and found.name == "rustfmt" else ()
    assert " ".join((found.name if found else "", *edition)) == name
    assert (found.folder if found else "") == folder


@pytest.mark.parametrize(
    ("manifest", "edition"),
    [
        ('[package]\nname = "x"\n', "2015"),
        ('[package]\nedition = "2018"\n', "2018"),
        ('[workspace]\nmembers = ["a"]\n', "2021"),
        ('[workspace.package]\nedition = "2024"\n[package]\nedition.workspace = true\n', "2024"),
    ],
)
def test_rust_is_formatted_in_its_edition(manifest: str, edition: str) -> None:
    rustfmt = find_formatters(("Cargo.toml",), lambda _: manifest, ["a.rs"])["a.rs"]
    assert rustfmt.argv[-1] == edition


@pytest.mark.parametrize(
    ("before", "written", "formatted", "kept"),
    [
        ("", "a{b}\n", "a {\n    b\n}\n", True),
        ("x {}\n", "x {}\na{b}\n", "x {}\na {\n    b\n}\n", True),
        ("x{}\n", "x{}\na{b}\n", "x {}\na {\n    b\n}\n", False),
        ("x{}\n", "x{}\nx{}\n", "x{}\nx {}\n", True),
    ],
)
def test_a_line_that_was_there_is_kept_or_not(
    before: str, written: str, formatted: str, kept: bool
) -> None:
    assert keeps_lines(before, written, formatted) is kept


@pytest.mark.parametrize(("places", "said"), [(("", "a b/"), "a b/\nx"), (("",), "\nx"), ((), "")])
def test_a_tool_of_node_is_the_nearest_of_the_tree(
    tmp_path: Path, places: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a b/src").mkdir(parents=True)
    (tmp_path / "a b/src/f.ts").write_text("x")
    for place in places:
        tool = tmp_path / place / "node_modules/.bin/prettier"
        tool.parent.mkdir(parents=True)
        tool.write_text(f"#!/bin/sh\necho '{place}'; cat\n")
        tool.chmod(0o755)
    path = "a b/src/f.ts"
    found = find_formatters(("a b/.prettierrc",), lambda _: "", [path])[path]
    ran = subprocess.run(
        found.command(path), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.returncode == 0) == (said, bool(places))


def test_a_path_is_never_read_as_an_option() -> None:
    ruff = find_formatters(("ruff.toml",), lambda _: "[format]\n", ["-x.py"])["-x.py"]
    assert ruff.command("-x.py")[3:] == (
        *("./", "./-x.py", "python", "-m", "ruff", "format", "-q"),
        *("--stdin-filename", "./-x.py", "-"),
    )


@pytest.mark.parametrize(
    ("path", "one", "other", "same"),
    [
        ("a.py", "x = 'a'\n", 'x = (\n    "a"\n)\n', True),
        ("a.py", "def f():\n  '''A.\n  B.'''\n", 'def f():\n    """A.\n    B."""\n', True),
        ("a.py", "if a:\n  b\nc\n", "if a:\n    b\n    c\n", False),
        ("a.py", "x = u'a', b'c'\n", 'x = "a", b"c"\n', True),
        ("a.py", "x = b'a'\n", 'x = "a"\n', False),
        ("a.py", "x = 'a b'\n", "x = 'ab'\n", False),
        ("a.py", "x = 'é'\n", "# coding: utf-7\nx = 'é'\n", False),
        ("a.py", "x = (\n", "x = ( \n", False),
        ("a.js", "f( 'a',1, )\n", 'f("a", 1);\n', True),
        ("a.js", "f('a b')\n", "f('ab')\n", False),
        ("a.js", "return x\n", "return\nx\n", False),
        ("a.js", "f(a, b)\n", "f(a b)\n", False),
        ("a.js", "// skip\nf()\n", "f()\n", False),
        ("a.js", "assert(f(1) === 2)\n", "assert;(f(1) === 2)\n", False),
        ("a.js", "assert(f(1) === 2)\n", "assert;\n(f(1) === 2)\n", False),
        ("a.js", "() => { return assert(1) }\n", "() => { return; assert(1) }\n", False),
        ("a.js", "f()\n;(g)()\n", "f()\n(g)()\n", False),
        ("a.js", "f()\n;[1].map(g)\n", "f();\n[1].map(g);\n", True),
        ("a.go", "var  A=1\n", "var A = 1\n", True),
        ("a.go", "a := 'x'\n", 'a := "x"\n', False),
        ("a.rs", "f(a,\n b,\n)", "f(a, b)", True),
        ("a.rs", "f(a);g()", "f(a) g()", False),
    ],
)
def test_layout_is_no_change_of_code_and_anything_else_is(
    path: str, one: str, other: str, same: bool
) -> None:
    assert same_code(path, one, other) is same
