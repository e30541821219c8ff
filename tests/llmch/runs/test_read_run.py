"""A run as one value, from the records of real runs: whole, killed, under way, damaged, older."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.preflight import hold
from llmch.ci.run_reports import markdown_of
from llmch.page.run_page import render_page
from llmch.runs.read_run import read_report
from llmch.runs.run_model import Judged, RunView, SpanKind, Standing
from llmch.runs.run_report import RunReportDocument
from shared.errors import InvalidInput
from tests.factory.batch.taking_over import Person
from tests.fakes import proposal, refused
from tests.harness import Factory, Json, git, hashed, manifest, order, writing

GOOD = proposal({"two.py": "TWO = 2\n"})
BAD = proposal({"two.py": "TWO = 'two'\n"})
OTHER = proposal({"two.py": "TWO = 3\n"})
ASSUMED = {
    "kind": "question",
    "text": "From one?",
    "reading": "Yes.",
    "requirements": ["FR-2"],
    "work_orders": ["WO-02"],
}
CHECK = 'python -c "from two import TWO; assert TWO == 2, TWO"'


def plan() -> Json:
    two = writing("two.py", 2, title="Count to two", acceptance_commands=[CHECK], covers=["FR-2"])
    two |= {"depends_on": ["WO-01"], "intent": "`TWO` is 2."}
    document = manifest([writing("one.txt", 1, title="Begin", covers=["FR-1"]), two])
    return hashed({**document, "assumptions": [ASSUMED]})


def run_two(factory: Factory) -> None:
    replies = {"WO-01": [proposal({"one.txt": "one\n"})], "WO-02": [BAD, GOOD]}
    factory.run_all(plan(), replies)


def view_of(factory: Factory, wanted: str | None = None) -> RunView:
    return read_report(wanted, factory.repo, factory.artifacts)


def change(path: Path, edit: Callable[[Json], object]) -> None:
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def test_a_run_is_read_with_all_that_was_tried(factory: Factory) -> None:
    run_two(factory)
    run = view_of(factory)
    assert (run.standing, run.branch, run.landed, run.gaps) == (Standing.PASSED, "work", 2, ())
    assert (run.tip, run.base) == (factory.tip(), factory.tip("main"))
    assert (run.usage.calls, run.usage.input_tokens) == (3, 300)
    first, second = run.orders
    assert (second.title, second.needs, second.covers) == ("Count to two", ("WO-01",), ("FR-2",))
    rejected, passed = second.attempts
    assert (rejected.judged, passed.judged) == (Judged.FAILED, Judged.PASSED)
    assert rejected.brief is not None and rejected.brief.stage == "acceptance_failed"
    assert "+TWO = 'two'" in rejected.change.patch
    assert "+TWO = 2" in second.change.patch and second.commit == factory.tip()
    assert [each.text for each in rejected.commands if each.exit_code] == [CHECK]
    assert [each.text for each in second.trials] == [CHECK]
    assert first.rejected == 0 and second.rejected == 1


def test_the_time_line_has_attempts_calls_and_commands_of_each_order(factory: Factory) -> None:
    run_two(factory)
    tracks = {each.order: each for each in view_of(factory).tracks}
    assert {"WO-01", "WO-02"} <= tracks.keys()
    spans = tracks["WO-02"].spans
    attempts = [each for each in spans if each.activity is SpanKind.ATTEMPT]
    assert [(each.number, each.judged) for each in attempts] == [
        (1, Judged.FAILED),
        (2, Judged.PASSED),
    ]
    assert sum(each.activity is SpanKind.MODEL for each in spans) == 2
    assert {each.activity for each in spans} >= {*SpanKind} - {SpanKind.WAIT}
    assert all(0 <= each.start <= each.end for each in spans)


def test_requirements_lead_to_orders_and_commits(factory: Factory) -> None:
    run_two(factory)
    rows = {each.id: each for each in view_of(factory).requirements}
    assert rows.keys() == {"FR-1", "FR-2"}
    (covering,) = rows["FR-2"].orders
    assert (covering.id, covering.commits) == ("WO-02", (factory.tip(),))


def test_a_single_order_is_a_run_too(factory: Factory) -> None:
    factory.run(order(1), [refused(), proposal({"hello.txt": "hello\n"})])
    run = view_of(factory)
    assert (run.command, run.standing, run.title) == ("run", Standing.PASSED, "Say hello")
    assert [each.judged for each in run.orders[0].attempts] == [Judged.FAILED, Judged.PASSED]
    assert run.tip == factory.tip()


def test_a_failed_run_says_which_order_stopped_it(factory: Factory) -> None:
    replies = {"WO-01": [proposal({"one.txt": "one\n"})], "WO-02": [BAD]}
    factory.run_all(plan(), replies, max_attempts=1)
    run = view_of(factory)
    assert (run.standing, run.landed) == (Standing.FAILED, 1)
    assert [each.state for each in run.orders] == ["landed", "failed"]
    assert run.orders[1].failure is not None
    assert run.orders[1].failure.stage == "acceptance_failed"


@pytest.mark.rest
def test_what_an_earlier_run_landed_is_shown_as_it_was_made(factory: Factory) -> None:
    one = proposal({"one.txt": "one\n"})
    factory.run_all(plan(), {"WO-01": [refused(), one], "WO-02": [BAD, OTHER]}, max_attempts=2)
    before = factory.run_folder.name
    factory.run_all(plan(), {"WO-02": [GOOD]})
    run = view_of(factory)
    first, second = run.orders
    assert (first.state, first.earlier_run, second.earlier_run) == ("skipped", before, "")
    assert first.rejected == 1 and "+one" in first.change.patch
    assert run.standing is Standing.PASSED


def test_without_the_records_of_the_earlier_run_its_notes_speak(factory: Factory) -> None:
    one = proposal({"one.txt": "one\n"})
    factory.run_all(plan(), {"WO-01": [one], "WO-02": [BAD]}, max_attempts=1)
    shutil.rmtree(factory.run_folder)
    factory.run_all(plan(), {"WO-02": [GOOD]})
    first = view_of(factory).orders[0]
    assert (first.state, first.earlier_run, first.attempts) == ("skipped", "", ())
    assert "+one" in first.change.patch
    assert first.change.command == f"git diff {first.commit[:12]}^ {first.commit[:12]}"
    assert first.proof == "verified by bash scripts/verify.sh"


def kill(folder: Path) -> None:
    """Leave the records of a run as a SIGKILL in its second order would: no end, no summary."""
    change(folder / "run.json", lambda head: (head.pop("ended"), head.pop("summary")))
    change(folder / "run.json", lambda head: head.update(status="running"))
    (folder / "run_summary.json").unlink()
    (folder / "WO-02" / "run_summary.json").unlink()
    shutil.rmtree(folder / "WO-02" / "attempt_2")
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    until = next(n for n, line in enumerate(lines) if b'"attempt": 2' in line)
    (folder / "events.jsonl").write_bytes(b"".join(lines[: until + 1]) + lines[until + 1][:20])


def test_a_killed_run_is_shown_as_far_as_it_came(factory: Factory) -> None:
    run_two(factory)
    kill(factory.run_folder)
    run = view_of(factory)
    assert run.standing is Standing.CUT_OFF
    assert [each.state for each in run.orders] == ["landed", "begun"]
    assert any("was killed" in each for each in run.gaps)
    (last,) = (each for each in run.tracks if each.order == "WO-02")
    assert [each.judged for each in last.spans if each.activity is SpanKind.ATTEMPT] == [
        Judged.FAILED,
        Judged.OPEN,
    ]


def test_a_run_under_way_is_shown_as_running(factory: Factory) -> None:
    run_two(factory)
    kill(factory.run_folder)
    with hold(factory.repo / ".git"):
        run = view_of(factory)
    assert run.standing is Standing.RUNNING
    assert not any("was killed" in each for each in run.gaps)
    assert "Running" in render_page(run)
    markdown = markdown_of(RunReportDocument(run))
    assert "running" in markdown
    assert "WO-02" in markdown


def test_what_an_older_or_newer_version_recorded_is_read(factory: Factory) -> None:
    run_two(factory)
    folder = factory.run_folder
    change(folder / "run.json", lambda head: [head.pop(each) for each in ("author", "commands")])
    change(folder / "WO-02" / "run_summary.json", lambda each: each.update(new={"a": [1]}))
    change(folder / "WO-02" / "run_summary.json", lambda each: each.pop("flags"))
    brief = folder / "WO-02" / "attempt_1" / "failure_brief.json"
    change(brief, lambda each: each.update(stage="a new stage", added=True))
    run = view_of(factory)
    assert run.orders[1].attempts[0].brief is not None
    assert run.orders[1].attempts[0].brief.stage == "a new stage"


def test_ten_thousand_warnings_are_counted_and_not_all_shown(factory: Factory) -> None:
    run_two(factory)
    summary = factory.run_folder / "WO-02" / "run_summary.json"
    change(summary, lambda each: each.update(warnings=[f"warning {n}" for n in range(10_000)]))
    warnings = view_of(factory).orders[1].warnings
    assert len(warnings) == 101 and warnings[-1] == "and 9,900 more"


def test_nothing_in_a_record_is_an_option_of_git(factory: Factory, tmp_path: Path) -> None:
    run_two(factory)
    written = tmp_path / "written"
    option = f"--output={written}"
    summary = factory.run_folder / "WO-02" / "run_summary.json"
    change(summary, lambda each: each.update(commit=option, parent=option))
    change(factory.run_folder / "run.json", lambda head: head.update(base=option))
    assert view_of(factory).orders[1].commit == ""
    change(factory.run_folder / "run.json", lambda head: head.update(repo="x\0y", workdir="\0"))
    read_report(str(factory.run_folder), factory.repo, factory.artifacts)
    assert not written.exists()


def test_a_log_outside_of_the_records_is_not_looked_at(factory: Factory) -> None:
    run_two(factory)
    results = factory.run_folder / "WO-02" / "attempt_1" / "acceptance_result.json"
    listed = json.loads(results.read_text())
    listed[0]["stdout_path"] = "../../../../repo/README.md"
    results.write_text(json.dumps(listed))
    (command,) = view_of(factory).orders[1].attempts[0].commands[-1:]
    assert command.stdout.size is None


def test_without_the_plan_the_orders_that_began_are_known(factory: Factory) -> None:
    run_two(factory)
    shutil.rmtree(factory.scratch / "plan")
    run = view_of(factory)
    assert [each.title for each in run.orders] == ["Begin", "Count to two"]
    assert [each.id for each in run.requirements] == ["FR-1", "FR-2"]
    assert any("the plan cannot be read" in each for each in run.gaps)


def test_a_folder_of_records_is_read_far_from_its_repo(factory: Factory, tmp_path: Path) -> None:
    run_two(factory)
    elsewhere = Path(shutil.copytree(factory.run_folder, tmp_path / "download"))
    shutil.rmtree(factory.repo)
    run = read_report(str(elsewhere), None, tmp_path / "none")
    assert run.landed == 2
    assert any("the repository" in each for each in run.gaps)
    assert run.orders[1].change.missing
    assert "+TWO = 'two'" in run.orders[1].attempts[0].change.patch  # a rejected patch is on record


def test_a_branch_is_read_by_its_commits_and_notes(factory: Factory, tmp_path: Path) -> None:
    run_two(factory)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--branch", "work", str(factory.repo), str(clone))
    run = read_report("work", clone, tmp_path / "none")
    assert run.standing is Standing.NOT_ON_RECORD
    assert [each.id for each in run.orders] == ["WO-01", "WO-02"]
    assert "+TWO = 2" in run.orders[1].change.patch
    assert any("git fetch origin refs/notes/llmch:refs/notes/llmch" in each for each in run.gaps)
    git(clone, "fetch", "--quiet", "origin", "refs/notes/llmch:refs/notes/llmch")
    run = read_report("work", clone, tmp_path / "none")
    assert "verified" in run.orders[0].proof
    assert not any("refs/notes/llmch:" in each for each in run.gaps)


def test_a_branch_has_the_orders_of_its_statements(factory: Factory, tmp_path: Path) -> None:
    run_two(factory)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--branch", "work", str(factory.repo), str(clone))
    run = read_report("work", clone, tmp_path / "none")
    assert run.orders[1].needs == () and run.sandboxes == ()
    (command,) = [each for each in run.gaps if "fetches the statements" in each]
    git(clone, *command.split("`")[1].split()[1:])
    run = read_report("work", clone, tmp_path / "none")
    second = run.orders[1]
    assert (second.needs, second.covers, second.intent) == (("WO-01",), ("FR-2",), "`TWO` is 2.")
    assert second.maker == "scripted, 2 attempts"
    assert second.stated[-1].text == CHECK
    assert [each.record.backend for each in run.sandboxes] == ["off"]
    assert not any("statement" in each for each in run.gaps)
    page = render_page(run)
    assert 'id="graph"' in page and "as its statement says" in page


def test_a_statement_about_another_order_than_the_commit_names_is_not_shown(
    factory: Factory, tmp_path: Path
) -> None:
    run_two(factory)
    ref = "--ref=refs/notes/llmch-proof"
    first, second = git(factory.repo, "rev-list", "--reverse", "main..work").split()
    git(factory.repo, "notes", ref, "copy", "--force", first, second)
    shutil.rmtree(factory.artifacts)
    git(factory.repo, "update-ref", "-d", "refs/notes/llmch")
    run = read_report("work", factory.repo, tmp_path / "none")
    assert [bool(each.maker) for each in run.orders] == [True, False]
    assert any("1 of 2 commits have no statement" in each for each in run.gaps)


def test_a_commit_that_a_person_was_accepted_for_is_on_the_page_of_the_branch(
    factory: Factory, tmp_path: Path
) -> None:
    replies = {"WO-01": [proposal({"one.txt": "one\n"})], "WO-02": [BAD]}
    factory.run_all(plan(), replies, max_attempts=1)
    person = Person(factory)
    commit = person.commits("two.py", text="TWO = 2\n")
    assert person.accept("WO-02", commit).failure is None
    shutil.rmtree(factory.artifacts)
    (factory.repo / ".git" / "llmch" / "journal.jsonl").unlink()
    run = read_report("work", factory.repo, tmp_path / "none")
    assert [(each.id, each.state) for each in run.orders] == [
        ("WO-01", "landed"),
        ("WO-02", "accepted"),
    ]
    assert run.landed == 2 and run.orders[1].maker.startswith("a person; accepted by ")
    assert run.orders[1].needs == ("WO-01",)
    assert "a person&#39;s commit" in render_page(run)


@pytest.mark.rest
def test_the_newest_run_on_a_branch_is_the_branch_s(factory: Factory) -> None:
    run_two(factory)
    run_id = factory.run_folder.name
    factory.run(order(1), [proposal({"hello.txt": "hello\n"})], branch="other")
    assert view_of(factory, "work").run_id == run_id
    assert view_of(factory, run_id[:14].lower() + run_id[14:]).run_id == run_id
    assert view_of(factory).branch == "other"


@pytest.mark.parametrize("wanted", [None, "01", "main", "no-such-branch"])
def test_what_is_not_there_is_refused_in_words(factory: Factory, wanted: str | None) -> None:
    with pytest.raises(InvalidInput) as refusal:
        view_of(factory, wanted)
    assert refusal.value.hint


DAMAGE = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.sampled_from([b"", b"[]", b"{}", b"null", b'{"a": ', b"[[[[", b'{"orders": [{"id": 1}]}']),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)


@pytest.mark.rest
@given(data=st.data())
def test_no_damage_to_the_records_keeps_the_rest_from_being_shown(
    recorded: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    original, repo = recorded
    folder = Path(shutil.copytree(original, tmp_path_factory.mktemp("damaged") / original.name))
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    for path in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=4, unique=True)):
        damage = data.draw(DAMAGE)
        if damage is None and path.name != "run.json":
            path.unlink()
        else:
            text = path.read_bytes()
            path.write_bytes(text[: len(text) // 2] if damage is None else damage)
    run = read_report(str(folder), repo, folder)
    assert "</html>" in render_page(run)
