"""Each way an attempt can fail, on a real repo: what is told, and whether it is tried again."""

from __future__ import annotations

import dataclasses
import json
import re
import resource

import pytest

from factory.orders.documents import FailureBrief, ReplyFormat, RunSummary
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.stages import Stage
from factory.sandbox.detect import TriedBackend, find_backends
from factory.sandbox.policy import Backend, Guarantee, Limits
from shared.errors import ModelUnavailable
from shared.events.events import AttemptFailed, Event, StageStarted
from shared.llm.model_client import ReplyFailed, Request
from shared.settings.settings import SandboxSettings
from shared.work_order.parse_order import EMPTY_SHA256, sha256_bytes
from tests.fakes import proposal
from tests.harness import Factory, blob, commit_all, order, stages, writing
from tests.processes import ended_by_its_deadline

GOOD = proposal({"hello.txt": "hello\n"})


def brief_of(summary: RunSummary, attempt: int = 1) -> FailureBrief:
    brief = summary.attempt_records[attempt - 1].failure_brief
    assert brief is not None
    return brief


def said(summary: RunSummary, attempt: int = 1) -> str:
    return brief_of(summary, attempt).primary_error_excerpt


def test_a_proposal_that_keeps_every_rule_becomes_a_commit(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    assert (summary.verdict, summary.state, stages(summary)) == ("PASS", "landed", [""])
    assert summary.commit == factory.tip()
    assert blob(factory.repo, factory.tip(), "hello.txt") == b"hello\n"


# preflight: the plan is wrong, so the model is not even asked


@pytest.mark.parametrize(
    ("condition", "path", "reason"),
    [
        ("file_exists", "missing.py", "does not exist"),
        ("file_exists", "src", "is a folder"),
        ("file_exists", "README.md/below", "lies below something that is no folder"),
        ("file_absent", "src/app.py", "exists"),
        ("file_absent", "src", "is a folder"),
    ],
)
def test_a_precondition_that_does_not_hold_ends_the_order_unasked(
    factory: Factory, condition: str, path: str, reason: str
) -> None:
    precondition = {"kind": condition, "path": path}
    summary = factory.run(order(preconditions=[precondition]), [])
    assert stages(summary) == [Stage.PREFLIGHT]
    assert path in said(summary)
    assert reason in said(summary)
    assert factory.model.requests == []


@pytest.mark.parametrize(
    ("condition", "path"),
    [
        ("file_exists", "src/app.py"),
        ("file_absent", "missing.py"),
        ("file_absent", "README.md/below"),
    ],
)
def test_a_precondition_that_holds_lets_the_order_begin(
    factory: Factory, condition: str, path: str
) -> None:
    precondition = {"kind": condition, "path": path}
    assert factory.run(order(preconditions=[precondition]), [GOOD]).verdict == "PASS"


def test_context_that_is_too_large_even_in_parts_is_named(factory: Factory) -> None:
    line = "x" * 599 + "\n"
    files = {f"{n}.txt": line * 1_000 for n in range(10)}
    commit_all(factory.repo, files)
    summary = factory.run(order(context_files=list(files)), [])
    assert stages(summary) == [Stage.PREFLIGHT]
    assert "bytes together, over the limit of 204,800" in said(summary)
    assert "0.txt (24," in said(summary)


def test_a_file_over_the_limit_of_an_edit_is_refused(factory: Factory) -> None:
    commit_all(factory.repo, {"big.txt": "x" * (2 * 1024 * 1024 + 1)})
    summary = factory.run(order(context_files=["big.txt"]), [])
    assert "'big.txt' cannot be shown: it has 2,097,153 bytes" in said(summary)


def test_context_that_is_no_text_is_refused(factory: Factory) -> None:
    commit_all(factory.repo, {"logo.png": b"\x89PNG\xff"})
    summary = factory.run(order(context_files=["logo.png"]), [])
    assert stages(summary) == [Stage.PREFLIGHT]
    assert "'logo.png' cannot be shown: it is not UTF-8 text" in said(summary)


@pytest.mark.parametrize("size", [1, 400_000])
def test_a_file_of_nul_bytes_is_refused_before_a_call_is_paid(factory: Factory, size: int) -> None:
    commit_all(factory.repo, {"data.txt": "\0" * size})
    summary = factory.run(order(context_files=["data.txt"]), [])
    assert (stages(summary), summary.usage.calls) == ([Stage.PREFLIGHT], 0)
    assert "'data.txt' cannot be shown: it holds NUL bytes" in said(summary)


# exception and errors of the model


def test_a_call_that_failed_is_made_again(factory: Factory) -> None:
    summary = factory.run(order(), [ReplyFailed("the model refused"), GOOD])
    assert stages(summary) == [Stage.EXCEPTION, ""]
    assert said(summary) == "the model refused"
    assert "the model refused" in factory.prompt(1)


def test_what_came_of_a_reply_that_was_cut_is_on_record(factory: Factory) -> None:
    factory.run(order(), [ReplyFailed("it was cut", lost=("half of it",)), GOOD])
    assert (factory.run_folder / "attempt_1/raw_llm_response.txt").read_text() == "half of it"


def test_an_error_that_asking_again_cannot_mend_ends_the_run(factory: Factory) -> None:
    with pytest.raises(ModelUnavailable):
        factory.run(order(), [ModelUnavailable("no such model", "name another")])
    summary = factory.record("run_summary.json")
    assert (summary["verdict"], summary["state"]) == ("ERROR", "failed")
    assert summary["failure"] == {
        "stage": "error",
        "command": None,
        "exit_code": None,
        "excerpt": "no such model",
        "remedy": "name another",
    }
    assert factory.tip() == ""


# llm_output_invalid

WRITE = {"path": "hello.txt", "base_sha256": EMPTY_SHA256, "content": "hello\n"}
VALID = {"summary": "s", "writes": [WRITE]}


def reply(**changes: object) -> str:
    return json.dumps(VALID | changes)


def write_with(**changes: object) -> str:
    return reply(writes=[WRITE | changes])


INVALID = {
    "nothing at all": ("", "the reply is empty"),
    "blanks": (" \n\t", "the reply is empty"),
    "prose": ("I would rather not.", "no JSON object"),
    "an array": (json.dumps([VALID]), "array"),
    "a string": ('"hello"', "no JSON object"),
    "two objects": (f"{reply()}\n{reply()}", "more than one JSON object"),
    "an object that never closes": (reply()[:-1], "never closes"),
    "single quotes": ("{'summary': 's'}", "no JSON object"),
    "a trailing comma": ('{"summary": "s",}', "not JSON"),
    "a key twice": ('{"summary": "s", "summary": "t", "writes": []}', "stands twice"),
    "a lone surrogate": (write_with(content="X").replace("X", "\\ud800"), "lone surrogate"),
    "NaN": ('{"summary": NaN, "writes": []}', "NaN"),
    "nesting without end": ('{"a":' + "[" * 5000 + "]" * 5000 + "}", "deep"),
    "over 10 MB": (reply(summary="x" * 11_000_000), "over the limit of 4,194,304"),
    "no summary": (json.dumps({"writes": [WRITE]}), "summary"),
    "no writes": (json.dumps({"summary": "s"}), "writes"),
    "an empty list of writes": (reply(writes=[]), "writes"),
    "writes that are an object": (reply(writes=WRITE), "writes"),
    "a write that is a number": (reply(writes=[3]), "writes.0"),
    "a write without a path": (reply(writes=[{"base_sha256": "", "content": ""}]), "writes.0.path"),
    "a path that is a number": (write_with(path=3), "writes.0.path"),
    "content that is null": (write_with(content=None), "writes.0.content"),
    "content that is a list of lines": (write_with(content=["a", "b"]), "writes.0.content"),
    "a hash that is none": (write_with(base_sha256="abc"), "writes.0.base_sha256"),
    "a hash in capitals": (write_with(base_sha256=EMPTY_SHA256.upper()), "writes.0.base_sha256"),
    "reasoning without an answer": ("<think>hm", "reasoning"),
}


@pytest.mark.rest
@pytest.mark.parametrize("name", INVALID)
def test_a_reply_that_is_no_proposal_is_told_why_and_asked_again(
    factory: Factory, name: str
) -> None:
    text, reason = INVALID[name]
    summary = factory.run(order(), [text, GOOD])
    assert stages(summary) == [""]
    (question,) = summary.attempt_records[0].questions
    assert question.reason == "unreadable"
    assert reason in question.note
    assert question.note in factory.prompt(1)
    assert "Reply in exactly the format that is asked for" in factory.prompt(1)


def test_a_model_that_never_gives_a_proposal_uses_up_an_attempt_with_three_calls(
    factory: Factory,
) -> None:
    summary = factory.run(order(), ["", "no", "never", GOOD])
    assert stages(summary) == [Stage.LLM_OUTPUT_INVALID, ""]
    assert said(summary) in factory.prompt(3)
    assert [each.reason for each in summary.attempt_records[0].questions] == ["unreadable"] * 2
    assert summary.usage.calls == 4


VALID_AROUND = {
    "a fence": f"```json\n{reply()}\n```",
    "prose": f"Here you are:\n\n{reply()}\n\nHave fun!",
    "reasoning": f"<think>first {{}} then</think>{reply()}",
    "keys that nobody asked for": reply(confidence=0.9, writes=[{**WRITE, "mode": "0644"}]),
    "a byte order mark": "\ufeff" + reply(),
}


@pytest.mark.parametrize("name", VALID_AROUND)
def test_what_stands_around_a_proposal_is_tolerated(factory: Factory, name: str) -> None:
    assert factory.run(order(), [VALID_AROUND[name]]).verdict == "PASS"


# stale_context


def test_a_wrong_hash_is_stale_and_told_with_the_right_one(factory: Factory) -> None:
    stale = proposal({"README.md": "new\n"}, README_md="0" * 64)
    summary = factory.run(writing("README.md"), [stale, proposal({"README.md": "new\n"})])
    assert stages(summary) == [Stage.STALE_CONTEXT, ""]
    assert f"'README.md': base_sha256 is {'0' * 64}" in said(summary)
    assert sha256_bytes(b"# A project\n") in said(summary)


@pytest.mark.parametrize("asked", ReplyFormat)
def test_a_wrong_hash_is_stale_in_each_format(factory: Factory, asked: ReplyFormat) -> None:
    write = {"path": "README.md", "base_sha256": "0" * 64, "content": "new\n"}
    stale = json.dumps({"summary": "s", "writes": [write]})
    models = ModelChoice(parse_ladder("small"), 1, reply_format=asked)
    summary = factory.run(writing("README.md"), [stale], max_attempts=1, models=models)
    assert stages(summary) == [Stage.STALE_CONTEXT]


def test_the_hash_of_nothing_is_stale_for_a_file_that_is_there(factory: Factory) -> None:
    stale = proposal({"README.md": "new\n"}, README_md=EMPTY_SHA256)
    assert stages(factory.run(writing("README.md"), [stale], max_attempts=1)) == ["stale_context"]


def test_a_hash_is_stale_for_a_file_that_is_not_there(factory: Factory) -> None:
    stale = proposal({"hello.txt": "new\n"}, hello_txt=sha256_bytes(b"old\n"))
    summary = factory.run(order(), [stale], max_attempts=1)
    assert "the file does not exist" in said(summary)


def test_no_file_is_written_when_one_hash_of_several_is_stale(factory: Factory) -> None:
    both = {"src/new.py": "x = 1\n", "README.md": "new\n"}
    stale = proposal(both, README_md="0" * 64)
    seen = []

    def look(request: Request) -> str:
        seen.append((factory.workspace / "src/new.py").exists())
        return proposal(both)(request)

    document = order(allowed_files=list(both), acceptance_commands=["true"])
    assert factory.run(document, [stale, look]).verdict == "PASS"
    assert seen == [False]


def test_a_file_that_appears_empty_after_it_was_shown_absent_is_stale(factory: Factory) -> None:
    factory.at_stage("apply", lambda tree: (tree / "hello.txt").touch())
    summary = factory.run(order(), [GOOD], max_attempts=1)
    assert stages(summary) == [Stage.STALE_CONTEXT]
    assert said(summary) == "'hello.txt' exists, empty, now, unlike when it was shown"


def test_a_file_that_goes_after_it_was_shown_empty_is_stale(factory: Factory) -> None:
    commit_all(factory.repo, {"hello.txt": ""})
    factory.at_stage("apply", lambda tree: (tree / "hello.txt").unlink())
    summary = factory.run(order(), [GOOD], max_attempts=1)
    assert said(summary) == "'hello.txt' does not exist now, unlike when it was shown"


def test_an_empty_file_is_filled_by_the_hash_it_was_shown_with(factory: Factory) -> None:
    commit_all(factory.repo, {"hello.txt": ""})
    assert factory.run(order(), [GOOD]).verdict == "PASS"


# write_failed


def test_a_disk_that_refuses_a_file_ends_the_order_without_a_retry(factory: Factory) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit_writes(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == "apply":
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        if isinstance(event, AttemptFailed):
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    factory.on_event = limit_writes
    files = {"a.txt": "small\n", "b.txt": "x" * 150_000}
    document = order(allowed_files=list(files), acceptance_commands=["true"])
    try:
        summary = factory.run(document, [proposal(files)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.WRITE_FAILED])
    assert said(summary) == "'b.txt' was not written: File too large"
    assert "another attempt would not fix this" in factory.seen(AttemptFailed)[0].next_step
    assert factory.tip() == ""


# verify_failed


def verified_by(factory: Factory, script: str) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": script})


AFTER = "test -e hello.txt || exit 0\n"  # the base has to be green, or the order does not begin


def test_a_verification_that_fails_is_told_with_its_output_and_tried_again(
    factory: Factory,
) -> None:
    verified_by(factory, AFTER + "grep -q good hello.txt || { echo 'not good' >&2; exit 3; }\n")
    bad, good = (proposal({"hello.txt": text}) for text in ("bad\n", "good\n"))
    summary = factory.run(order(), [bad, good])
    assert stages(summary) == [Stage.VERIFY_FAILED, ""]
    brief = brief_of(summary)
    assert (brief.command, brief.exit_code) == ("bash scripts/verify.sh", 3)
    assert brief.primary_error_excerpt == "not good"
    assert brief.log == "attempt_1/logs/verify_1.stderr.log"
    assert (factory.run_folder / brief.log).read_text() == "not good\n"


def test_acceptance_is_not_run_after_a_verification_that_failed(factory: Factory) -> None:
    verified_by(factory, AFTER + "exit 1\n")
    summary = factory.run(order(), [GOOD], max_attempts=1)
    assert summary.attempt_records[0].acceptance == ()
    assert said(summary) == "(the command printed nothing)"


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_remark_of_the_sandbox_changes_no_verdict(factory: Factory, exit_code: int) -> None:
    verified_by(factory, f"{AFTER}rm .git; git init --quiet .; exit {exit_code}\n")
    summary = factory.run(order(), [GOOD], max_attempts=1)
    assert summary.verdict == ("FAIL" if exit_code else "PASS")
    assert "was put back" in summary.attempt_records[0].verify[0].note


def test_a_verification_that_overstays_is_ended_and_told_so(factory: Factory) -> None:
    begun = factory.scratch / "begun"
    verified_by(factory, f"{AFTER}echo begun; touch {begun}; sleep 600\n")
    summary = ended_by_its_deadline(
        lambda timeout: factory.run(order(), [GOOD], max_attempts=1, timeout_seconds=timeout),
        begun.exists,
    )
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert re.fullmatch(r"The command was ended after [\d.]+ seconds\.\nbegun", said(summary))


def test_a_verification_that_a_signal_ends_is_told_with_the_signal(factory: Factory) -> None:
    verified_by(factory, AFTER + "kill -SEGV $$\n")
    summary = factory.run(order(), [GOOD], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert "SIGSEGV" in said(summary)


@pytest.mark.rest
def test_without_a_script_the_project_is_compiled_and_its_tests_are_run(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo)
    files = {"test_sum.py": "def test_sum():\n    assert 1 + 1 == 3\n"}
    document = order(allowed_files=list(files), acceptance_commands=["true"])
    summary = factory.run(document, [proposal(files)], max_attempts=1)
    commands = [" ".join(each.command) for each in summary.attempt_records[0].verify]
    assert commands == [
        "python -m compileall -q .",
        "python -m pip --version",
        "python -m pytest -q",
    ]
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert "assert (1 + 1) == 3" in said(summary)


@pytest.mark.rest
def test_a_project_without_tests_passes_and_the_record_says_why(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo)
    summary = factory.run(order(), [GOOD])
    assert summary.verdict == "PASS"
    last = summary.attempt_records[0].verify[-1]
    assert (last.exit_code, last.note) == (5, "no tests were found")


def test_a_proposal_that_brings_the_script_is_verified_by_it(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo)
    script = proposal({"scripts/verify.sh": "exit 4\n"})
    summary = factory.run(writing("scripts/verify.sh"), [script], max_attempts=1)
    assert brief_of(summary).exit_code == 4


# acceptance_failed


def test_an_acceptance_command_that_fails_is_told_and_tried_again(factory: Factory) -> None:
    document = order(acceptance_commands=["grep -q good hello.txt", "test -d hello.txt"])
    replies = [proposal({"hello.txt": f"{text}\n"}) for text in ("bad", "worse")]
    summary = factory.run(document, replies, max_attempts=2)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED] * 2
    brief = brief_of(summary)
    assert (brief.command, brief.exit_code) == ("grep -q good hello.txt", 1)
    assert len(summary.attempt_records[0].acceptance) == 1, "it stops at the first that fails"


def test_a_program_that_is_not_there_is_named(factory: Factory) -> None:
    document = order(acceptance_commands=["no-such-program --now"])
    summary = factory.run(document, [], max_attempts=1)
    assert brief_of(summary).exit_code is None, "it was not even started"
    assert "There is no program 'no-such-program' here." in said(summary)


def test_commands_run_without_a_shell(factory: Factory) -> None:
    document = order(acceptance_commands=["test '$HOME' = '$HOME'", "echo a > b"])
    summary = factory.run(document, [GOOD])
    assert summary.attempt_records[0].acceptance[1].stdout_trunc == "a > b"
    assert summary.attempt_records[0].drift == ()


def test_a_postcondition_that_is_not_met_spares_the_commands(factory: Factory) -> None:
    document = order(
        allowed_files=["hello.txt", "other.txt"],
        postconditions=[
            {"kind": "file_exists", "path": path} for path in ("hello.txt", "other.txt")
        ],
    )
    summary = factory.run(document, [GOOD, GOOD], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert "other.txt" in summary.attempt_records[0].questions[0].note
    assert said(summary) == "postcondition not met, no such file: other.txt"
    assert summary.attempt_records[0].acceptance == ()


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/hello/goodbye/ hello.txt",
        "rm hello.txt",
        "ln -sf README.md hello.txt",
        "python -c \"import os; os.remove('hello.txt'); os.mkdir('hello.txt')\"",
    ],
)
@pytest.mark.parametrize("content", ["hello\n", ""])
def test_a_command_that_changes_a_proposed_file_fails_the_attempt(
    factory: Factory, command: str, content: str
) -> None:
    if command.startswith("sed") and not content:
        command = "python -c \"open('hello.txt', 'w').write('x')\""
    document = order(acceptance_commands=[command])
    summary = factory.run(document, [proposal({"hello.txt": content})], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert "a command changed hello.txt after it was written" in said(summary)
    assert factory.tip() == ""


def test_a_verification_that_changes_a_proposed_file_fails_the_attempt(factory: Factory) -> None:
    verified_by(factory, "echo more >> hello.txt\n")
    summary = factory.run(order(), [GOOD], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert "a command changed hello.txt" in said(summary)


@pytest.mark.parametrize("found", find_backends(), ids=lambda found: found.backend)
def test_the_record_of_a_command_says_what_contained_it_and_what_did_not_hold(
    factory: Factory, found: TriedBackend
) -> None:
    if found.problem:
        pytest.skip(f"{found.backend} does not work here: {found.problem}")
    bare = SandboxSettings(backend=Backend.OFF)
    factory.run(order(), [GOOD], sandbox=bare)
    (free,) = factory.record("attempt_1/acceptance_result.json")
    assert free["sandbox"]["backend"] == "off"
    assert not any(free["sandbox"]["guarantees"][each] for each in ("files", "network", "secrets"))
    factory.run(
        order(id="WO-02"), [GOOD], sandbox=SandboxSettings(backend=found.backend), branch="other"
    )
    (held,) = factory.record("attempt_1/acceptance_result.json")
    assert (held["sandbox"]["backend"], held["sandbox"]["version"]) == (
        found.backend,
        found.version,
    )
    assert held["sandbox"]["guarantees"].keys() == set(Guarantee)
    assert held["sandbox"]["guarantees"]["files"]
    assert held["sandbox"]["guarantees"]["loopback"] is (found.backend is Backend.BWRAP)
    assert held["sandbox"]["limits"] == dataclasses.asdict(Limits())
    assert held["cause"] == "exited"


# Passes where /tmp is new: no file of an earlier command, and installed bytecode where Python
# looks for it. It leaves a file behind.
FRESH_TMP = (
    "import os; left = os.environ['TMPDIR'] + '/left'; assert not os.path.exists(left); "
    "open(left, 'w').close(); library = os.path.dirname(os.__file__); "
    "kept = os.environ['PYTHONPYCACHEPREFIX'] + library; assert os.listdir(kept), kept"
)


def test_every_attempt_has_a_tmp_that_is_new_and_made_ready(factory: Factory) -> None:
    check = f'python -c "{FRESH_TMP}"'
    document = order(acceptance_commands=[check, "grep -q done hello.txt"], regression=[check])
    replies = [GOOD, proposal({"hello.txt": "done\n"})]
    summary = factory.run(document, replies)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    assert brief_of(summary).command == "grep -q done hello.txt"


def test_records_of_each_attempt_are_kept(factory: Factory) -> None:
    factory.run(order(), ["no proposal", "none", "still none", GOOD])
    folder = factory.run_folder
    assert (folder / "attempt_1/raw_llm_response.txt").read_text() == "no proposal"
    assert factory.record("attempt_1/failure_brief.json")["stage"] == "llm_output_invalid"
    assert (folder / "attempt_1/raw_llm_response_again_2.txt").read_text() == "still none"
    assert (folder / "attempt_1/se_prompt_again_1.txt").read_text() == factory.prompt(1)
    assert not (folder / "attempt_1/proposed_writes.json").exists()
    assert factory.record("attempt_2/proposed_writes.json")["writes"][0]["path"] == "hello.txt"
    assert factory.record("attempt_2/write_result.json")["write_ok"] is True
    assert factory.record("attempt_2/verify_result.json")[0]["exit_code"] == 0
    assert factory.record("attempt_2/acceptance_result.json")[0]["command"][0] == "test"
    assert (folder / "attempt_2/se_prompt.txt").read_text() == factory.prompt(3)
    assert factory.record("work_order.json")["id"] == "WO-01"
    assert factory.record("run.json")["status"] == "completed"
