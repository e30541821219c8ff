"""A plan is told of tests on generated inputs where one fits, and what it is shown works."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from planner.prompts.prompt_templates import render_languages
from shared.languages.property_tests import find_counterexamples
from shared.languages.registry import LANGUAGES
from shared.llm.budget import likely_tokens
from tests.real_tools import NODE_TOOLS, compiled_go, needs

HEADING = "## Tests on generated inputs"
BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "specs"
EXAMPLES = Path(__file__).parents[3] / "examples"


def section(spec: str, **sources: str) -> str:
    rules = render_languages(spec, [], "", {k.replace("_", "."): v for k, v in sources.items()})
    return rules.text.partition(HEADING)[2]


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ("Python. `encode` makes a text of rows and `decode` reads it back.", ["round trip"]),
        ("Python. What is parsed and printed comes back the same.", ["round trip"]),
        ("Python. Serialises a tree.", ["round trip"]),
        ("Python. Sorts lines by their second column.", ["order"]),
        ("Python. Paths are normalised.", ["idempotence"]),
        ("Python. All balances sum up to zero.", ["invariant"]),
        ("Python. A balance is never negative.", ["invariant"]),
        ("Python. Gives the same result as the naive search.", ["model"]),
        ("Python. Sorting is idempotent.", ["order", "idempotence"]),
        ("Python. Prints a greeting for each name, sorted by name.", []),
        ("Python. Parses a date and prints its weekday. Words come in any order.", []),
        ("Python. A member has at most three books at a time.", []),
        ("A program that sorts, in no language that anybody knows.", []),
    ],
)
def test_the_words_of_a_specification_ask_for_it(spec: str, kinds: list[str]) -> None:
    found = section(spec)
    assert re.findall(r"^- ([\w ]+): ", found, re.MULTILINE) == kinds
    assert bool(found) == bool(kinds)


def test_a_specification_without_such_words_pays_nothing() -> None:
    asking = [
        each.parent.name
        for each in sorted([*BENCHMARKS.glob("*/spec.md"), *EXAMPLES.glob("*/spec.md")])
        if HEADING in render_languages(each.read_text(), []).text
    ]
    assert asking == ["python", "typescript"], "where balances sum up to zero"


@pytest.mark.parametrize("language", ["Python", "JavaScript", "TypeScript", "in Go", "Rust"])
def test_it_is_short(language: str) -> None:
    for sources in ({}, dict.fromkeys(MANIFESTS, "hypothesis fast-check proptest")):
        text = section(f"{language}. Sorting is idempotent, and never loses a line.", **sources)
        assert 100 < likely_tokens(len(text.encode())) < 500
        assert "{{" not in text


MANIFESTS = ("requirements_txt", "package_json", "Cargo_toml")


@pytest.mark.parametrize(
    ("spec", "manifest", "declared", "library"),
    [
        ("Python.", "requirements_txt", "hypothesis>=6\n", "hypothesis"),
        ("Python.", "requirements_txt", "hypothesis-jsonschema\n", ""),
        ("JavaScript.", "package_json", '{"devDependencies": {"fast-check": "4"}}', "fast-check"),
        ("Rust.", "Cargo_toml", '[dev-dependencies]\nproptest = "1"\n', "proptest"),
        ("Rust.", "Cargo_toml", '[dev-dependencies]\nproptest-derive = "1"\n', ""),
        ("in Go.", "go_mod", "module a\n", ""),
    ],
)
def test_a_library_is_used_where_the_project_has_it(
    spec: str, manifest: str, declared: str, library: str
) -> None:
    text = section(f"{spec} It sorts.", **{manifest: declared})
    assert (f"has `{library}`" in text) == bool(library)
    assert ("Counterexample: " in text) != bool(library)


def test_a_library_that_is_declared_and_not_installed_is_not_used() -> None:
    sources = {"requirements.txt": "hypothesis"}
    machine = "- Python 3.12.1, pytest 9.2, declared and not installed: attrs, hypothesis"
    assert "Counterexample" in render_languages("Python: sorts.", [], machine, sources).text
    machine = machine.removesuffix(", hypothesis")
    assert "Counterexample" not in render_languages("Python: sorts.", [], machine, sources).text


def code_of(spec: str, **sources: str) -> str:
    text = section(f"{spec} It sorts.", **sources)
    (code,) = re.findall(r"^```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(code)


RIGHT = {
    "src/codec.js": "export const encode = (text) => text;\nexport const decode = encode;\n",
    "codec.go": "package codec\n\nfunc Encode(text string) string { return text }\n\n"
    "func Decode(text string) string { return Encode(text) }\n",
    "src/lib.rs": "pub fn encode(text: &str) -> String { text.to_string() }\n"
    "pub fn decode(text: &str) -> String { encode(text) }\n",
}
# A fault that no usual example meets: a comma at the end is lost.
FAULTS = {
    "src/codec.js": ("=> text;", "=> text.replace(/,$/, '');"),
    "codec.go": (
        "{ return text }",
        "{\n\tif n := len(text); n > 0 && text[n-1] == 44 {\n\t\treturn text[:n-1]\n\t}\n"
        "\treturn text\n}",
    ),
    "src/lib.rs": ("text.to_string()", "text.strip_suffix(',').unwrap_or(text).to_string()"),
}


def found_by(folder: Path, path: str, test: str, code: str, *argv: str) -> list[str]:
    """Return the inputs that a test finds in wrong code; it passes on right code."""
    home = {**os.environ, "HOME": pwd.getpwuid(os.geteuid()).pw_dir}  # where builds are kept

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (folder / path).write_text(text)
        return subprocess.run(
            argv, cwd=folder, env=home, capture_output=True, text=True, check=False
        )

    for each in (path, test):
        (folder / each).parent.mkdir(exist_ok=True)
    (folder / test).write_text(code)
    done = run(RIGHT[path])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(RIGHT[path].replace(*FAULTS[path], 1))
    assert done.returncode != 0, "the fault is not found"
    printed = f"{done.stdout}\n{done.stderr}".split("\n")
    return [each.text for each in find_counterexamples(printed)]


def test_what_is_shown_for_python_finds_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    for declared in ("", "hypothesis"):
        codec = ModuleType("codec")
        monkeypatch.setitem(sys.modules, "codec", codec)
        vars(codec).update(encode=str, decode=str)
        names: dict[str, Any] = {}
        exec(code_of("Python.", requirements_txt=declared), names)
        names["test_decode_undoes_encode"]()
        names["decode"] = lambda text: text[:-1] if text[-1:] == "," else text
        with pytest.raises(AssertionError) as failed:
            names["test_decode_undoes_encode"]()
        printed = "\n".join([str(failed.value), *getattr(failed.value, "__notes__", ())])
        (found,) = find_counterexamples(printed.split("\n"))
        assert found.text == (
            "test_decode_undoes_encode(value=',')" if declared else "',' gives ''"
        )


@needs("node")
@pytest.mark.parametrize("declared", ["", '"fast-check"'])
def test_what_is_shown_for_javascript_finds_a_fault(tmp_path: Path, declared: str) -> None:
    if declared and not (NODE_TOOLS / "fast-check").is_dir():
        pytest.skip("needs fast-check: make build/node/.installed")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(NODE_TOOLS)
    code, test = code_of("JavaScript.", package_json=declared), "tests/codec.test.js"
    (found,) = found_by(tmp_path, "src/codec.js", test, code, "node", "--test", test)
    wrong = '[","]' if declared else '"," gives ""'
    assert found == f"decode undoes encode: {wrong}"


@pytest.mark.rest
@needs("go")
def test_what_is_shown_for_go_finds_a_fault(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOCACHE", str(compiled_go(tmp_path_factory)))
    (tmp_path / "go.mod").write_text("module codec\n\ngo 1.18\n")
    argv = ("go", "test", ".")
    found = found_by(tmp_path, "codec.go", "codec_test.go", code_of("in Go."), *argv)
    assert found == ['TestDecodeUndoesEncode: "," gives ""']


@pytest.mark.rest
@needs("cargo")
def test_what_is_shown_for_rust_finds_a_fault(tmp_path: Path) -> None:
    manifest = '[package]\nname = "codec"\nversion = "0.1.0"\nedition = "2021"\n'
    (tmp_path / "Cargo.toml").write_text(manifest)
    argv = ("cargo", "test", "--offline", "--quiet", "--test", "codec")
    found = found_by(tmp_path, "src/lib.rs", "tests/codec.rs", code_of("Rust."), *argv)
    assert found == ['decode_undoes_encode: "," gives Some("")']


@pytest.mark.parametrize("spec", ["TypeScript.", "JavaScript."])
def test_what_is_shown_parses(spec: str) -> None:
    for declared in ("", '"fast-check"'):
        code = code_of(spec, package_json=declared)
        language = next(each for each in LANGUAGES if each.name == spec[:-1])
        assert language.notes is not None
        assert language.notes.note_syntax(f"tests/a{language.suffixes[0]}", code) == ""
