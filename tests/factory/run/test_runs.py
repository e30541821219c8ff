"""One order from its first attempt to its commit, or to nothing at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from factory.orders.documents import RunSummary
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.stages import Stage
from shared.errors import BudgetReached, Busy, Interrupted, ModelUnavailable
from shared.events.events import (
    AttemptFailed,
    AttemptStarted,
    CommandEnded,
    CommandStarted,
    Event,
    ModelCallEnded,
    ModelCallStarted,
    OrderEnded,
    OrderStarted,
    StageStarted,
    Warned,
    WritesApplied,
)
from shared.llm.model_client import ReplyFailed, Request
from tests.fakes import Reply, proposal, refused
from tests.harness import (
    Factory,
    blob,
    commit_all,
    fingerprint,
    git,
    hashed,
    manifest,
    order,
    stages,
    writing,
)

GOOD = proposal({"hello.txt": "hello\n"})
BAD = proposal({"hello.txt": "bad\n"})
PICKY = order(acceptance_commands=["grep -q hello hello.txt"])


# Routes through the graph


def nodes_of(factory: Factory) -> list[str]:
    """Return the stages that were entered, an attempt's in one word."""
    attempts: list[str] = []
    for event in factory.events:
        match event:
            case AttemptStarted():
                attempts.append("")
            case StageStarted(stage=stage):
                attempts[-1] += f" {stage}"
            case AttemptFailed():
                attempts[-1] += " failed"
            case _:
                pass
    return [each.strip() for each in attempts]


OUT_OF_SCOPE = proposal({"other.txt": "x\n"})
ROUTES: dict[str, tuple[list[Reply], list[str]]] = {
    "straight through": ([GOOD], ["propose apply verify accept commit"]),
    "no reply": ([ReplyFailed("gone"), GOOD], ["propose failed"]),
    "no proposal": (["{}", "{}", "{}", GOOD], ["propose failed"]),
    "not applied": ([OUT_OF_SCOPE, GOOD], ["propose apply failed"]),
    "not accepted": ([BAD, GOOD], ["propose apply verify accept failed"]),
    "one after the other": (
        ["{}", "{}", "{}", OUT_OF_SCOPE, BAD, ReplyFailed("gone"), GOOD],
        [
            "propose failed",
            "propose apply failed",
            "propose apply verify accept failed",
            "propose failed",
        ],
    ),
}


@pytest.mark.parametrize("name", ROUTES)
def test_a_failure_skips_to_the_end_of_its_attempt(factory: Factory, name: str) -> None:
    replies, failed = ROUTES[name]
    summary = factory.run(PICKY, replies)
    assert summary.verdict == "PASS"
    passed = [] if name == "straight through" else ["propose apply verify accept commit"]
    assert nodes_of(factory) == failed + passed


def test_a_precondition_that_fails_goes_straight_to_the_end(factory: Factory) -> None:
    factory.run(order(preconditions=[{"kind": "file_exists", "path": "none"}]), [])
    assert nodes_of(factory) == ["propose failed"]


@pytest.mark.parametrize("attempts", [1, 2, 5, 50])
def test_attempts_end_when_they_are_used_up(factory: Factory, attempts: int) -> None:
    replies = [refused(n) for n in range(attempts)]
    summary = factory.run(order(), replies, max_attempts=attempts)
    assert (summary.verdict, summary.state, summary.attempts) == ("FAIL", "failed", attempts)
    assert summary.failure is not None
    assert summary.failure.stage == Stage.WRITE_SCOPE_VIOLATION
    last = factory.seen(AttemptFailed)[-1]
    left = "no attempt is left" if attempts == 1 else f"all {attempts} attempts are used up"
    assert last.next_step == left
    assert (summary.commit, factory.tip()) == (None, "")


# What the next attempt is told


def test_a_retry_is_told_the_last_failure_whole_and_each_other_in_a_line(factory: Factory) -> None:
    factory.run(PICKY, [BAD, OUT_OF_SCOPE, GOOD])
    first, second, third = (factory.prompt(call) for call in range(3))
    assert "earlier replies" not in first
    failed = "It failed: `grep -q hello hello.txt` ended with exit code 1 (acceptance_failed)."
    assert failed in second
    assert "The commands cannot be changed" in second
    assert "It failed: write_scope_violation." in third
    assert "Write only: hello.txt." in third
    assert "- Attempt 1 failed at `grep -q hello hello.txt`: " in third
    assert failed not in third


