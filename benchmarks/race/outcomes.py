"""Keeps what came of a race, and turns it into the tables of `docs/race.md`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import comb
from pathlib import Path
from statistics import median

from benchmarks.model.figures import Rate
from shared.files.atomic_io import write_bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold what came of one task by one tool. `beside` are files that it had no reason to touch."""

    model: str
    tool: str
    task: str
    kind: str
    solved: bool
    claimed: bool
    beside: tuple[str, ...]
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float

    @property
    def is_wrong_claim(self) -> bool:
        """Return whether the tool says that it is done, and hidden tests say otherwise."""
        return self.claimed and not self.solved

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def key(self) -> tuple[str, str, str]:
        return self.model, self.tool, self.task


def add_outcome(file: Path, outcome: Outcome) -> None:
    """Add a line to a file of outcomes, which stays whole wherever this ends."""
    rows = sorted([*read_outcomes(file), outcome], key=lambda each: each.key)
    text = "".join(json.dumps(asdict(each)) + "\n" for each in rows)
    write_bytes(file, text.encode())


def read_outcomes(file: Path) -> list[Outcome]:
    """Return the outcomes of a file, sorted; none where there is no such file."""
    if not file.exists():
        return []
    documents = map(json.loads, file.read_text("utf-8").splitlines())
    found = [Outcome(**{**each, "beside": tuple(each["beside"])}) for each in documents]
    return sorted(found, key=lambda each: each.key)


def render_race(outcomes: Sequence[Outcome]) -> str:
    """Return a table for each model: rates with intervals, and pairs with the plain prompt."""
    parts = []
    for model, of_model in groupby(outcomes, lambda each: each.model):
        rows = list(of_model)
        by_tool = {tool: list(each) for tool, each in groupby(rows, lambda each: each.tool)}
        parts.append(f"### {model}\n\n{''.join(_table(by_tool))}")
    return "\n".join(parts)


_HEAD = (
    "| tool | n | solved | claimed done and wrong | beside | calls | tokens in, out, a task "
    "| seconds a task | solved alone: it, plain | p |\n|---|---|---|---|---|---|---|---|---|---|\n"
)


def _table(by_tool: Mapping[str, Sequence[Outcome]]) -> Iterator[str]:
    yield _HEAD
    plain = {each.task: each.solved for each in by_tool.get("plain", ())}
    for tool, rows in by_tool.items():
        n = len(rows)
        solved = Rate(sum(each.solved for each in rows), n)
        wrong = Rate(sum(each.is_wrong_claim for each in rows), n)
        pairs = [(each.solved, plain[each.task]) for each in rows if each.task in plain]
        it = sum(solved_it and not alone for solved_it, alone in pairs)
        other = sum(alone and not solved_it for solved_it, alone in pairs)
        cells = (
            tool,
            str(n),
            solved.render(),
            wrong.render(),
            str(sum(bool(each.beside) for each in rows)),
            f"{sum(each.calls for each in rows) / n:.1f}",
            f"{sum(each.input_tokens for each in rows) // n:,}, "
            f"{sum(each.output_tokens for each in rows) // n:,}",
            f"{median(each.seconds for each in rows):.0f}",
            "" if tool == "plain" else f"{it}, {other}",
            "" if tool == "plain" else f"{sign_test(it, other):.2f}",
        )
        yield f"| {' | '.join(cells)} |\n"


def sign_test(one: int, other: int) -> float:
    """Return how likely so uneven a split of the pairs that differ is by chance (McNemar, exact).

    1 where no pair differs.
    """
    n = one + other
    tail = sum(comb(n, k) for k in range(min(one, other) + 1)) / float(2**n)
    return min(1.0, 2 * tail)
