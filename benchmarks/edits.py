"""What it costs to assemble a long file from the parts of it that a reply changes."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.measure import cpu_seconds_of, interleave
from benchmarks.rows import Aim, Section, timed
from benchmarks.setting import Bench
from factory.proposal.assemble_edits import Present, assemble
from factory.proposal.edit_blocks import Block, DefinitionBlock, SearchBlock

_LINES = 20_000
_LIMIT_MS = 50
_OLD = "        return total * 321\n"
_NEW = "        return total + 321\n"


def measure_edits(bench: Bench) -> Section:
    """Return the rows of one change by a search text, by name, and of ten changes by name."""
    text = _module(_LINES)
    blocks: dict[str, list[Block]] = {
        "one search text": [SearchBlock("a.py", _OLD, _NEW)],
        "one definition": [_definition(321)],
        "ten definitions": [_definition(number) for number in range(0, 1000, 100)],
    }
    cases = {name: _assembling(text, each) for name, each in blocks.items()}
    cases["floor"] = lambda: cpu_seconds_of(lambda: text.replace(_OLD, _NEW))
    taken = interleave(cases, bench.rounds(15))
    return Section(
        f"Edits of a Python file of {_LINES:,} lines, assembled",
        tuple(
            timed(name, taken[name], taken["floor"], "str.replace", Aim(extra=_LIMIT_MS))
            for name in blocks
        ),
    )


def _assembling(text: str, blocks: list[Block]) -> Callable[[], float]:
    present = Present(("a.py",), {"a.py": text})

    def assembling() -> None:
        assembled = assemble(blocks, present)
        assert assembled.files and not assembled.refusals, assembled.refusals

    return lambda: cpu_seconds_of(assembling)


def _definition(number: int) -> Block:
    code = f"def count_{number}(self, total: int) -> int:\n    return total + {number}\n"
    return DefinitionBlock("a.py", f"Part{number}.count_{number}", code)


def _module(lines: int) -> str:
    classes = (_class(number) for number in range(lines // 10))
    return "import os\n\n\n" + "\n\n".join(classes)


def _class(number: int) -> str:
    return f'''\
class Part{number}:
    """Hold part {number}."""

    def count_{number}(self, total: int) -> int:
        """Return a count."""
        total += {number}  # this part's
        return total * {number}

'''
