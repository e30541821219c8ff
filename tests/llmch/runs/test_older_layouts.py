"""What earlier versions wrote is read: one small fixture of each layout of a run's records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from llmch.page.run_page import render_page
from llmch.runs.read_run import read_report
from llmch.runs.run_model import Judged, RunView, Standing

RUN = "01M815000000000000000000AA"
COMMIT = "1" * 40
USAGE = {
    "calls": 2,
    "input_tokens": 200,
    "cached_tokens": 0,
    "output_tokens": 20,
    "reasoning_tokens": 0,
    "cost_usd": None,
}
HEAD: dict[str, Any] = {
    "run_id": RUN,
    "started": "2026-01-01T00:00:00.000+00:00",
    "ended": "2026-01-01T00:00:09.000+00:00",
    "status": "completed",
    "branch": "work",
    "base": "0" * 40,
    "model": "small",
    "temperature": 0.0,
    "max_attempts": 5,
    "timeout_seconds": 300.0,
    "sandbox": "off",
    "python": "/usr/bin/python3",
}
COMMAND = {
    "command": ["pytest", "-q"],
    "exit_code": 1,
    "cause": "exited",
    "stdout_trunc": "1 failed",
    "stderr_trunc": "",
    "stdout_path": "attempt_1/out.log",
    "stderr_path": "attempt_1/err.log",
    "duration_seconds": 0.5,
    "sandbox": "off",
    "note": "",
}
"""The first layout named a sandbox by a word, counted no tests and knew no flaky commands."""
BRIEF = {
    "stage": "verify_failed",
    "command": "pytest -q",
    "exit_code": 1,
    "primary_error_excerpt": "1 failed",
    "constraints_reminder": "",
    "log": "attempt_1/out.log",
}
SUMMARY: dict[str, Any] = {
    "verdict": "PASS",
    "state": "landed",
    "work_order": "WO-01",
    "run_id": RUN,
    "run_dir": "/artifacts/factory/" + RUN,
    "branch": "work",
    "commit": COMMIT,
    "parent": "0" * 40,
    "attempts": 2,
    "failure": None,
    "warnings": ["a warning"],
    "usage": USAGE,
    "repo_tree_hash_after": "2" * 40,
    "attempt_records": [
        {
            "attempt_index": 1,
            "baseline_commit": "0" * 40,
            "proposal_path": None,
            "touched_files": [],
            "write_ok": True,
            "verify": [COMMAND],
            "acceptance": [],
            "drift": [],
            "model": "small",
            "failure_brief": BRIEF,
        }
    ],
}
WITHOUT_RECORDS = {each: SUMMARY[each] for each in SUMMARY if each != "attempt_records"}
BATCH = {"verdict": "PASS", "branch": "work", "base": "0" * 40, "tip": COMMIT, "usage": USAGE}
KILLED = {
    "verdict": "ERROR",
    "state": "interrupted",
    "cause": "the process ended without recording its end",
    "last_step": "stage",
    "landed": [],
}
ATTEMPT = {"attempt_1/failure_brief.json": BRIEF, "attempt_1/verify_result.json": [COMMAND]}
IN_FOLDER = {f"WO-01/{name}": each for name, each in ATTEMPT.items()}

LAYOUTS: dict[str, Mapping[str, Any]] = {
    "the first, one order": {
        "run.json": {**HEAD, "command": "run", "summary": WITHOUT_RECORDS},
        "run_summary.json": SUMMARY,
        "attempt_1/proposed_writes.json": {"summary": "as asked", "writes": []},
        **ATTEMPT,
    },
    "the first, a plan": {
        "run.json": {
            **HEAD,
            "command": "run-all",
            "workdir": "/gone",
            "summary": {**BATCH, "orders": [WITHOUT_RECORDS]},
        },
        "WO-01/run_summary.json": SUMMARY,
        **IN_FOLDER,
    },
    "the orders are named": {
        "run.json": {
            **HEAD,
            "command": "run-all",
            "workdir": "/gone",
            "orders": [{"id": "WO-01", "order_key": "k"}],
        },
        "run_summary.json": {**BATCH, "orders": [SUMMARY]},
        "WO-01/run_summary.json": {**SUMMARY, "flags": []},
        **IN_FOLDER,
    },
}


def read(folder: Path, layout: Mapping[str, Any]) -> RunView:
    for name, document in layout.items():
        path = folder / RUN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    return read_report(str(folder / RUN), None, folder)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_run_of_an_earlier_layout_is_read(tmp_path: Path, name: str) -> None:
    run = read(tmp_path, LAYOUTS[name])
    assert (run.standing, run.branch, run.tip) == (Standing.PASSED, "work", COMMIT)
    (order,) = run.orders
    assert (order.state, order.commit, order.warnings) == ("landed", COMMIT, ("a warning",))
    assert (order.usage.calls, run.usage.input_tokens) == (2, 200)
    (attempt,) = order.attempts
    assert (attempt.judged, attempt.model) == (Judged.FAILED, "small")
    assert attempt.brief is not None and attempt.brief.excerpt == "1 failed"
    assert [(each.text, each.exit_code) for each in attempt.commands] == [("pytest -q", 1)]
    assert "</html>" in render_page(run)


def test_a_run_that_was_killed_has_the_summary_of_the_next_start(tmp_path: Path) -> None:
    head = {**HEAD, "command": "run", "status": "interrupted", "summary": KILLED}
    head["orders"] = [{"id": "WO-01", "order_key": "k"}]
    run = read(tmp_path, {"run.json": head, "run_summary.json": KILLED})
    assert run.standing is Standing.INTERRUPTED
    assert [each.state for each in run.orders] == ["waiting"]
    assert not [each for each in run.gaps if "run_summary.json" in each]
