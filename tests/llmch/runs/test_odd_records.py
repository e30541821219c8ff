"""Whatever state the records of a run are in, there is a page and a Markdown text that say so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from llmch.ci.run_reports import markdown_of
from llmch.page.run_page import render_page
from llmch.runs.read_run import read_report
from llmch.runs.run_report import RunReportDocument
from tests.harness import Json
from tests.llmch.page.test_page import check_structure
from tests.llmch.runs.test_read_run import change, kill

BINARY = bytes(range(256)) * 40


def rejected(folder: Path) -> Path:
    return folder / "WO-02" / "attempt_1"


def without_an_end(folder: Path) -> None:
    kill(folder)


def of_an_older_version(folder: Path) -> None:
    """The first versions recorded neither events nor transcripts, and less in `run.json`."""
    kept = {"orders", "branch", "status", "command", "repo", "summary"}
    change(folder / "run.json", lambda head: [head.pop(each) for each in {*head} - kept])
    (folder / "events.jsonl").unlink()
    (folder / "transcript.jsonl").unlink()
    for path in folder.rglob("run_summary.json"):
        change(path, lambda each: [each.pop(name, None) for name in ("verified_by", "flags")])
    for path in [*folder.rglob("se_prompt*"), *folder.rglob("rejected.patch")]:
        path.unlink()


def without_a_transcript(folder: Path) -> None:
    (folder / "transcript.jsonl").unlink()


def with_a_huge_log(folder: Path) -> None:
    """A command printed 64 MB; the record quotes the ends of it."""
    results = rejected(folder) / "acceptance_result.json"
    listed = json.loads(results.read_text())
    with (rejected(folder) / "huge.log").open("wb") as log:
        log.truncate(64_000_000)
    name = f"{rejected(folder).name}/huge.log"
    listed[0] |= {"stdout_trunc": "x\n" * 500_000, "stdout_path": name}
    results.write_text(json.dumps(listed))


def with_binary_files(folder: Path) -> None:
    (rejected(folder) / "rejected.patch").write_bytes(
        b"diff --git a/logo.png b/logo.png\nindex 1111111..2222222 100644\n"
        b"Binary files a/logo.png and b/logo.png differ\n" + BINARY
    )
    (rejected(folder) / "se_prompt.txt").write_bytes(BINARY)
    (rejected(folder) / "raw_llm_response.txt").write_bytes(BINARY)
    results = rejected(folder) / "acceptance_result.json"
    listed = json.loads(results.read_text())
    listed[0]["stdout_trunc"] = BINARY.decode("latin-1")
    results.write_text(json.dumps(listed))


def with_ten_thousand_findings(folder: Path) -> None:
    many = [f"finding {number}" for number in range(10_000)]

    def summary(each: Json) -> None:
        each["warnings"] = many
        each["flags"] = [{"code": "W252", "command": one, "message": one} for one in many]

    change(folder / "WO-02" / "run_summary.json", summary)
    brief = rejected(folder) / "failure_brief.json"
    change(brief, lambda each: each.update(facts=many))


@dataclass(frozen=True)
class Odd:
    """A state of records, with words that the page and the Markdown text have to have."""

    make: Callable[[Path], None]
    on_page: tuple[str, ...]
    in_markdown: tuple[str, ...] = ("WO-02",)


CASES = {
    "killed": Odd(without_an_end, ("Cut off", "was killed"), ("cut off", "was killed")),
    "of an older version": Odd(
        of_an_older_version,
        ("Passed", "there is no time line", "2 of 2 orders"),
        ("there is no time line",),
    ),
    "without a transcript": Odd(
        without_a_transcript, ("transcript", "Passed"), ("transcript", "PASS")
    ),
    "with a huge log": Odd(
        with_a_huge_log, ("characters left out; the whole log is", "has 64,000,000 bytes")
    ),
    "with binary files": Odd(with_binary_files, ("logo.png", "Acceptance failed")),
    "with 10,000 findings": Odd(with_ten_thousand_findings, ("and 9,900 more", "finding 9")),
}


@pytest.mark.rest
@pytest.mark.parametrize("name", CASES)
def test_any_records_have_a_page_and_a_markdown_text(
    recorded: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    original, repo = recorded
    folder = Path(shutil.copytree(original, tmp_path / original.name))
    case = CASES[name]
    case.make(folder)
    run = read_report(str(folder), repo, tmp_path)
    text = render_page(run)
    page = check_structure(text)
    assert len(text.encode()) < 2_000_000
    for words in case.on_page:
        assert words in page.text, words
    markdown = markdown_of(RunReportDocument(run))
    assert len(markdown.encode()) < 60_000, "a pull request takes 65,536 characters"
    assert "\0" not in markdown and "\x1b" not in markdown
    for words in case.in_markdown:
        assert words in markdown, words
