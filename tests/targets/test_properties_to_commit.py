"""Faults that the examples pass are found by the plan's property, and what it finds is kept.

The model is scripted. It writes two wrong codecs, then the right one: each later prompt has the
inputs on which the earlier ones failed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.fakes import proposal
from tests.harness import Factory, Json, commit_all, order
from tests.planner.prompts.test_properties import code_of
from tests.real_tools import NODE_TOOLS, add_real_rust, needs


@dataclass(frozen=True, slots=True)
class Codec:
    """Hold a language's codec, two faults of it, and how the plan tests it.

    `faults` replace a part of `code`. `example` follows the property in the plan's `test`, and
    `found` are the inputs that the property prints.
    """

    spec: str
    path: str
    code: str
    faults: tuple[tuple[str, str], tuple[str, str]]
    test: str
    example: str
    command: str
    found: tuple[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)

    def order(self, *, has_property: bool = True) -> Json:
        code = code_of(self.spec, **self.declared)
        if not has_property:
            code = code[: code.index("from hypothesis")] + "from codec import decode, encode\n"
        test = {"path": self.test, "content": f"{code}\n\n{self.example}"}
        return order(
            allowed_files=[self.path],
            acceptance_files=[test],
            acceptance_commands=[self.command],
        )

    def written(self, fault: tuple[str, str] = ("", "")) -> dict[str, str]:
        assert fault[0] in self.code
        return {self.path: self.code.replace(*fault, 1)}


PYTHON: Final = Codec(
    "Python.",
    "codec.py",
    "def encode(text):\n    return text\n\n\ndef decode(text):\n    return text\n",
    (
        ("return text\n", "return text.rstrip(',')\n"),
        ("return text\n", "return text.strip('\\n')\n"),
    ),
    "tests/test_codec.py",
    "def test_example():\n    assert decode(encode('a, b')) == 'a, b'\n",
    "python -m pytest -q tests/test_codec.py",
    ("test_decode_undoes_encode: ',' gives ''", r"test_decode_undoes_encode: '\n' gives ''"),
)
HYPOTHESIS: Final = Codec(
    *(PYTHON.spec, PYTHON.path, PYTHON.code, PYTHON.faults),
    *(PYTHON.test, PYTHON.example, PYTHON.command),
    ("test_decode_undoes_encode(value=',')", r"test_decode_undoes_encode(value='\n')"),
    declared={"requirements_txt": "hypothesis\n"},
)
JAVASCRIPT: Final = Codec(
    "JavaScript.",
    "src/codec.js",
    "export const encode = (text) => text;\nexport const decode = (text) => text;\n",
    (("=> text;", "=> text.replace(/,$/, '');"), ("=> text;", "=> text.replace(/\\n$/, '');")),
    "tests/codec.test.js",
    "test('example', () => assert.equal(decode(encode('a, b')), 'a, b'));\n",
    "node --test tests/codec.test.js",
    ('decode undoes encode: "," gives ""', r'decode undoes encode: "\n" gives ""'),
    files={"package.json": '{"type": "module"}\n'},
)
FAST_CHECK: Final = Codec(
    *(JAVASCRIPT.spec, JAVASCRIPT.path, JAVASCRIPT.code, JAVASCRIPT.faults),
    *(JAVASCRIPT.test, JAVASCRIPT.example, JAVASCRIPT.command),
    ('decode undoes encode: [","]', r'decode undoes encode: ["\n"]'),
    JAVASCRIPT.files,
    declared={"package_json": '"fast-check"'},
)
GO: Final = Codec(
    "in Go.",
    "codec.go",
    'package codec\n\nimport "strings"\n\nvar _ = strings.TrimSuffix\n\n'
    "func Encode(text string) string { return text }\n\n"
    "func Decode(text string) string { return text }\n",
    (
        ("{ return text }", '{ return strings.TrimSuffix(text, ",") }'),
        ("{ return text }", '{ return strings.TrimSuffix(text, "\\n") }'),
    ),
    "codec_test.go",
    'func TestExample(t *testing.T) {\n\tif Decode(Encode("a, b")) != "a, b" {\n'
    '\t\tt.Error("not the same")\n\t}\n}\n',
    "go test .",
    ('TestDecodeUndoesEncode: "," gives ""', r'TestDecodeUndoesEncode: "\n" gives ""'),
    files={"go.mod": "module codec\n\ngo 1.18\n"},
)
RUST: Final = Codec(
    "Rust.",
    "src/lib.rs",
    "pub fn encode(text: &str) -> String { text.to_string() }\n"
    "pub fn decode(text: &str) -> String { text.to_string() }\n",
    (
        ("text.to_string()", "text.trim_end_matches(',').to_string()"),
        ("text.to_string()", "text.trim_end_matches('\\n').to_string()"),
    ),
    "tests/codec.rs",
    '#[test]\nfn example() {\n    assert_eq!(decode(&encode("a, b")), "a, b");\n}\n',
    "cargo test --offline --test codec",
    ('decode_undoes_encode: "," gives Some("")', r'decode_undoes_encode: "\n" gives Some("")'),
    files={"Cargo.toml": '[package]\nname = "codec"\nversion = "0.1.0"\nedition = "2021"\n'},
)


@pytest.mark.rest
@pytest.mark.parametrize(
    "codec",
    [
        pytest.param(PYTHON, id="python", marks=pytest.mark.rest),
        pytest.param(HYPOTHESIS, id="hypothesis", marks=pytest.mark.rest),
        pytest.param(JAVASCRIPT, id="javascript", marks=needs("node")),
        pytest.param(FAST_CHECK, id="fast-check", marks=needs("node")),
        pytest.param(GO, id="go", marks=(pytest.mark.rest, needs("go"))),
        pytest.param(RUST, id="rust", marks=(pytest.mark.rest, needs("cargo"))),
    ],
)
def test_a_fault_that_examples_pass_is_found_and_told_to_all_later_attempts(
    codec: Codec,
    factory: Factory,
    own_surroundings: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if codec is FAST_CHECK:
        if not (NODE_TOOLS / "fast-check").is_dir():
            pytest.skip("needs fast-check: make build/node/.installed")
        # Node looks for packages in each folder above that of the file.
        (factory.workspaces.parent / "node_modules").symlink_to(NODE_TOOLS)
    if codec is RUST:
        proxies = add_real_rust(own_surroundings)
        monkeypatch.setenv("PATH", f"{proxies}:{os.environ['PATH']}")
    if codec.files:
        commit_all(factory.repo, codec.files)
    replies = [proposal(codec.written(each)) for each in (*codec.faults, ("", ""))]
    python = Path(sys.executable)  # it has hypothesis
    summary = factory.run(codec.order(), replies, max_attempts=3, python=python)
    assert summary.verdict == "PASS", summary
    briefs = [each.failure_brief for each in summary.attempt_records]
    found = [each.counterexamples for each in briefs if each]
    assert found == [(each,) for each in codec.found]
    prompts = [each.prompt for each in factory.model.requests]
    assert [[each in prompt for each in codec.found] for prompt in prompts] == [
        [False, False],
        [True, False],
        [True, True],
    ]
    assert "have to work" not in prompts[0]


@pytest.mark.rest
def test_without_the_property_the_fault_lands(factory: Factory) -> None:
    codec = HYPOTHESIS
    summary = factory.run(
        codec.order(has_property=False), [proposal(codec.written(codec.faults[0]))], max_attempts=1
    )
    assert summary.verdict == "PASS"
