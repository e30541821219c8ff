"""The loop with tools: what they answer, how far it goes, and that it replays for nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.agents.own_loop import _arguments, _CannotAnswer
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.stages import Stage
from factory.run.run_order import run_order
from shared.events.events import AgentActed, AgentEnded, AgentStarted
from shared.llm.model_client import Request, ToolCall
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import AgentSettings, FactorySettings
from tests.fakes import Reply, called, proposal
from tests.harness import Factory, commit_all, git, order, stages

PICKY = order(acceptance_commands=["grep -q hello hello.txt"])
GOOD = proposal({"hello.txt": "hello\n"})
FILES = {
    "src/app.py": "def main() -> int:\n    return 1\n\n\ndef other() -> int:\n    return 2\n",
    "src/deep/data.txt": "a line\nanother line with main\n",
    "notes.bin": "\0\1",
}


def with_tools(**bounds: Any) -> FactorySettings:
    return FactorySettings(proposer=(("tools",),), agent=AgentSettings(**bounds))


def answers(factory: Factory) -> list[str]:
    """Return all that the tools answered in the last run."""
    said: list[str] = []
    for request in factory.model.requests:
        if request.exchanges:
            said += request.exchanges[-1].results
    return said


def run(factory: Factory, *replies: Reply, **bounds: Any) -> Any:
    commit_all(factory.repo, FILES)
    return factory.run(PICKY, replies, factory=with_tools(**bounds), max_attempts=1)


def test_a_model_that_looks_first_lands_as_any_other(factory: Factory) -> None:
    summary = run(
        factory,
        called("list", folder="src"),
        called("read", path="src/app.py", first=1, last=2),
        called("search", text="main"),
        called("outline", path="src/app.py"),
        called("run", number=2),
        GOOD,
    )
    assert (summary.verdict, summary.usage.calls) == ("PASS", 6)
    listed, read, found, outline, ran = answers(factory)
    assert listed == "src/app.py\nsrc/deep/data.txt"
    assert read == "1 def main() -> int:\n2     return 1"
    assert found == "src/app.py:1: def main() -> int:\nsrc/deep/data.txt:2: another line with main"
    assert outline == "1-2 main\n5-6 other"
    assert ran.startswith("exit code 2\n") and "hello.txt" in ran
    agent = summary.attempt_records[0].agent
    assert (agent.name, agent.calls) == ("tools", 6)
    note = git(factory.repo, "notes", "--ref=refs/notes/llmch", "show", "work")
    assert "\nagent: tools\n" in note
    assert [each.turn for each in factory.seen(AgentActed)] == [1, 2, 3, 4, 5, 6]
    (ended,) = factory.seen(AgentEnded)
    assert (ended.ended, ended.calls, ended.files) == ("replied", 6, ("hello.txt",))
    assert len(factory.seen(AgentStarted)) == 1


@pytest.mark.rest
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (called("read", path="../secret"), "there is no file '../secret'"),
        (called("read", path=".git/config"), "there is no file '.git/config'"),
        (called("read", path="/etc/passwd"), "there is no file '/etc/passwd'"),
        (called("read", path="link"), "'link' is not a regular file"),
        (called("read", path="notes.bin"), "'notes.bin' is not text"),
        (called("read", path="src/app.py", first=90), "(no such lines: the file has 6)"),
        (called("read", path="src/app.py", first=-5, last="2"), "1 def main() -> int:\n2 "),
        (called("read", path=3), "it needs 'path', as a text"),
        (called("read", path="src/app.py", first=1.5), "'first' is not a whole number"),
        (called("list", folder="nowhere"), "no file is below 'nowhere'"),
        (called("search", text="a\nb"), "search for a text of one line"),
        (called("search", text="(a+)+$"), "(no line has it)"),
        (called("outline", path="src/deep/data.txt"), "in no language"),
        (called("run", number=9), "there is no command 9"),
        (called("run", number=0), "there is no command 0"),
        (called("delete", path="src/app.py"), "there is no tool 'delete'"),
        (ToolCall("x", "read", "{broken"), "its arguments are not a JSON object"),
        (ToolCall("x", "read", "[]"), "its arguments are not a JSON object"),
    ],
)
def test_a_call_that_cannot_be_answered_is_told_why(
    factory: Factory, call: ToolCall, said: str
) -> None:
    (factory.repo / "link").symlink_to("/etc/passwd")
    summary = run(factory, call, GOOD)
    assert summary.verdict == "PASS"
    (answer,) = answers(factory)
    assert said in answer


def test_a_file_that_git_ignores_is_not_shown(factory: Factory) -> None:
    commit_all(factory.repo, {".gitignore": ".env\n"})
    (factory.repo / ".env").write_text("KEY=1\n")
    run(factory, called("read", path=".env"), called("search", text="KEY="), GOOD)
    assert answers(factory) == ["No answer: there is no file '.env'.", "(no line has it)"]


def test_a_model_that_never_ends_is_asked_for_its_reply(factory: Factory) -> None:
    endless: list[Reply] = [called("list")] * 3
    summary = run(factory, *endless, GOOD, calls=4)
    assert (summary.verdict, summary.usage.calls) == ("PASS", 4)
    *looking, last = factory.model.requests
    assert all(each.tools for each in looking) and not last.tools
    assert last.exchanges[-1].results[-1].endswith("Give your reply now, as it was asked for.)")


def test_a_model_that_calls_tools_instead_of_replying_fails_the_attempt(factory: Factory) -> None:
    summary = run(factory, *[called("list")] * 8, calls=2)
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.LLM_OUTPUT_INVALID])
    assert summary.usage.calls == 4, "the bound counts for all questions of the attempt"


def test_the_bound_of_tokens_counts(factory: Factory) -> None:
    summary = run(factory, called("list"), called("list"), GOOD, tokens=200)
    assert (summary.verdict, summary.usage.calls) == ("PASS", 3)
    assert not factory.model.requests[-1].tools


def test_answers_are_bounded(factory: Factory) -> None:
    commit_all(factory.repo, {"big.txt": "x" * 50 + "\n" + "line\n" * 9_000})
    run(factory, called("read", path="big.txt"), called("search", text="line"), GOOD)
    read, found = answers(factory)
    assert len(read) < 12_100 and "characters more)" in read
    assert found.count("\n") == 60 and found.endswith("(and more: search below a folder)")


def test_commands_run_on_the_baseline_and_leave_it(factory: Factory) -> None:
    command = "bash -c 'echo made > made.txt; cat made.txt; rm made.txt; test -f hello.txt'"
    writes = order(acceptance_commands=[command])
    commit_all(factory.repo, FILES)
    replies: list[Reply] = [called("run", number=2), called("read", path="made.txt"), GOOD]
    summary = factory.run(writes, replies, factory=with_tools(), max_attempts=1)
    assert summary.verdict == "PASS"
    ran, read = answers(factory)
    assert ran == "exit code 1\nmade"
    assert read == "No answer: there is no file 'made.txt'."


def test_a_ladder_brings_tools_to_the_retry(factory: Factory) -> None:
    commit_all(factory.repo, FILES)
    bad = proposal({"hello.txt": "bad\n"})
    ladder = FactorySettings(proposers=(("model",), ("tools",)))
    summary = factory.run(PICKY, [bad, called("list"), GOOD], factory=ladder)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]
    assert [each.agent and each.agent.name for each in summary.attempt_records] == [None, "tools"]
    assert [bool(each.tools) for each in factory.model.requests] == [False, True, True]


def test_a_small_model_gets_the_tools_in_its_prompt(factory: Factory) -> None:
    commit_all(factory.repo, FILES)
    small = ModelChoice(parse_ladder("tiny-1.5b"))
    replies: list[Reply] = [called("list"), GOOD]
    factory.run(PICKY, replies, factory=with_tools(), models=small, max_attempts=1)
    assert all(each.tools_in_text for each in factory.model.requests)


def counting(folder: Path) -> Any:
    """Return an order whose command counts how often it runs."""
    command = f"bash -c 'echo x >> {folder}/runs; test -f hello.txt'"
    return order(acceptance_commands=[command])


def count(folder: Path) -> int:
    runs = folder / "runs"
    found = runs.read_text().count("x")
    runs.unlink()
    return found


LOOKING: list[Reply] = [called("run", number=2), called("read", path="src/app.py")]


def test_a_replay_asks_nobody_and_runs_nothing_for_a_tool(factory: Factory, tmp_path: Path) -> None:
    commit_all(factory.repo, FILES)
    document, own = counting(tmp_path), with_tools()
    first = factory.run(document, [*LOOKING, GOOD], factory=own, max_attempts=1, branch="one")
    assert (first.verdict, count(tmp_path)) == ("PASS", 3), "a trial, the tool, the judgement"
    transcript = factory.run_folder / "transcript.jsonl"
    lines = [json.loads(each) for each in transcript.read_text().splitlines()]
    turns = [e["place"].get("turn", 0) for e in lines if e["record"] == "intent"]
    assert turns == [0, 1, 1, 2], "what the command printed is on record beside the calls"
    source = ModelSource(Mode.REPLAY, transcript=transcript)
    options = factory.options(factory=own, max_attempts=1, branch="two")
    again = run_order(factory.save(document), options, source, lambda event: None)
    assert (again.verdict, again.usage.calls) == ("PASS", 0)
    assert again.usage.replayed_calls == 3, "what llmch did itself is no reply"
    assert git(factory.repo, "diff", "one", "two") == ""
    assert count(tmp_path) == 2


def test_a_kill_in_the_middle_pays_for_the_rest_alone(factory: Factory, tmp_path: Path) -> None:
    def killed(request: Request) -> str:
        raise KeyboardInterrupt

    commit_all(factory.repo, FILES)
    document, own = counting(tmp_path), with_tools()
    with pytest.raises(KeyboardInterrupt):
        factory.run(document, [*LOOKING, killed], factory=own)
    count(tmp_path)
    summary = factory.run(document, [GOOD], factory=own)
    assert (summary.verdict, len(factory.model.requests)) == ("PASS", 1)
    assert count(tmp_path) == 2


@given(st.text(max_size=40), st.dictionaries(st.text(max_size=8), st.text(max_size=20)))
def test_arguments_are_an_object_or_refused(name: str, arguments: dict[str, str]) -> None:
    call = ToolCall("1", name, json.dumps(arguments))
    assert _arguments(call) == arguments
    with pytest.raises(_CannotAnswer):
        _arguments(ToolCall("1", name, json.dumps([name])))