def test_each_attempt_starts_from_the_baseline_again(factory: Factory) -> None:
    files = ["a.txt", "README.md"]
    document = order(allowed_files=files, acceptance_commands=["test ! -e a.txt"])
    first = proposal({"a.txt": "x\n", "README.md": "changed\n"})
    summary = factory.run(document, [first, proposal({"README.md": "changed too\n"})])
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    assert "## a.txt\nbase_sha256: e3b0c4" in factory.prompt(1)
    assert "This file does not exist yet" in factory.prompt(1)
    assert "# A project\n" in factory.prompt(1)


@pytest.mark.rest
def test_bytecode_of_one_attempt_does_not_judge_the_next(factory: Factory) -> None:
    """Bytecode is told by size and time of its source, which both versions have in common."""
    document = order(
        allowed_files=["answer.py"],
        acceptance_commands=[
            "touch --date=@1700000000 answer.py",
            "python -m compileall -q .",
            "python -c 'import py_compile, answer; assert answer.VALUE == 2'",
        ],
    )
    wrong, right = (proposal({"answer.py": f"VALUE = {value}\n"}) for value in (1, 2))
    assert stages(factory.run(document, [wrong, right])) == [Stage.ACCEPTANCE_FAILED, ""]


def in_another_place(factory: Factory, scratch: Path) -> Factory:
    scratch.mkdir(parents=True)
    repo = Path(shutil.copytree(factory.repo, scratch / "elsewhere", symlinks=True))
    shutil.rmtree(repo / ".git/llmch", ignore_errors=True)
    return Factory(repo, scratch)


