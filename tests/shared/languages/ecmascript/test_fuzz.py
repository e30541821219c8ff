"""No text makes the readers of JavaScript and TypeScript raise, or take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.languages.acceptance_commands import analyse_command
from shared.languages.declared.declarations import seconds_for
from shared.languages.ecmascript.assertions import weakness_of_code
from shared.languages.ecmascript.chosen_tests import cases_of, glob_shape
from shared.languages.ecmascript.compiler_question import Question
from shared.languages.ecmascript.compiler_view import kinds_of, surely_differ
from shared.languages.ecmascript.contract_history import History
from shared.languages.ecmascript.declaration_stubs import Stub, conflicts, parse_stub
from shared.languages.ecmascript.definitions import defined_names, read_source
from shared.languages.ecmascript.ecmascript_language import TYPESCRIPT
from shared.languages.ecmascript.ecmascript_syntax import tree_of
from shared.languages.ecmascript.empty_code import build_skeleton
from shared.languages.ecmascript.typescript_compiler import parse_output
from shared.work_order.work_order import Interface
from tests.shared.languages.ecmascript.plans import chain, faults

PIECES = [
    "export ", "import ", "from ", "'./a'", "{", "}", "(", ")", "[", "]", ";", ",", "=>", "=", ":",
    "class A ", "extends B ", "function f", "const x", "declare ", "type T ", "interface I ", "<T>",
    "string", "number", "Promise<", ">", "|", "'hit'", "expect", ".toBe", "assert.equal", "test",
    ".skip", "describe", "await ", "async ", "require", "`${", "`", "\n", "/*", "*/", "//", "...",
    "?", "new ", "return ", "typeof ", "\\", "\0", "\ud800", "ü", "😀", "default ", "static ",
    "get ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=80)
WORDS = st.sampled_from(
    ["node", "-e", "-p", "--test", "npm", "run", "test", "npx", "vitest", "-t", "x", "'", '"', "--",
     "a.test.js", "tests/*.ts", "{a,b", "**/", "--input-type=module", "import './a'", "=", "bun"]
)  # fmt: skip
COMMANDS = st.lists(WORDS, max_size=10).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_no_text_makes_a_reader_raise(first: str, second: str) -> None:
    for path in ("a.js", "a.ts", "a.tsx"):
        root = tree_of(path, first)
        if root is not None:
            cases_of(root)
            weakness_of_code(root)
    stubs = [parse_stub("a.ts", first), parse_stub("a.js", second)]
    if isinstance(stubs[0], Stub) and isinstance(stubs[1], Stub):
        list(conflicts(stubs[0], stubs[1]))
    build_skeleton([Interface(path="a.ts", stub=first)], {"a.ts": second})
    parse_output(first, "view")
    kinds_of(first)
    surely_differ(first, second)
    glob_shape(first)


@pytest.mark.rest
@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, COMMANDS, TEXTS)
def test_no_plan_makes_the_judge_raise(stub: str, test: str, command: str, manifest: str) -> None:
    order = {
        "interfaces": [{"path": "a.js", "stub": stub}],
        "acceptance_files": [{"path": "a.test.js", "content": test}],
        "acceptance_commands": [command, "node --test a.test.js"],
    }
    repo = {"package.json": manifest, "tsconfig.json": test, "b.ts": stub}

    faults(chain([order, order], repo))


@given(st.text(max_size=40), st.integers(0, 5), st.integers(0, 60))
def test_any_place_in_a_text_can_be_looked_up(text: str, line: int, column: int) -> None:
    Question("a.js", text, History(chain([])).at(0)).node_at(line, column)


_SIZE = 200_000
_PLAIN = "export function f(a: number): number {\n  return a;\n}\n" * (_SIZE // 54)


@pytest.mark.rest
@pytest.mark.parametrize(
    "piece",
    [
        "test('a', () => { expect(f(1)).toBe(2); });\n",
        "export declare function f(a: string): number;\n",
        "export class A { b() { return 1; } }\n",
        "It is not code, but words.\n",
        "'",
        "{",
        "`${",
        "<a",
        "a.",
        "class A {",
        " ",
    ],
)
def test_200_kilobytes_of_any_text_are_read_in_a_bounded_time(piece: str) -> None:
    """The floor is the syntax tree of as much plain code, which takes a tenth of a second."""
    text = piece * (_SIZE // len(piece))
    floor = _seconds(lambda: tree_of("a.ts", _PLAIN))
    for read in (_read_code, _read_stub, _read_definitions, analyse_command):
        # The reader of syntax gives up text that is not code after its own limit.
        assert _seconds(partial(read, text)) < 2 * seconds_for(text) + 20 * floor, read


def _seconds(act: Callable[[], object]) -> float:
    """Return the processor time, which other work on the machine does not lengthen."""
    start = time.thread_time()
    act()
    return time.thread_time() - start


def _read_code(text: str) -> None:
    root = tree_of("a.ts", text)
    if root is not None:
        cases_of(root)
        weakness_of_code(root)


def _read_stub(text: str) -> None:
    parse_stub("a.ts", text)


def _read_definitions(text: str) -> None:
    read_source("a.ts", text)
    defined_names(text)


def _outline(text: str) -> None:
    assert TYPESCRIPT.edits is not None
    TYPESCRIPT.edits.outline(text)
