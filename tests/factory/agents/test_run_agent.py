"""What an agent leaves in the workspace is a proposal like any other."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from factory.orders.documents import ModelProposal, ReplyFormat
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.stages import Stage
from factory.run.run_order import check_before_plan, run_order
from factory.sandbox.policy import Backend
from shared.errors import AgentUnavailable, InvalidInput, ModelUnavailable
from shared.events.events import AgentActed, AgentEnded, AgentStarted, AttemptFailed, Event, ignore
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings
from tests.factory.agents.scripted_agent import account_of, agents_of, logged
from tests.harness import Factory, blob, commit_all, order, stages

GREETS = order(acceptance_commands=["grep -q hello hello.txt"])
ASKS = 'write("hello.txt", call("how does one greet?"))'


def test_what_an_agent_writes_lands(factory: Factory) -> None:
    summary = factory.run(GREETS, ["hello\n"], **agents_of(factory, ASKS))
    assert summary.verdict == "PASS"
    assert blob(factory.repo, factory.tip(), "hello.txt") == b"hello\n"
    (call,) = factory.model.requests
    assert call.relayed and (call.model, call.place.turn) == ("scripted", 1)
    (record,) = summary.attempt_records
    assert record.agent and (record.agent.calls, record.agent.dropped) == (1, ())
    assert len(record.agent.sha256) == 64 and record.model == "scripted"
    (started,), (acted,) = factory.seen(AgentStarted), factory.seen(AgentActed)
    (ended,) = factory.seen(AgentEnded)
    assert (started.order, acted.turn, acted.output_tokens) == ("WO-01", 1, 10)
    assert (ended.ended, ended.files) == ("ended with exit code 0", ("hello.txt",))
    reply = next(factory.run_folder.rglob("raw_llm_response.txt")).read_text()
    assert ModelProposal.model_validate_json(reply).paths == ("hello.txt",)


def test_a_replay_asks_no_model_and_starts_no_agent(factory: Factory) -> None:
    factory.run(GREETS, ["hello\n"], **agents_of(factory, ASKS))
    options = agents_of(factory, ASKS)
    script = Path(options["factory"].proposers[0][1])
    script.unlink()
    source = ModelSource(Mode.REPLAY, transcript=factory.run_folder / "transcript.jsonl")
    off = SandboxSettings(backend=Backend.OFF)
    options |= {"branch": "again", "sandbox": off}
    first = factory.tip()
    summary = run_order(factory.save(GREETS), factory.options(**options), source, factory._take)
    assert (summary.verdict, summary.usage.calls) == ("PASS", 0)
    assert blob(factory.repo, factory.tip("again"), "hello.txt") == b"hello\n" and first
    assert summary.attempt_records[0].agent
    assert summary.attempt_records[0].agent.sha256


def test_the_next_attempt_is_shown_what_came_of_the_last(factory: Factory) -> None:
    bodies = ('write("hello.txt", "bad\\n"); write("Makefile", "x")', f"print(TASK); {ASKS}")
    summary = factory.run(GREETS, ["hello\n"], **agents_of(factory, *bodies))
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    task = logged(factory, attempt=2)
    assert "It changed:\n```\nhello.txt:\nbad\n```" in task
    assert "the agent changed: Makefile" in task and "grep -q hello hello.txt" in task
    assert factory.seen(AttemptFailed)[0].facts[0].startswith("Dropped of what the agent changed")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('all is done')", "changed no file that the order may write"),
        ("write('other.txt', 'x')", "dropped: other.txt"),
        ("write('hello.txt', 'hello'); time.sleep(60)", "took over 0.02 minutes"),
        ("print('\\x1b[2Jwiped'); sys.exit(3)", "ended with exit code 3"),
        ("os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        ("while True: call('again')", "the bound of 2 calls is reached"),
        ("[call('again') for _ in range(3)]; write('hello.txt', 'hello')", "bound of 2 calls"),
        (
            "turns = [{'role': 'assistant', 'content': 'ls'}, {'role': 'user', 'content': ''}]\n"
            "while True: call('', messages=turns * 6)",
            "was ended: it said and got the same 6 times in a row, what it wrote until then",
        ),
    ],
)
def test_an_agent_without_anything_to_judge_fails_the_attempt(
    factory: Factory, body: str, said: str
) -> None:
    options = agents_of(factory, body, minutes=0.02 if "sleep" in body else 1.0, calls=2)
    summary = factory.run(order(), ["no"] * 2, max_attempts=1, **options)
    assert stages(summary) == [Stage.EXCEPTION]
    assert said in account_of(summary) and "\x1b" not in account_of(summary)
    assert factory.tip() == ""


def test_an_agent_that_ends_alike_twice_is_not_started_a_third_time(factory: Factory) -> None:
    body = "print(time.time()); call('again')"
    summary = factory.run(order(), ["no"] * 3, **agents_of(factory, body))
    assert stages(summary) == [Stage.EXCEPTION] * 2
    assert "the agent ends in the same way again" in factory.seen(AttemptFailed)[-1].next_step


@pytest.mark.parametrize("last", ["print('done')", ASKS])
def test_the_proposers_that_follow_are_asked_all_the_same(factory: Factory, last: str) -> None:
    bodies = ("", "", "call('')", last)
    summary = factory.run(GREETS, ["hello\n"] * 2, **agents_of(factory, *bodies))
    assert len(summary.attempt_records) == 4 + (last != ASKS)
    assert (summary.verdict == "PASS") == (last == ASKS)


def test_an_exit_code_decides_nothing(factory: Factory) -> None:
    body = "write('hello.txt', 'hello'); sys.exit(1)"
    assert factory.run(GREETS, [], **agents_of(factory, body)).verdict == "PASS"


def test_an_agent_runs_the_commands_as_they_are_run(factory: Factory) -> None:
    body = """
    for text in ("bad", "hello"):
        write("hello.txt", text)
        print(subprocess.run(["sh", "/run/llmch/check"]).returncode, flush=True)
    """
    assert factory.run(GREETS, [], **agents_of(factory, body)).verdict == "PASS"
    lines = logged(factory).splitlines()
    assert [each for each in lines if each.isdigit()] == ["1", "0"]
    assert "$ grep -q hello hello.txt" in lines


def test_an_agent_that_cannot_be_started_ends_the_order(factory: Factory) -> None:
    options = agents_of(factory, "")
    program = Path(options["factory"].proposers[0][1])
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    broken = replace(options["factory"], proposers=((str(program),),))
    summary = factory.run(order(), [], **options | {"factory": broken})
    assert stages(summary) == [Stage.ENVIRONMENT]
    assert "cannot be started" in account_of(summary)


def test_a_missing_agent_or_sandbox_is_refused_before_anything(factory: Factory) -> None:
    options = agents_of(factory, ASKS)
    missing = replace(options["factory"], proposers=(("model",), ("no/such/agent",)))
    with pytest.raises(InvalidInput, match="no/such/agent"):
        factory.run(order(), [], **options | {"factory": missing})
    for backend in (Backend.OFF, Backend.LANDLOCK):
        other = SandboxSettings(backend=backend)
        with pytest.raises(AgentUnavailable, match="bubblewrap alone"):
            factory.run(order(), [], **options | {"sandbox": other})
        refused = factory.options(**options | {"sandbox": other})
        with pytest.raises(AgentUnavailable):
            check_before_plan(refused, ignore, verify=True)
    assert not factory.events


def test_what_an_unfinished_agent_was_answered_is_not_paid_again(factory: Factory) -> None:
    body = 'write("hello.txt", call("first") + call("second"))'
    options = agents_of(factory, body)
    with pytest.raises(ModelUnavailable):
        factory.run(GREETS, ["hel", ModelUnavailable("no money", "")], **options)
    summary = factory.run(GREETS, ["lo"], **options)
    assert summary.verdict == "PASS"
    assert [_asked(each) for each in factory.model.requests] == ["second"]
    assert blob(factory.repo, factory.tip(), "hello.txt") == b"hello"


def _asked(request: Any) -> str:
    return "second" if "second" in request.relayed.body else "first"


def test_a_cheap_model_comes_first_where_the_ladder_says_so(factory: Factory) -> None:
    options = agents_of(factory, ASKS)
    ladder = (("model",), *options["factory"].proposers)
    options["factory"] = replace(options["factory"], proposers=ladder)
    commit_all(factory.repo, {"notes.txt": "n\n"})
    replies = ['{"summary": "s", "writes": [{"path": "hello.txt", "base_sha256": "'
               + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
               + '", "content": "bad"}]}', "hello\n"]  # fmt: skip
    summary = factory.run(GREETS, replies, **options)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    assert [bool(each.agent) for each in summary.attempt_records] == [False, True]


@pytest.mark.rest
def test_the_task_is_the_same_text_wherever_and_whenever_it_is_given(factory: Factory) -> None:
    rich = order(
        notes="Be kind.",
        forbidden=["secret.txt"],
        acceptance_files=[{"path": "tests/test_it.py", "content": "def test_it():\n    pass\n"}],
    )
    commit_all(factory.repo, {"AGENTS.md": "Use tabs.\n"})
    texts = []
    for branch in ("work", "again"):
        options = agents_of(factory, "print(TASK, os.getcwd()); " + ASKS) | {"branch": branch}
        assert factory.run(rich, ["hello"], **options).verdict == "PASS"
        texts.append(next(factory.run_folder.rglob("se_prompt.txt")).read_text())
        assert len(factory.model.requests) == (branch == "work"), "the second is on record"
        if branch == "work":
            assert f"/workspace/{factory.repo.name}" in logged(factory)
    assert texts[0] == texts[1]
    for part in ("Be kind.", "secret.txt", "tests/test_it.py", "Use tabs."):
        assert part in texts[0]
    assert str(factory.scratch) not in texts[0] and str(factory.workspaces) not in texts[0]


def test_an_interrupt_ends_the_agent_and_leaves_nothing_behind(factory: Factory) -> None:
    marker = "86398.75"
    body = f"""
    call("first")
    subprocess.run(["sleep", "{marker}"])
    write("hello.txt", "hello")
    """
    options = agents_of(factory, body)

    def interrupt(event: Event) -> None:
        if isinstance(event, AgentActed):
            os.kill(os.getpid(), signal.SIGINT)

    factory.on_event = interrupt
    with pytest.raises(KeyboardInterrupt):
        factory.run(GREETS, ["yes"], **options)
    factory.on_event = None
    running = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if each.exists()]
    assert not [each for each in running if marker.encode() in each]
    assert factory.tip() == "" and not list(factory.workspaces.glob("*/*"))


@pytest.mark.parametrize(("model", "form"), [("coder-14b", ""), ("coder-1.5b", "_textbased")])
def test_the_form_without_tools_is_that_of_small_models(
    factory: Factory, model: str, form: str
) -> None:
    options = agents_of(factory, "print(sys.argv[1:]); write('hello.txt', 'hello')")
    words = (*options["factory"].proposers[0][:2], "mini{in_text}.yaml", "{model}")
    options["factory"] = replace(options["factory"], proposers=(words,))
    options["models"] = ModelChoice((Rung(model),), reply_format=ReplyFormat.JSON)
    assert factory.run(GREETS, [], **options).verdict == "PASS"
    assert logged(factory).strip() == str([f"mini{form}.yaml", model])


def test_a_word_is_filled_once_and_a_list_of_files_is_words(factory: Factory) -> None:
    options = agents_of(factory, "print(sys.argv[1:]); write('hello.txt', 'hello')")
    python, script, _ = options["factory"].proposers[0]
    words = (python, script, "{files}", "{model} at {base_url}", "{task_file}{task_file}")
    options["factory"] = replace(options["factory"], proposers=(words,))
    two = GREETS | {"allowed_files": ["hello.txt", "{model}.txt", "-a"], "title": "Say {task}"}
    assert factory.run(two, [], **options).verdict == "PASS"
    file = "/run/llmch/task.md"
    expected = [
        "hello.txt",
        "{model}.txt",
        "./-a",
        "scripted at http://127.0.0.1:8181",
        file + file,
    ]
    assert logged(factory).strip() == str(expected)
