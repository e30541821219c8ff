"""Demands told from prose: what is found in specifications of many styles, and what is not."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from planner.spec.likeness import folded
from planner.spec.requirements import Requirement, derive_requirements

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.txt"))
EACH = pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
# Findings that are no demands are a cost; this is how many there may be among all findings.
LEAST_PRECISION = 0.95


@dataclass(frozen=True)
class Marked:
    """Hold a specification with the lines on which demands begin, and those that belong to one."""

    text: str
    begins: frozenset[int]
    belongs: frozenset[int]

    @property
    def found(self) -> tuple[Requirement, ...]:
        return derive_requirements(self.text)

    def line(self, number: int) -> str:
        return self.text.splitlines()[number - 1]


def marked(path: Path) -> Marked:
    lines = path.read_text("utf-8").splitlines()
    assert all(line[1:2] == "|" for line in lines)
    return Marked(
        "\n".join(line[2:] for line in lines),
        frozenset(number for number, line in enumerate(lines, 1) if line[0] == "D"),
        frozenset(number for number, line in enumerate(lines, 1) if line[0] == "d"),
    )


def covers(found: tuple[Requirement, ...], line: str) -> bool:
    """Say whether all words of a line are in the requirements, whatever stands between them."""
    words = set(folded(" ".join(each.text for each in found)).split())
    ids = {each.id.casefold() for each in found}
    said = {each.strip("-|:[].*`") for each in folded(line).split()}
    return all(any(word in each for each in words | ids) for word in said)


def lost_in(spec: Marked) -> list[str]:
    """Return the lines with demands, or parts of them, that are in no requirement."""
    return [
        spec.line(number)
        for number in sorted(spec.begins | spec.belongs)
        if not covers(spec.found, spec.line(number))
    ]


@EACH
def test_no_demand_is_lost(path: Path) -> None:
    spec = marked(path)
    assert lost_in(spec) == []
    assert spec.begins <= {each.line for each in spec.found} | headed(spec)


def headed(spec: Marked) -> frozenset[int]:
    """Return the lines that are a part of the requirement whose id stands in their heading."""
    owners = [each.line or 0 for each in spec.found if each.given]
    lines = spec.text.splitlines()
    return frozenset(
        number
        for number in spec.begins
        for owner in owners
        if lines[owner - 1].startswith("## ")
        and owner < number
        and not any(line.startswith("## ") for line in lines[owner : number - 1])
    )


def test_few_findings_are_no_demands() -> None:
    demands = found = false = 0
    for path in CORPUS:
        spec = marked(path)
        owned = {spec.line(each.line or 0).startswith("## ") and each.line for each in spec.found}
        wrong = [each for each in spec.found if each.line not in spec.begins | owned]
        demands += len(spec.begins)
        found += len(spec.found)
        false += len(wrong)
        for each in wrong:
            sys.stdout.write(f"{path.stem}, line {each.line}: {each.text}\n")
    lost = sum(len(lost_in(marked(path))) for path in CORPUS)
    sys.stdout.write(
        f"Demands: {demands - lost} of {demands} found (recall {1 - lost / demands:.2f}); "
        f"{found} requirements, {false} of them no demands (precision {1 - false / found:.2f})\n"
    )
    assert 1 - false / found >= LEAST_PRECISION