@pytest.mark.rest
def test_equal_inputs_make_equal_prompts_wherever_they_are(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import os, json; print(os.getcwd(), os.environ['HOME']); json.loads('{')"
    document = order(acceptance_commands=[f'python -c "{script}"'])
    replies = [GOOD, refused(), proposal({"hello.txt": "hello again\n"})]
    factory.run(document, replies, max_attempts=3)
    other = in_another_place(factory, tmp_path / "somewhere/much/deeper/than/the/first")
    monkeypatch.setenv("LLMCH_WORKSPACES", str(tmp_path / "w"))
    other.run(document, replies, max_attempts=3)
    for call in range(3):
        assert other.prompt(call) == factory.prompt(call)
        assert str(tmp_path) not in factory.prompt(call)
    assert "JSONDecodeError" in factory.prompt(1)
    assert ". /tmp" in factory.prompt(1)
    assert "<python>/lib/python" in factory.prompt(1)


def test_requests_differ_by_attempt_alone(factory: Factory) -> None:
    factory.run(order(), [refused(1), refused(2), refused(3)], max_attempts=3)
    second, third = factory.model.requests[1:]
    assert second.prompt != third.prompt, "an equal prompt brings an equal reply"
    assert (second.place.attempt, third.place.attempt) == (2, 3)


def test_the_model_may_differ_by_attempt(factory: Factory) -> None:
    models = ModelChoice(parse_ladder("model-1,model-2,model-3"), 3, None)
    summary = factory.run(order(), [refused(), GOOD], models=models)
    assert [each.model for each in summary.attempt_records] == ["model-1", "model-2"]
    assert "model: model-2" in git(factory.repo, "notes", "--ref=llmch", "show", "work")


# The commit


def test_a_commit_says_which_order_it_is_and_nothing_of_the_run(factory: Factory) -> None:
    summary = factory.run(order(title="Say hello, at last"), [refused(), GOOD])
    message = git(factory.repo, "log", "-1", "--format=%B", "work").strip().split("\n")
    assert message[0] == "WO-01: Say hello, at last"
    assert message[1] == ""
    assert message[2:4] == ["as scripted", ""]  # what the model says of its change
    assert [line.partition(":")[0] for line in message[4:]] == ["Llmch-Work-Order", "Llmch-Key"]
    author = git(factory.repo, "log", "-1", "--format=%an <%ae> %cn <%ce>", "work")
    assert author == "llmch <llmch@localhost> llmch <llmch@localhost>"
    assert summary.run_id not in "\n".join(message)


def test_the_note_has_the_text_of_the_requirements_that_the_order_covers(factory: Factory) -> None:
    demands = [{"id": "R1", "text": "Say hello."}, {"id": "R2", "text": "Say goodbye."}]
    plan = hashed(manifest([order(covers=["R1"])]) | {"requirements": demands})
    factory.run_all(plan, {"WO-01": [GOOD]})
    note = git(factory.repo, "notes", "--ref=llmch", "show", "work").split("\n")
    named = [line for line in note if line.startswith("requirement ")]
    assert named == ["requirement R1: Say hello."]


def test_what_differs_between_runs_is_in_the_note(factory: Factory) -> None:
    summary = factory.run(order(), [refused(), GOOD])
    note = git(factory.repo, "notes", "--ref=llmch", "show", "work").split("\n")
    assert note == [
        f"run: {summary.run_id}",
        "model: scripted",
        "attempts: 2",
        "proof: verified by bash scripts/verify.sh",
    ]


@pytest.mark.parametrize("epoch", ["0", "1", "99999999", "1700000000"])
def test_equal_replies_make_equal_commits_anywhere(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    other = in_another_place(factory, tmp_path / "other")
    first = factory.run(PICKY, [BAD, GOOD])
    second = other.run(PICKY, [BAD, refused(), GOOD], branch="another")
    assert first.commit == second.commit
    assert git(factory.repo, "log", "-1", "--format=%at %ct", "work") == f"{epoch} {epoch}"


def test_without_a_given_date_a_commit_has_that_of_the_runs_start(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    record = factory.record("run.json")
    assert git(factory.repo, "log", "-1", "--format=@%at +0000", "work") == record["commit_date"]
    started = datetime.fromisoformat(record["started"]).timestamp()
    assert 0 <= started + 1 - int(record["commit_date"].split()[0][1:]) < 60
    assert summary.verdict == "PASS"


def test_the_commits_tree_is_in_the_summary(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    assert summary.repo_tree_hash_after == git(factory.repo, "rev-parse", "work^{tree}")
    assert summary.parent == git(factory.repo, "rev-parse", "work^")


def test_only_proposed_files_are_committed_and_drift_is_told(factory: Factory) -> None:
    commit_all(
        factory.repo,
        {"scripts/verify.sh": "echo x > 'made by ü'; echo more >> README.md; echo x > a.log\n"},
    )
    summary = factory.run(order(), [GOOD])
    assert git(factory.repo, "diff", "--name-only", "work^", "work") == "hello.txt"
    assert summary.attempt_records[0].drift == ("README.md", "made by ü")
    told = "commands changed files outside the proposal, which was undone: README.md, made by ü"
    assert summary.warnings == (told,)
    assert [each.message for each in factory.seen(Warned)] == [f"WO-01: {told}"]


def test_drift_of_any_name_and_number_is_told(factory: Factory) -> None:
    commit_all(
        factory.repo,
        {"scripts/verify.sh": "for i in $(seq 60); do : > $i; done; : > $(printf '\\377')\n"},
    )
    summary = factory.run(order(), [GOOD])
    assert summary.verdict == "PASS"
    assert len(summary.attempt_records[0].drift) == 61
    assert summary.warnings[0].endswith(" and 56 more")
    assert "'\\udcff'" in summary.attempt_records[0].drift


def test_drift_of_one_attempt_is_no_drift_of_the_next(factory: Factory) -> None:
    commit_all(
        factory.repo,
        {"scripts/verify.sh": "grep -q hello hello.txt || : > left\n"},
    )
    summary = factory.run(PICKY, [BAD, GOOD])
    assert summary.attempt_records[1].drift == ()


def test_a_proposal_that_changes_nothing_lands_as_an_empty_commit(factory: Factory) -> None:
    commit_all(factory.repo, {"hello.txt": "hello\n"})
    summary = factory.run(order(), [GOOD, GOOD])
    assert summary.verdict == "PASS"
    assert [each.reason for each in summary.attempt_records[0].questions] == ["unchanged"]
    assert git(factory.repo, "rev-parse", "work^{tree}") == git(
        factory.repo, "rev-parse", "main^{tree}"
    )


@pytest.mark.parametrize(
    "content",
    ["crlf\r\nlines\r\n", "\ufeffwith a mark\n", "mixed\r\nends\n\r", "no end", "", "ünï\u2028\n"],
)
def test_content_is_committed_byte_for_byte(factory: Factory, content: str) -> None:
    factory.run(order(), [proposal({"hello.txt": content})])
    assert blob(factory.repo, "work", "hello.txt") == content.encode()


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_file_that_is_rewritten_keeps_its_mode(factory: Factory, mode: int) -> None:
    (factory.repo / "tool").write_text("#!/bin/sh\n")
    (factory.repo / "tool").chmod(mode)
    commit_all(factory.repo)
    factory.run(writing("tool"), [proposal({"tool": "#!/bin/sh\necho\n"})])
    entry = git(factory.repo, "ls-tree", "work", "tool")
    assert entry.startswith("100755" if mode & 0o100 else "100644")


def test_a_mode_that_a_command_changes_fails_the_attempt(factory: Factory) -> None:
    document = order(acceptance_commands=["chmod +x hello.txt", "test ! -x hello.txt"])
    summary = factory.run(document, [GOOD], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert (
        "a command changed hello.txt after it was written"
        in (summary.attempt_records[0].failure_brief or pytest.fail()).primary_error_excerpt
    )


def test_files_in_new_folders_are_written(factory: Factory) -> None:
    factory.run(writing("a/b/c/d.txt"), [proposal({"a/b/c/d.txt": "deep\n"})])
    assert blob(factory.repo, "work", "a/b/c/d.txt") == b"deep\n"


def test_an_ignored_file_can_be_proposed(factory: Factory) -> None:
    factory.run(writing("data/seed.log"), [proposal({"data/seed.log": "x\n"})])
    assert blob(factory.repo, "work", "data/seed.log") == b"x\n"


# What is left behind


def outcome_pass(factory: Factory) -> RunSummary:
    return factory.run(order(), [GOOD])


def outcome_fail(factory: Factory) -> RunSummary:
    return factory.run(PICKY, [BAD, refused()], max_attempts=2)


def raising(error: BaseException) -> Callable[[Factory], None]:
    def outcome(factory: Factory) -> None:
        def fail(request: Request) -> str:
            raise error

        with pytest.raises(type(error)):
            factory.run(PICKY, [BAD, fail])

    return outcome


OUTCOMES: dict[str, Callable[[Factory], Any]] = {
    "pass": outcome_pass,
    "fail": outcome_fail,
    "Ctrl-C": raising(KeyboardInterrupt()),
    "SIGTERM": raising(Interrupted("ended by SIGTERM")),
    "a bug": raising(RuntimeError("a bug")),
    "an exit": raising(SystemExit(3)),
    "no model": raising(ModelUnavailable("no such model")),
    "no budget": raising(BudgetReached("too much")),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_nothing_is_left_of_a_run_but_its_records(factory: Factory, name: str) -> None:
    (factory.repo / ".env").write_text("SECRET=1\n")
    (factory.repo / "data").mkdir()
    (factory.repo / "data/private.bin").write_bytes(b"\0\1")
    os.utime(factory.repo / ".env", (1, 1))
    before = fingerprint(factory.repo)
    head = git(factory.repo, "rev-parse", "HEAD")
    OUTCOMES[name](factory)
    assert fingerprint(factory.repo) == before
    assert (factory.repo / ".env").stat().st_mtime == 1
    assert git(factory.repo, "rev-parse", "HEAD") == head
    assert git(factory.repo, "symbolic-ref", "--short", "HEAD") == "main"
    assert list(factory.workspaces.iterdir()) == []
    assert git(factory.repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert not (factory.repo / ".git/worktrees").exists()
    assert bool(factory.tip()) == (name == "pass")
    assert git(factory.repo, "for-each-ref", "refs/llmch") == ""


@pytest.mark.parametrize(
    ("name", "verdict", "status", "excerpt"),
    [
        ("pass", "PASS", "completed", None),
        ("fail", "FAIL", "completed", "JSON"),
        ("Ctrl-C", "ERROR", "interrupted", "interrupted"),
        ("SIGTERM", "ERROR", "interrupted", "ended by SIGTERM"),
        ("a bug", "ERROR", "internal error", "RuntimeError('a bug')"),
        ("no model", "ERROR", "error", "no such model"),
    ],
)
def test_every_run_leaves_a_summary_that_says_what_happened(
    factory: Factory, name: str, verdict: str, status: str, excerpt: str | None
) -> None:
    OUTCOMES[name](factory)
    summary = factory.record("run_summary.json")
    assert summary["verdict"] == verdict
    assert factory.record("run.json")["status"] == status
    assert factory.record("run.json")["ended"]
    assert (factory.run_folder / "traceback.txt").exists() == (name == "a bug")
    if excerpt is None:
        assert summary["failure"] is None
    elif verdict != "FAIL":
        assert summary["failure"]["excerpt"] == excerpt


def test_the_next_run_goes_on_after_an_interrupt(factory: Factory) -> None:
    OUTCOMES["Ctrl-C"](factory)
    assert factory.run(PICKY, [GOOD]).verdict == "PASS"


def test_what_an_interrupted_run_was_told_is_not_asked_again(factory: Factory) -> None:
    OUTCOMES["Ctrl-C"](factory)
    factory.run(PICKY, [GOOD])
    assert [request.place.attempt for request in factory.model.requests] == [2]


def test_an_order_that_failed_is_asked_anew_by_the_next_run(factory: Factory) -> None:
    OUTCOMES["fail"](factory)
    assert factory.run(PICKY, [GOOD]).verdict == "PASS"
    assert [request.place.attempt for request in factory.model.requests] == [1]


def test_runs_on_one_branch_build_on_each_other(factory: Factory) -> None:
    first = factory.run(order(), [GOOD])
    second = factory.run(writing("two.txt", 2), [proposal({"two.txt": "2\n"})])
    assert second.parent == first.commit
    assert git(factory.repo, "rev-list", "--count", "main..work") == "2"


def test_a_second_run_on_a_held_repo_is_told_who_holds_it(factory: Factory) -> None:
    busy: list[str] = []
    held = Factory(factory.repo, factory.scratch)

    def run_another(request: Request) -> str:
        with pytest.raises(Busy) as error:
            held.run(order(), [])
        busy.append(error.value.message)
        return GOOD(request)

    assert factory.run(order(), [run_another]).verdict == "PASS"
    assert busy == [f"another run (pid {os.getpid()}) is working on this repo"]


def test_a_held_repo_is_held_by_whatever_tree_it_is_named(factory: Factory) -> None:
    linked = factory.scratch / "linked"
    git(factory.repo, "worktree", "add", "--quiet", "-b", "side", str(linked))
    held = Factory(linked, factory.scratch)

    def run_another(request: Request) -> str:
        with pytest.raises(Busy):
            held.run(order(), [])
        return GOOD(request)

    assert factory.run(order(), [run_another]).verdict == "PASS"


# What is told while it happens


def test_events_come_in_the_order_of_what_happens(factory: Factory) -> None:
    factory.run(PICKY, [BAD, GOOD])
    told = (
        OrderStarted,
        AttemptStarted,
        StageStarted,
        ModelCallStarted,
        ModelCallEnded,
        WritesApplied,
        CommandStarted,
        CommandEnded,
        AttemptFailed,
        OrderEnded,
    )
    tried = [
        "attempt_started",
        "stage_started propose",
        "model_call_started",
        "model_call_ended",
        "stage_started apply",
        "writes_applied",
        "stage_started verify",
        "command_started verify",
        "command_ended verify",
        "stage_started accept",
        "command_started accept",
        "command_ended accept",
    ]
    assert [name_of(event) for event in factory.events if isinstance(event, told)] == [
        "command_started verify",
        "command_ended verify",
        "order_started",
        *tried,
        "attempt_failed acceptance_failed",
        *tried,
        "stage_started commit",
        "order_ended",
    ]


def name_of(event: Event) -> str:
    detail = getattr(event, "stage", "") or getattr(event, "purpose", "")
    return f"{event.kind} {detail}".strip()


def test_the_same_events_are_in_the_log(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    lines = (factory.run_folder / "events.jsonl").read_text().splitlines()
    logged = [json.loads(line) for line in lines]
    assert [each["event"] for each in logged] == [each.kind for each in factory.events]
    times = [each["at"] for each in logged]
    assert times == sorted(times)


def test_an_order_that_has_ended_is_told_with_its_commit_and_files(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    (ended,) = factory.seen(OrderEnded)
    assert (ended.verdict, ended.commit, ended.files) == ("PASS", summary.commit, ("hello.txt",))
    assert ended.attempts == 1


def test_run_json_says_how_the_run_was_asked_for(factory: Factory) -> None:
    factory.run(order(), [GOOD], max_attempts=3)
    head = factory.record("run.json")
    assert (head["command"], head["branch"], head["max_attempts"]) == ("run", "work", 3)
    assert head["base"] == git(factory.repo, "rev-parse", "main")
    assert head["summary"]["verdict"] == "PASS"
    assert "attempt_records" not in head["summary"]
