"""No text, whatever it holds, makes the readers of Go and Rust raise."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.acceptance_commands import analyse_command
from shared.languages.capabilities import NamedCode
from shared.languages.language_tools import ToolResult, Tools
from shared.work_order.work_order import Interface
from tests.shared.languages.chains import Order, chain_of
from tests.shared.languages.declared.samples import SAMPLES, Sample

every = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.language.name)
_PIECES = st.sampled_from(
    ["func ", "fn ", "pub ", "impl ", "type ", "struct ", "(", ")", "{", "}", "<", ">", "[", "]",
     "Game", "score", "x", "é", ",", ";", ":", "::", "->", "'a ", '"', "\\", "//", "/*", "\n",
     "#[test]", "#[cfg(test)]", "mod ", "use ", "import ", "package p\n", "const ", "= 1", "*",
     "&", "self", "T", "where ", "enum ", "trait ", "interface ", " for ", "\ud800", "\0"]
)  # fmt: skip
CODE = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=60).map("".join))


class Answering:
    """Implement `ToolRunner` by an answer that a test gives."""

    def __init__(self, output: str) -> None:
        self.output = output

    def run(self, files: object, argv: object, *, seconds: float) -> ToolResult:
        return ToolResult(1, self.output, self.output)

    def close(self) -> None:
        pass


@every
@given(text=CODE, other=CODE)
def test_no_code_makes_a_reader_raise(sample: Sample, text: str, other: str) -> None:
    language = sample.language
    assert language.notes is not None
    assert language.edits is not None
    assert language.conformance is not None
    language.notes.names_in(text)
    language.notes.note_syntax(sample.path, text)
    language.notes.find_unwritten(sample.path, other, text)
    language.edits.outline(text)
    language.edits.defined_names(text)
    language.edits.check_rewrite(sample.path, text, other, (other,))
    language.edits.edit_definitions(sample.path, text, [NamedCode(other[:9], other)], ())
    language.edits.edit_definitions(sample.path, sample.code, [NamedCode("score", text)], ())
    language.conformance.build_skeleton(
        [Interface(path=sample.path, stub=text)], {sample.path: other}
    )
    with Tools() as tools:
        language.conformance.check_conformance(
            [Interface(path=sample.path, stub=text)], {sample.path: other}, tools
        )


@every
@given(stub=CODE, later=CODE, test=CODE, manifest=CODE, output=CODE)
def test_no_plan_makes_the_judge_raise(
    sample: Sample, stub: str, later: str, test: str, manifest: str, output: str
) -> None:
    assert sample.language.plans is not None
    tests = {"game/game_test.go": test, "tests/game.rs": test}
    repo = {"go.mod": manifest, "Cargo.toml": manifest, "src/lib.rs": later}
    orders = Order({sample.path: stub}, tests), Order({sample.path: later})
    chain = chain_of(*orders, repo=repo)
    code = sample.language.plans.read_chain(chain)
    list(code.interface_faults())
    for file in chain.orders[0].acceptance_files:
        if file.path.endswith(sample.language.suffixes):
            list(code.needs_of_file(1, file))
    span = {"file_name": "tests/game.rs", "line_start": 1, "column_start": 1, "is_primary": True}
    message = {"level": "error", "message": output, "code": {"code": "E0425"}, "spans": [span]}
    said = f"game/game_test.go:1:1: {output}\n{json.dumps({'message': message})}\n{output}"
    with Tools(Answering(said)) as tools:
        list(code.use_faults(tools))


@every
@given(words=st.lists(st.one_of(_PIECES, st.sampled_from(["-run", "--test", "--", "./..."]))))
def test_no_command_makes_a_reader_raise(sample: Sample, words: list[str]) -> None:
    language = sample.language
    assert language.commands is not None
    assert language.plans is not None
    program = "go test" if language.name == "Go" else "cargo test"
    command = analyse_command(f"{program} {' '.join(words)}")
    code = language.plans.read_chain(chain_of(Order({sample.path: sample.contract})))
    language.commands.needed_paths(command)
    language.commands.weakness(command)
    code.weakness(1, command)
    list(code.needs_of_command(1, command))


@pytest.mark.rest
@every
@pytest.mark.parametrize(
    "unit", ["{", "(", "é ", "func a(){}\n", "fn a(){}\n", "impl A{\n", "<", '"']
)
def test_large_texts_take_bounded_time(sample: Sample, unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert sample.language.notes is not None
    assert sample.language.edits is not None
    started = time.process_time()
    sample.language.notes.note_syntax(sample.path, text)
    sample.language.edits.outline(text)
    sample.language.notes.find_unwritten(sample.path, "", text)
    assert time.process_time() - started < 6.0  # 2 seconds on an idle machine
