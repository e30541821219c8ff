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

from tests.bench.measure import Samples, counting, interleave
from tests.bench.rows import Aim, Row, Section, fell_short, render_table

_PROJECT = Path(__file__).resolve().parents[1]
_COUNTED = ("heavy libraries loaded", "processes started", "waits for the disk")


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick", "--json"],
        cwd=_PROJECT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_row_has_a_figure_or_says_why_not(table: dict[str, Any]) -> None:
    assert {row["section"].split(",")[0].split(":")[0] for row in table["rows"]} == {
        "Start",
        "Planning",
        "Commands against interfaces",
        "run of one order",
        "run-all",
        "run-all --jobs",
        "Looking at a plan and at a run",
        "Commands",
    }
    for row in table["rows"]:
        assert row["notes"] if row["value"] is None else math.isfinite(row["value"]), row


def test_what_is_counted_and_not_timed_meets_its_aim(table: dict[str, Any]) -> None:
    counted = [row for row in table["rows"] if row["name"].endswith(_COUNTED)]
    assert len(counted) == 6
    assert [row for row in counted if not row["met"]] == []


def test_an_aim_may_be_a_ratio_an_addition_or_a_figure() -> None:
    assert Aim(factor=1.5).limit(10) == 15
    assert Aim(factor=1, extra=150).limit(10) == 160
    assert Aim(extra=50).limit(None) == 50
    assert [Aim(factor=1.5).render("ms"), Aim(1, 150).render("ms"), Aim(extra=50).render("us")] == [
        "1.5x",
        "+150 ms",
        "50 us",
    ]


def test_what_fell_short_is_named_below_the_table() -> None:
    rows = (
        Row("fast", 10.0, "ms", 10.0, "floor", Aim(factor=2)),
        Row("slow", 30.0, "ms", 10.0, "floor", Aim(factor=2)),
        Row("absent", None, "ms", 10.0, "floor", Aim(factor=2), notes="no bwrap"),
        Row("shown", 30.0, "ms"),
    )
    sections = [Section("All", rows)]
    assert fell_short(sections) == ["slow"]
    text = render_table(sections)
    assert "1 of 2 aims met\n  fell short: slow\n" in text
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
