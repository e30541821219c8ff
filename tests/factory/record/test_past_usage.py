"""What earlier runs took, read from their records, whatever is in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factory.record.past_usage import PastUsage, read_past_usage
from tests.factory.batch.batching import each_writes, step, wrong, wrote
from tests.fakes import proposal
from tests.harness import Factory, manifest, order

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["orders", "usage", "state", "attempts", "calls"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def summary(calls: Any = 2, output: Any = 200, attempts: Any = 1, state: Any = "landed") -> Any:
    usage = {"calls": calls, "output_tokens": output}
    return {"state": state, "attempts": attempts, "usage": usage}


def record(artifacts: Path, name: str, summary: Any, **changes: Any) -> Path:
    path = artifacts / "factory" / name / "run.json"
    path.parent.mkdir(parents=True)
    head = {"repo": str(artifacts.parent.resolve()), "model": "small", "summary": summary}
    path.write_text(json.dumps(head | changes))
    return path


def read(artifacts: Path) -> PastUsage | None:
    return read_past_usage(artifacts, artifacts.parent, "small")


def test_real_runs_are_read_back(factory: Factory) -> None:
    factory.run(order(), ["no proposal", proposal({"hello.txt": "hello\n"})])
    factory.run_all(
        manifest([step(1), step(2)]),
        {**each_writes(1), "WO-02": [wrong, wrong, wrote(2)]},
        branch="other",
    )
    # Three orders took two, one and three calls; each reply has 10 tokens.
    assert read_past_usage(factory.artifacts, factory.repo, "scripted") == PastUsage(3, 2, 10)
    assert read_past_usage(factory.artifacts, factory.repo, "another") is None
    assert read_past_usage(factory.artifacts, factory.scratch, "scripted") is None


def test_attempts_that_a_record_answered_count_as_calls_but_not_as_output(tmp_path: Path) -> None:
    record(tmp_path / "artifacts", "1", summary(calls=1, output=90, attempts=3))
    assert read(tmp_path / "artifacts") == PastUsage(1, 3, 90)


@pytest.mark.parametrize(
    "odd",
    [
        summary(state="pending"),
        summary(state="skipped", calls=0),
        summary(calls=True),
        summary(calls="2"),
        summary(calls=-1),
        summary(output=10**30),
        summary(output=1.5),
        {"orders": [None, 1, {"usage": {}}]},
        {"usage": None},
        [],
        None,
    ],
    ids=str,
)
def test_what_is_no_figure_is_left_out(tmp_path: Path, odd: Any) -> None:
    artifacts = tmp_path / "artifacts"
    record(artifacts, "1", odd)
    assert read(artifacts) is None
    record(artifacts, "2", summary())
    assert read(artifacts) == PastUsage(1, 2, 100)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(odd=JSON)
def test_no_record_ends_in_an_exception(tmp_path: Path, odd: Any) -> None:
    path = tmp_path / "artifacts/factory/1/run.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"repo": str(tmp_path.resolve()), "model": "small", "summary": odd}
    path.write_text(json.dumps(head))
    read(tmp_path / "artifacts")
    path.write_text(json.dumps(odd))
    read(tmp_path / "artifacts")


def test_garbage_in_the_folder_is_left_out(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    record(artifacts, "1", summary())
    record(artifacts, "2", summary(calls=9)).write_bytes(b"\xff{")
    record(artifacts, "3", summary(calls=9)).write_text('{"repo": ' + "[" * 10_000)
    large = json.loads(record(artifacts, "4", summary(calls=9)).read_text())
    (artifacts / "factory/4/run.json").write_text(json.dumps(large) + " " * 2_000_001)
    record(artifacts, "5", summary()).unlink()
    os.mkfifo(artifacts / "factory/5/run.json")
    (artifacts / "factory/6").write_text("a file")
    record(artifacts, ".7", summary(calls=9))
    assert read(artifacts) == PastUsage(1, 2, 100)


def test_only_the_latest_runs_count(tmp_path: Path) -> None:
    for number in range(25):
        record(tmp_path / "artifacts", f"{number:02d}", summary(calls=1 if number >= 5 else 9))
    assert read(tmp_path / "artifacts") == PastUsage(20, 1, 200)


def test_without_any_record_nothing_is_known(tmp_path: Path) -> None:
    assert read(tmp_path / "artifacts") is None
