"""Each record of a run, damaged in each way: an answer or a refusal that names it, no traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from factory.orders.documents import CmdResult, FailureBrief, RunSummary
from factory.record.runs_on_record import RunDocument, RunOutcome
from llmch.page.run_page import render_page
from llmch.runs.read_run import read_report
from llmch.runs.run_model import RunView
from llmch.runs.run_report import RunReportDocument
from shared.errors import ExitCode
from shared.files.typed_documents import Faults, read_record
from tests.llmch.command_line import Words, say_in

RECORDS = (
    "run.json",
    "events.jsonl",
    "transcript.jsonl",
    "run_summary.json",
    "WO-02/run_summary.json",
    "WO-02/work_order.json",
    "WO-02/baseline/acceptance_result.json",
    "WO-02/attempt_1/acceptance_result.json",
    "WO-02/attempt_1/failure_brief.json",
    "WO-02/attempt_1/proposed_writes.json",
    "WO-02/attempt_1/verify_result.json",
    "WO-02/attempt_1/write_result.json",
)
STATE = ("journal.jsonl", "state.json", "decisions.json")
DECISION = {"branch": "work", "plan": "", "order": "WO-02", "key": "k", "hint": "the digit two"}
# A missing key of a model and an order that cannot be made are answers, too.
ANSWERS = {*ExitCode} - {ExitCode.INTERNAL}


@dataclass(frozen=True)
class Ground:
    """Copies of a run's records and of its repo, of which a test damages one file."""

    folder: Path
    repo: Path

    def path_of(self, name: str) -> Path:
        return (self.repo / ".git/llmch" if name in STATE else self.folder) / name

    def view(self) -> RunView:
        return read_report(str(self.folder), self.repo, self.folder.parents[1])


@pytest.fixture
def ground(recorded: tuple[Path, Path], tmp_path: Path) -> Ground:
    folder, repo = recorded
    copy = Path(shutil.copytree(repo, tmp_path / "repo", symlinks=True))
    (copy / ".git/llmch/decisions.json").write_text(
        json.dumps({"format": 1, "decisions": [DECISION]})
    )
    records = tmp_path / "artifacts" / "factory" / folder.name
    return Ground(Path(shutil.copytree(folder, records)), copy)


def of_each_object(text: str, edit: Callable[[dict[str, Any]], object]) -> str:
    """Return a record with `edit` made in its object, or in each object of its list or lines."""

    def edited(value: Any) -> Any:
        for each in value if isinstance(value, list) else [value]:
            edit(each)
        return value

    if "\n{" in text.strip() and not text.startswith("["):
        return "".join(f"{json.dumps(edited(json.loads(line)))}\n" for line in text.splitlines())
    return json.dumps(edited(json.loads(text)))


def of_another_type(value: Any) -> Any:
    return [{"odd": value}] if isinstance(value, str | int | float | bool) else "odd"


def whole(text: str) -> Iterator[tuple[str, str]]:
    """Yield the record damaged as a whole, with the name of what was done."""
    for part in (0, 1, 2, 3):
        yield f"{part} quarters of it", text[: len(text) * part // 4]
    yield "without its end", text[:-3]
    for other in ("[]", "[1]", "null", "{}", '"text"', "[" * 100_000):
        yield f"replaced by {other[:10]}", other
    yield "with unknown keys", of_each_object(text, lambda each: each.update(new={"a": [1]}))
    yield (
        "with other types",
        of_each_object(
            text, lambda each: each.update({k: of_another_type(v) for k, v in each.items()})
        ),
    )


def by_key(text: str) -> Iterator[str]:
    """Yield the record with one key missing, null or of another type, for each of its keys."""
    first = json.loads(text.splitlines()[0] if "\n{" in text.strip() else text)
    for key in first[0] if isinstance(first, list) else first:
        yield of_each_object(text, lambda each, k=key: each.pop(k, None))  # type: ignore[misc]
        for odd in (None, True, 7, 10**30, "odd", [7], {"odd": 7}, float("nan")):
            yield of_each_object(text, lambda each, k=key, o=odd: each.update({k: o}))  # type: ignore[misc]


@pytest.mark.rest
@pytest.mark.parametrize("name", RECORDS)
def test_a_report_says_what_a_damaged_record_leaves(ground: Ground, name: str) -> None:
    path = ground.path_of(name)
    for done, damaged in whole(path.read_text()):
        path.write_text(damaged)
        run = ground.view()
        assert json.dumps(RunReportDocument(run).to_json()), done
    assert "</html>" in render_page(run)


KINDS: dict[str, Any] = {
    "run.json": RunDocument,
    "run_summary.json": RunOutcome,
    "WO-02/run_summary.json": RunSummary,
    "WO-02/attempt_1/acceptance_result.json": tuple[CmdResult, ...],
    "WO-02/attempt_1/failure_brief.json": FailureBrief,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_key_is_left_out_or_named(ground: Ground, name: str) -> None:
    path = ground.path_of(name)
    text, unnamed = path.read_text(), Faults()
    found = read_record(path, KINDS[name], unnamed)
    assert found and unnamed.named == []
    for damaged in by_key(text):
        path.write_text(damaged)
        faults = Faults()
        assert read_record(path, KINDS[name], faults) is not None or faults.named
        assert all(each.startswith(f"{path.name!r} cannot be read: ") for each in faults.named)


NOT_NAMED = ("proposed_writes.json", "work_order.json")
"""Without a readable proposal there is no change to show, and the plan itself is at hand here."""


@pytest.mark.parametrize("name", [each for each in RECORDS if each.endswith(".json")])
def test_a_record_that_cannot_be_read_is_named(ground: Ground, name: str) -> None:
    path = ground.path_of(name)
    path.write_text(path.read_text()[:-3])
    named = [each for each in ground.view().gaps if path.name in each]
    assert bool(named) is (path.name not in NOT_NAMED)


VERBS: dict[str, tuple[str, ...]] = {
    "status": STATE,
    "retry": ("run.json", *STATE),
    "diff": ("run.json", "journal.jsonl", *(each for each in RECORDS if "WO-02/" in each)),
    "report": ("run.json", "run_summary.json"),
}


@pytest.mark.rest
@pytest.mark.parametrize(("verb", "name"), [(v, each) for v in VERBS for each in VERBS[v]])
def test_every_verb_answers_or_refuses(
    ground: Ground,
    verb: str,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = ground.path_of(name)
    text, say = path.read_text(), say_in(ground.folder.parents[2], capsys)
    words: dict[str, Words] = {
        "status": ["--json"],
        "retry": ["2", "--json"],
        "diff": ["latest", "2", "1"],
        "report": [ground.folder, "--html", "page.html", "--json"],
    }
    damages = dict(whole(text))
    for done in ("2 quarters of it", "replaced by [1]", "with unknown keys", "with other types"):
        path.write_text(damages[done])
        said = say(verb, *words[verb], "--repo", ground.repo)
        assert said.code in ANSWERS, (done, said.err)
        assert "Traceback" not in said.err, done
        if verb == "report":
            assert (said.code, said.document["run_id"]) == (0, ground.folder.name), done
