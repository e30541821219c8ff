"""A record of the journal is read back as it was written, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.stages import AttemptStage, Failure, Stage
from factory.record.journal import journal_path, open_journal, read_journal, read_understood
from factory.record.journal_entries import (
    CandidateCoupled,
    CandidateDropped,
    Entry,
    FailedAttempt,
    JournalStep,
    LandingBegun,
    ListedOrder,
    OrderBegun,
    OrderConcluded,
    OrderLanded,
    OrderStopped,
    RunBegun,
    RunConcluded,
    StageBegun,
    WorkspaceOpened,
    WorkspaceOpening,
    parse_entry,
    render_entry,
)
from factory.record.projection import IllegalTransition, OrderActivity, RunProjection, project
from factory.record.run_status import StateFile, read_status
from shared.errors import Busy, CommandFailed
from shared.events.events import Ending
from shared.llm.replayed_replies import EarlierRun
from shared.llm.usage import UsageRecord
from tests.harness import Json

# Lone surrogates are how Python holds a path that is not UTF-8; titles come from a model.
texts = st.text(st.characters(codec=None), max_size=20)
# No path has a NUL, and a record that names one is refused.
paths = st.builds(Path, st.text(st.characters(codec=None, exclude_characters="\0"), max_size=20))
counts = st.integers(0, 10**12)
usages = st.builds(
    UsageRecord,
    calls=counts,
    input_tokens=counts,
    cached_tokens=counts,
    output_tokens=counts,
    reasoning_tokens=counts,
    cost_usd=st.none() | st.floats(0, 1e6),
    replayed_calls=counts,
)
stages: st.SearchStrategy[Any] = st.sampled_from(Stage) | st.just("error")
failures = st.builds(
    Failure,
    stage=stages,
    command=st.none() | texts,
    exit_code=st.none() | st.integers(-64, 255),
    excerpt=texts,
)
earlier = st.builds(EarlierRun, transcript=paths, anew=st.frozensets(texts, max_size=3))
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(
        RunBegun,
        run_id=texts,
        pid=counts,
        started=texts,
        folder=paths,
        orders=st.lists(st.builds(ListedOrder, texts, texts), max_size=3).map(tuple),
        branch=texts,
        base=texts,
        transcript=paths,
        author=texts,
        date=texts,
        earlier=st.lists(earlier, max_size=3).map(tuple),
    ),
    st.builds(WorkspaceOpening, paths),
    st.builds(WorkspaceOpened, paths),
    st.builds(OrderBegun, texts, texts, st.none() | counts),
    st.builds(StageBegun, texts, counts, st.sampled_from(AttemptStage), st.none() | usages),
    st.builds(FailedAttempt, texts, counts, failures, st.none() | usages),
    st.builds(CandidateCoupled, texts, texts, texts, st.lists(texts, max_size=3).map(tuple)),
    st.builds(CandidateDropped, texts, texts, counts, st.none() | failures),
    st.builds(LandingBegun, texts, texts, texts, texts),
    st.builds(OrderLanded, texts, texts, st.booleans(), texts),
    st.builds(
        OrderConcluded,
        texts,
        st.sampled_from(["PASS", "FAIL", "ERROR"]),
        st.none() | failures,
        usages,
    ),
    st.builds(OrderStopped, texts, usages),
    st.builds(RunConcluded, st.none() | st.sampled_from(Ending)),
)

USAGE: Json = {
    "calls": 1,
    "input_tokens": 100,
    "cached_tokens": 0,
    "output_tokens": 10,
    "reasoning_tokens": 0,
    "cost_usd": None,
    "replayed_calls": 0,
}
# As the version before these types wrote them: a plan's first order failed twice.
OLDER: list[Json] = [
    {
        "step": "run_begun",
        "run_id": "01M815000000000000000000AA",
        "pid": 42,
        "started": "2026-01-01T00:00:00.000+00:00",
        "folder": "/artifacts/factory/01M815000000000000000000AA",
        "orders": [{"id": "WO-01", "title": "One"}, {"id": "WO-02", "title": "Two"}],
        "branch": "work",
        "base": "0" * 40,
        "transcript": "/artifacts/transcript.jsonl",
        "earlier": [{"transcript": "/before.jsonl", "anew": ["WO-02"]}],
    },
    {"step": "workspace_opening", "root": "/workspaces/run/1/repo"},
    {"step": "workspace_opened", "root": "/workspaces/run/1/repo"},
    {"step": "landed", "order": "WO-02", "commit": "2" * 40, "skipped": True},
    {"step": "order_begun", "order": "WO-01", "base": "0" * 40},
    {"step": "stage", "order": "WO-01", "attempt": 1, "stage": "propose"},
    {"step": "attempt_failed", "order": "WO-01", "attempt": 1, "stage": "verify_failed"},
    {"step": "stage", "order": "WO-01", "attempt": 2, "stage": "propose"},
    {"step": "landing", "order": "WO-01", "branch": "work", "old": "0" * 40, "new": "1" * 40},
    {
        "step": "order_ended",
        "order": "WO-01",
        "verdict": "FAIL",
        "failure": "acceptance_failed",
        "usage": USAGE,
    },
    {"step": "run_ended"},
]


def line(document: object) -> bytes:
    return json.dumps(document).encode()


@given(entries)
def test_a_record_is_read_back_as_it_was_written(entry: Entry) -> None:
    written = render_entry(entry)
    assert "\n" not in written
    assert parse_entry(written.encode("ascii")) == entry


def test_every_step_has_a_record() -> None:
    assert {each.step for each in Entry.__args__} == set(JournalStep)


@pytest.mark.parametrize("step", JournalStep)
def test_a_record_of_any_step_is_read_or_refused_in_words(step: JournalStep) -> None:
    with contextlib.suppress(ValueError):
        parse_entry(line({"format": 1, "step": step}))


def test_the_journal_of_an_older_version_is_understood() -> None:
    status = project(parse_entry(line({"format": 1, **each})) for each in OLDER)
    assert status is not None
    one, two = status.orders.values()
    assert (one.state, one.attempts, one.commit) == (OrderActivity.FAILED, 2, "")
    assert one.failure == Failure(Stage.ACCEPTANCE_FAILED)
    assert (two.state, two.skipped, two.commit) == (OrderActivity.SUCCESS, True, "2" * 40)
    assert (status.ended, status.ending) == (True, None)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "not a JSON object"),
        ({}, "another version"),
        ({"format": 2, "step": "run_ended"}, "another version"),
        ({"format": 1}, "'step' is missing"),
        ({"format": 1, "step": "tea_made"}, "'step' has the unknown value 'tea_made'"),
        ({"format": 1, "step": ["run_ended"]}, "'step' is not a string"),
        ({"format": 1, "step": "order_begun", "order": "WO-01"}, "'base' is missing"),
        ({"format": 1, **OLDER[5], "attempt": True}, "'attempt' is not a whole number"),
        ({"format": 1, **OLDER[5], "stage": "tea"}, "'stage' has the unknown value 'tea'"),
        ({"format": 1, **OLDER[0], "orders": ["WO-01"]}, "'orders[0]' is not a JSON object"),
        ({"format": 1, **OLDER[9], "usage": {}}, "'usage.calls' is missing"),
        ({"format": 1, **OLDER[9], "verdict": "MAYBE"}, "'verdict' has the unknown value 'MAYBE'"),
    ],
)
def test_what_is_no_record_is_refused_in_words(tmp_path: Path, document: Any, said: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line({"format": 1, "step": "run_ended"}) + b"\n" + line(document) + b"\n")
    with pytest.raises(Busy) as refused:
        read_journal(path)
    assert f"{path}, line 2 cannot be understood: " in refused.value.message
    assert said in refused.value.message
    assert "llmch reset" in refused.value.hint


def test_a_journal_of_what_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    path = journal_path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(render_entry(OrderLanded("WO-01", "1" * 40, False)) + "\n")
    with pytest.raises(Busy) as refused:
        read_status(tmp_path)
    assert str(path) in refused.value.message
    assert "llmch reset" in refused.value.hint


@given(st.binary(max_size=80) | st.dictionaries(texts, st.none() | texts | counts).map(line))
def test_no_line_makes_reading_fail_in_another_way(written: bytes) -> None:
    with contextlib.suppress(ValueError):
        parse_entry(written)


def test_a_reset_finds_what_can_still_be_understood(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    opened = WorkspaceOpening(Path("/workspaces/run/1/repo"))
    path.write_text(f"{{}}\n{render_entry(opened)}\nnot JSON\n{render_entry(RunConcluded())}\n")
    assert read_understood(path) == (opened, RunConcluded())
    assert read_understood(tmp_path / "missing") == ()


def test_a_thread_that_was_left_behind_cannot_write_after_the_end(tmp_path: Path) -> None:
    (tmp_path / "llmch").mkdir()
    with open_journal(tmp_path) as journal:
        journal.record(WorkspaceOpening(tmp_path))
    before = journal_path(tmp_path).read_bytes()
    with pytest.raises(CommandFailed):
        journal.record(WorkspaceOpened(tmp_path))
    assert journal_path(tmp_path).read_bytes() == before


@given(st.lists(entries, max_size=8))
def test_whoever_watches_a_run_does_not_end_it(recorded: list[Entry]) -> None:
    """A record that cannot follow the last one is for `status` to report."""
    state = StateFile(Path("/nowhere"))
    for entry in recorded:
        state(entry)


@given(st.lists(entries, max_size=8))
def test_a_status_is_not_changed_by_what_comes_after(recorded: list[Entry]) -> None:
    projection = RunProjection()
    seen = []
    for entry in recorded:
        with contextlib.suppress(IllegalTransition):
            projection.take(entry)
        seen.append((projection.status, repr(projection.status)))
    assert [repr(status) for status, _ in seen] == [before for _, before in seen]


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (None, Ending.COMPLETED),
        (KeyboardInterrupt(), Ending.INTERRUPTED),
        (Busy("busy"), Ending.ERROR),
        (RuntimeError("a bug"), Ending.INTERNAL_ERROR),
    ],
)
def test_the_last_record_says_how_the_run_ended(
    tmp_path: Path, error: BaseException | None, ending: Ending
) -> None:
    (tmp_path / "llmch").mkdir()
    try:
        with open_journal(tmp_path) as journal:
            journal.record(WorkspaceOpening(tmp_path))
            if error:
                raise error
    except (Exception, KeyboardInterrupt) as raised:
        assert raised is error
    assert read_journal(journal_path(tmp_path))[-1] == RunConcluded(ending)
