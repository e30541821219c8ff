"""The bench runs, every row has a figure, and what can be counted is as it should be."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import SECTIONS, main
from benchmarks.measure import Samples, counting, interleave
from benchmarks.rows import Aim, Row, Section, lost, render_table
from benchmarks.setting import Bench
from tests.processes import lasting_ones

_PROJECT = Path(__file__).resolve().parents[1]

# What each section is called in the table, and how many of its rows count instead of timing.
_SECTIONS = {
    "start": ("Start", 5),
    "planning": ("Planning, with a model that answers at once", 0),
    "replanning": ("One change in 30 requirements, their 10 orders landed", 0),
    "plans": ("Open plans, ten orders each", 1),
    "contracts": ("Commands against interfaces", 0),
    "typescript": ("Plans in TypeScript", 0),
    "edits": ("Edits of a Python file of 20,000 lines, assembled", 0),
    "verification": ("How a repo verifies itself: found out", 0),
    "strength": ("How strong tests are: measured", 0),
    "dependencies": ("Dependencies: what a repo declares, found out", 0),
    "outlines": ("Outlines: 200 KB of code in one file", 0),
    "hints": ("What a planner's model is shown", 0),
    "run": ("run of one order, start included: commands not counted", 0),
    "do": ("llmch do: one change", 12),
    "run-all": ("run-all, each further order: commands counted, model at once", 2),
    "jobs": ("run-all --jobs: commands counted, each order verified once", 2),
    "fleet": ("run-all --on fleet: independent orders, workers of one slot", 0),
    "looking": ("Looking at a plan and at a run, start included", 1),
    "agents": ("Agents: what is around their work", 0),
    "wires": ("Wires: a call of a model", 0),
    "relay": ("The relay: a call of an agent", 0),
    "sandbox": ("Commands: one that does nothing", 0),
    "toolchains": ("Commands: the user's toolchains", 0),
}


def test_every_section_is_tried() -> None:
    assert _SECTIONS.keys() == SECTIONS.keys()


def _fails(bench: Bench) -> Section:
    raise ValueError("no such luck")


def _measures(bench: Bench) -> Section:
    return Section("What is measured", (Row("a figure", 1.0, "ms"),))


@pytest.mark.rest
def test_a_section_that_fails_takes_no_other_one_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = {"one": f"{__name__}:_fails", "other": f"{__name__}:_measures"}
    monkeypatch.setattr("benchmarks.__main__.SECTIONS", sections)
    with lasting_ones():  # Python keeps a tracker for the processes that it starts
        assert main(["--quick"]) == 1
    said = capsys.readouterr()
    assert "a figure" in said.out
    assert "no such luck" in said.err
    assert "one could not be measured" in said.err


@pytest.mark.rest
@pytest.mark.parametrize("name", _SECTIONS)
def test_every_row_has_a_figure_or_says_why_not_and_counts_meet_their_aims(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--json", name],
        cwd=_PROJECT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    title, number = _SECTIONS[name]
    assert {row["section"] for row in rows} == {title}
    for row in rows:
        assert row["notes"] if row["value"] is None else math.isfinite(row["value"]), row
    assert sum(row["counted"] for row in rows) == number


def test_an_aim_may_be_a_ratio_an_addition_or_a_figure() -> None:
    assert Aim(factor=1.5).limit(10) == 15
    assert Aim(factor=1, extra=150).limit(10) == 160
    assert Aim(extra=50).limit(None) == 50
    assert [Aim(factor=1.5).render("ms"), Aim(1, 150).render("ms"), Aim(extra=50).render("us")] == [
        "1.5x",
        "+150 ms",
        "50 us",
    ]


def test_what_lost_is_named_below_the_table() -> None:
    rows = (
        Row("fast", 10.0, "ms", 10.0, "floor", Aim(factor=2)),
        Row("slow", 30.0, "ms", 10.0, "floor", Aim(factor=2)),
        Row("absent", None, "ms", 10.0, "floor", Aim(factor=2), notes="no bwrap"),
        Row("shown", 30.0, "ms"),
    )
    sections = [Section("All", rows)]
    assert lost(sections) == ["slow"]
    text = render_table(sections)
    assert "1 of 2 aims held\n  lost: slow\n" in text
    assert "3.00x" in text
    assert "no bwrap" in text


def test_cases_are_measured_in_turns() -> None:
    order: list[str] = []

    def case(name: str) -> float:
        order.append(name)
        return float(len(order))

    taken = interleave({"a": lambda: case("a"), "b": lambda: case("b")}, 3)
    assert order == ["a", "b"] * 3
    assert taken["a"].median == 3.0
    assert taken["a"].noise is None
    assert Samples.of([1.0, 1.0, 1.0, 1.0]).noise == 0.0


def test_processes_and_syncs_are_counted_only_while_asked(tmp_path: Path) -> None:
    with counting() as counts, (tmp_path / "file").open("w") as file:
        subprocess.run(["true"], check=True)
        os.fsync(file.fileno())
    subprocess.run(["true"], check=True)
    assert (counts.processes, counts.syncs) == (1, 1)
