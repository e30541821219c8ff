"""What the outline of a repo's files costs, which the planner's model is shown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Final

import tree_sitter_go
import tree_sitter_javascript
import tree_sitter_rust
import tree_sitter_typescript

from benchmarks.measure import cpu_seconds_of, interleave
from benchmarks.rows import Aim, Section, timed
from benchmarks.setting import Bench
from shared.languages.capabilities import Edits
from shared.languages.declared.declarations import parse
from shared.languages.registry import LANGUAGES

_OUTLINERS: Final = tuple(each.outliner for each in LANGUAGES)
_EDITS: Final = {each.name: each.edits for each in LANGUAGES}
_MORE: Final = count(1)
_BYTES: Final = 200_000  # of code in each language
_LIMIT: Final = 5  # times the reading of the syntax tree: definitions with what edits need
# By language: one of the declarations that the code is made of.
_CODE: Final = {
    "Python": "def f{0}(a: int, b: str = '') -> int:\n    return a + len(b) + {0}\n\n\n",
    "JavaScript": "export function f{0}(a, b = '') {{\n  return a + b.length + {0};\n}}\n\n",
    "TypeScript": "export function f{0}(a: number, b = ''): number {{\n  return a + {0};\n}}\n\n",
    "Go": "func F{0}(a int, b string) int {{\n\treturn a + len(b) + {0}\n}}\n\n",
    "Rust": "pub fn f{0}(a: usize, b: &str) -> usize {{\n    a + b.len() + {0}\n}}\n\n",
}

_PARSED: Final[Mapping[str, Callable[[str], object]]] = {
    "Python": ast.parse,
    "JavaScript": partial(parse, tree_sitter_javascript.language),
    "TypeScript": partial(parse, tree_sitter_typescript.language_typescript),
    "Go": partial(parse, tree_sitter_go.language),
    "Rust": partial(parse, tree_sitter_rust.language),
}


def measure_outlines(bench: Bench) -> Section:
    """Return a row for each language, beside reading the same text as a syntax tree."""
    cases: dict[str, Callable[[], float]] = {}
    for outliner in _OUTLINERS:
        code = _code_of(outliner.name)
        edits = _EDITS[outliner.name]
        assert edits is not None
        outline = partial(_outline, edits, code)
        cases[outliner.name] = partial(cpu_seconds_of, outline)
        cases[f"floor {outliner.name}"] = partial(
            cpu_seconds_of, partial(_PARSED[outliner.name], code)
        )
    taken = interleave(cases, bench.rounds(9), warm=True)
    return Section(
        "Outlines: 200 KB of code in one file",
        tuple(
            timed(
                outliner.name,
                taken[outliner.name],
                taken[f"floor {outliner.name}"],
                "its syntax tree read",
                Aim(_LIMIT),
                notes="processor time",
            )
            for outliner in _OUTLINERS
        ),
    )


def _code_of(language: str) -> str:
    head = "package main\n\n" if language == "Go" else ""
    one = _CODE[language]
    return head + "".join(one.format(number) for number in range(_BYTES // len(one)))


def _outline(edits: Edits, code: str) -> None:
    # Each text is read anew: what was read is kept.
    assert edits.outline(code + "\n" * next(_MORE)), "the code has an outline"
