"""Every event as plain lines, word for word: CI logs are read by people and by grep."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from llmch.console import Color, Format, Verbosity, open_console
from llmch.console.line import this_program
from shared.events.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptStarted,
    BatchEnded,
    BatchStarted,
    BudgetCommitted,
    CandidateCoupled,
    CandidateDropped,
    Channel,
    CommandEnded,
    CommandFlagged,
    CommandStarted,
    CommandTried,
    Event,
    ModelAskedAgain,
    ModelCallEnded,
    ModelCallStarted,
    ModelRetryScheduled,
    ModelTextArrived,
    Noted,
    OrderEnded,
    OrderSkipped,
    OrderStarted,
    PlanAttemptStarted,
    PlanEnded,
    PlanJudged,
    PlanRepaired,
    PlanReviewed,
    PlanStarted,
    StageStarted,
    UsageCounted,
    Warned,
    WritesApplied,
)
from shared.llm.model_client import CallPlace, Role

BASE = "2686ac1e0327f513461580000000000000000000"
TIP = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"


def told(*events: Event, verbosity: Verbosity = Verbosity.NORMAL) -> str:
    out, err = io.StringIO(), io.StringIO()
    with open_console(
        verbosity=verbosity,
        color=Color.AUTO,
        output=Format.TEXT,
        stdout=out,
        stderr=err,
        environ={},
    ) as console:
        for event in events:
            console(event)
    assert not err.getvalue()
    return out.getvalue()


def failed(excerpt: str = "AssertionError", stage: str = "acceptance_failed") -> AttemptFailed:
    return AttemptFailed("WO-02", 1, stage, "python -m game", 1, excerpt, "taken back")


def ended(verdict: str, commit: str = "") -> OrderEnded:
    files = ("game.py", "tests/test_game.py") if commit else ()
    return OrderEnded("WO-02", verdict, 2, commit, "factory/X", 65.04, files, "/repo", "/runs/X")


def batch_ended(verdict: str, landed: int) -> BatchEnded:
    advice = "the same command again goes on" if landed < 3 else ""
    return BatchEnded(verdict, "factory/X", TIP, landed, 3, 3.2, "/my repo", "/runs/X", advice)


GOLDEN: list[tuple[Event, str]] = [
    (Warned("the tree is odd"), "! warning  the tree is odd\n"),
    (
        CommandFlagged("WO-02", "W252", "test -f a.py", "passes before anything is written"),
        "! WO-02    W252      `test -f a.py` passes before anything is written\n",
    ),
    (Noted("sandbox: bubblewrap"), "  note     sandbox: bubblewrap\n"),
    (
        ModelCallStarted("factory WO-02 attempt 1", "gpt-5.1", "WO-02"),
        "  WO-02    ask       gpt-5.1\n",
    ),
    (ModelCallStarted("planner attempt 1", "gpt-5.1"), "  plan     ask       gpt-5.1\n"),
    (
        ModelCallEnded("factory WO-02 attempt 1", "gpt-5.1", 3.21, 1234, 56, False, "WO-02"),
        "  WO-02    reply     gpt-5.1: 1,234 tokens in, 56 out  (3.2s)\n",
    ),
    (
        ModelCallEnded("planner attempt 1", "gpt-5.1", 0.0, 1234, 56, True),
        "  plan     reply     gpt-5.1: 1,234 tokens in, 56 out  (replayed)\n",
    ),
    (
        ModelCallEnded("planner attempt 1", "authored", 0.0, 0, 0, True),
        "  plan     reply     authored  (replayed)\n",
    ),
    (
        ModelRetryScheduled("the server is busy (429)", 4.0, 2),
        "↻ model    wait      the server is busy (429); trying again in 4.0s  (retry 2)\n",
    ),
    (
        UsageCounted(7, 31234, 1000, 8123, 0.0123, 0),
        "  model    usage     7 calls, 31,234 tokens in (1,000 cached), 8,123 out, $0.0123\n",
    ),
    (
        UsageCounted(1, 10, 0, 2, None, 2, "WO-02"),
        "  WO-02    usage     1 call, 10 tokens in, 2 out, cost unknown, 2 replies replayed\n",
    ),
    (UsageCounted(0, 0, 0, 0, 0.0, 1), "  model    usage     1 reply replayed\n"),
    (UsageCounted(0, 0, 0, 0, 0.0, 0), "  model    usage     no model calls\n"),
    (PlanStarted("spec.md", "01K", 5), "● plan     spec      spec.md  (run 01K)\n"),
    (PlanAttemptStarted(2), "  plan     attempt   2\n"),
    (
        PlanJudged(1, 4, 2, 1, ("E104 WO-02 allowed_files[0]: no postcondition",)),
        "✗ plan     refused   4 orders, 2 errors, 1 warning  (attempt 1)\n"
        "      E104 WO-02 allowed_files[0]: no postcondition\n",
    ),
    (
        PlanRepaired(1, ('[E001] WO-02 id: "WO-03" -> "WO-02"',)),
        "  plan     repaired  1 fault with one certain remedy, no model asked\n"
        '      [E001] WO-02 id: "WO-03" -> "WO-02"\n',
    ),
    (
        PlanReviewed(1, ("WO-02: a dict is passed for a string",), 2, ""),
        "↻ plan     review    1 claim to answer, 2 without proof left out  (round 1)\n"
        "      WO-02: a dict is passed for a string\n",
    ),
    (PlanReviewed(2, (), 0, ""), "✓ plan     review    no objection  (round 2)\n"),
    (
        PlanReviewed(1, (), 0, "no JSON"),
        "! plan     review    cannot be used: no JSON  (round 1)\n",
    ),
    (PlanJudged(2, 1, 0, 0, ()), "✓ plan     accepted  1 order  (attempt 2)\n"),
    (
        PlanEnded(True, 2, ("WO-01  Score", "WO-02  Play"), "/out", "/runs/X"),
        "✓ plan     PASS      2 orders  (2 attempts)\n      plan: /out\n",
    ),
    (
        PlanEnded(False, 5, (), "", "/runs/X"),
        "✗ plan     FAIL      no valid plan  (5 attempts)\n      records: /runs/X\n",
    ),
    (
        OrderStarted("WO-02", "Play the game", "factory/X", BASE, 5),
        "● WO-02    order     Play the game  (factory/X from 2686ac1e03)\n",
    ),
    (AttemptStarted("WO-02", 1), "  WO-02    attempt   1\n"),
    (
        ModelAskedAgain("WO-02", 1, "unreadable", "It holds no block."),
        "! WO-02    propose   the reply is unreadable; the model is asked again  "
        "(It holds no block.)\n",
    ),
    (
        ModelAskedAgain("WO-02", 1, "blocks refused", "1 of 2 blocks."),
        "! WO-02    propose   parts of the reply do not fit the files; the model is asked again  "
        "(1 of 2 blocks.)\n",
    ),
    (
        AgentStarted("WO-02", 1, "codex 1.2"),
        "  WO-02    agent     codex 1.2 works in a workspace\n",
    ),
    (
        AgentEnded("WO-02", 1, "ended with exit code 1", 3, 4.0, ("game.py",), ("Makefile",)),
        "✓ WO-02    agent     it ended with exit code 1 after 3 calls; proposes game.py  (4.0s)\n"
        "! WO-02    agent     Makefile: dropped\n",
    ),
    (
        AgentEnded("WO-02", 1, "took over 20 minutes", 0, 1200.0),
        "✗ WO-02    agent     it took over 20 minutes after 0 calls  (20m00s)\n",
    ),
    (
        WritesApplied("WO-02", 1, ("game.py", "tests/test_game.py"), "the loop"),
        "✓ WO-02    apply     game.py, tests/test_game.py  (the loop)\n",
    ),
    (
        CommandStarted("WO-02", "verify", "python -m pytest -q"),
        "  WO-02    verify    $ python -m pytest -q\n",
    ),
    (
        CommandEnded("WO-02", "verify", "python -m pytest -q", 0, 0.94),
        "✓ WO-02    verify    python -m pytest -q  (0.9s)\n",
    ),
    (
        CommandEnded("WO-02", "verify", "python -m pytest -q", 5, 0.94, "no tests were found"),
        "✓ WO-02    verify    python -m pytest -q: exit 5, no tests were found  (0.9s)\n",
    ),
    (
        CommandEnded("WO-02", "accept", "python -m game", 1, 0.1),
        "✗ WO-02    accept    python -m game: exit 1  (0.1s)\n",
    ),
    (
        failed("Traceback:\n    x = 1\nAssertionError\n"),
        "✗ WO-02    failed    acceptance_failed: python -m game: exit 1  (attempt 1)\n"
        "    │ Traceback:\n"
        "    │     x = 1\n"
        "    │ AssertionError\n"
        "    → taken back\n",
    ),
    (
        AttemptFailed("WO-02", 1, "write_scope_violation", "", None, "`a` is not allowed", "again"),
        "✗ WO-02    failed    write_scope_violation  (attempt 1)\n"
        "    │ `a` is not allowed\n"
        "    → again\n",
    ),
    (
        ended("PASS", TIP),
        "✓ WO-02    PASS      a1b2c3d4e5 game.py, tests/test_game.py  (2 attempts, 1m05s)\n"
        "      records: /runs/X\n"
        "    $ llmch report --html report.html --repo /repo\n"
        "    $ llmch verify --repo /repo\n"
        "    $ git -C /repo log --oneline factory/X\n"
        "    $ git -C /repo switch factory/X\n"
        "    → `git -C /repo merge factory/X` takes them over; a run with --pr asks for "
        "review\n",
    ),
    (
        replace(ended("ERROR"), next_step="the same command again goes on"),
        "✗ WO-02    ERROR     ended by an error; nothing was committed  (2 attempts, 1m05s)\n"
        "    → the same command again goes on\n"
        "      records: /runs/X\n"
        "    $ llmch report --html report.html --repo /repo\n",
    ),
    (
        OrderSkipped("WO-01", "Score a guess", TIP),
        "○ WO-01    skipped   already landed as a1b2c3d4e5: Score a guess\n",
    ),
    (
        CandidateDropped("WO-03", "WO-02"),
        "  WO-03    train     is judged again, because the commit of WO-02 is another one now\n",
    ),
    (
        BatchStarted(3, "factory/X", BASE),
        "● run-all  start     3 orders on factory/X  (from 2686ac1e03)\n",
    ),
    (
        batch_ended("PASS", 3),
        "✓ run-all  PASS      3 of 3 orders on factory/X at a1b2c3d4e5  (3.2s)\n"
        "      records: /runs/X\n"
        "    $ llmch report --html report.html --repo '/my repo'\n"
        "    $ llmch verify --repo '/my repo'\n"
        "    $ git -C '/my repo' log --oneline factory/X\n"
        "    $ git -C '/my repo' switch factory/X\n"
        "    → `git -C '/my repo' merge factory/X` takes them over; a run with --pr asks for "
        "review\n",
    ),
    (
        replace(batch_ended("PASS", 3), repo="", remote="git@host:a b"),
        "✓ run-all  PASS      3 of 3 orders on factory/X at a1b2c3d4e5  (3.2s)\n"
        "      records: /runs/X\n"
        "    $ git fetch 'git@host:a b' factory/X\n"
        "    $ git log --oneline FETCH_HEAD\n",
    ),
    (
        batch_ended("FAIL", 0),
        "✗ run-all  FAIL      0 of 3 orders on factory/X  (3.2s)\n"
        "    → the same command again goes on\n"
        "      records: /runs/X\n"
        "    $ llmch report --html report.html --repo '/my repo'\n",
    ),
]

# Shown only where a person asks for everything.
GOLDEN_VERBOSE: list[tuple[Event, str]] = [
    (
        AgentActed("WO-02", 1, 3, 1200, 40),
        "  WO-02    agent     3 calls: 1,200 tokens in, 40 out\n",
    ),
    (StageStarted("WO-02", 1, "apply"), "  WO-02    apply     begins\n"),
    (ModelTextArrived(Channel.REASONING, "first\nsecond"), "    │ first\n"),
    (
        BudgetCommitted(31_234, 0.0123),
        "  model    budget    31,234 tokens, $0.0123 are spent or may be by the calls under way\n",
    ),
    (
        BudgetCommitted(7, None),
        "  model    budget    7 tokens are spent or may be by the calls under way\n",
    ),
    (
        CandidateCoupled("WO-02", TIP, BASE, ("WO-00", "WO-01")),
        "  WO-02    train     a1b2c3d4e5 is judged before WO-01 (and 1 more) has landed  "
        "(on 2686ac1e03)\n",
    ),
    (
        CommandTried("WO-02", "baseline", "test -f a.py", 1, 0.2),
        "  WO-02    baseline  test -f a.py: exit 1  (0.2s)\n",
    ),
]


def test_a_call_of_an_agent_has_one_line_and_what_all_took_another_where_wanted() -> None:
    turn, acted = CallPlace(Role.FACTORY, 1, "WO-02", 3), AgentActed("WO-02", 1, 3, 1200, 40)
    ended = ModelCallEnded(str(turn), "m", 1.0, 400, 10, replayed=False, order="WO-02")
    started = ModelCallStarted(str(turn), "m", "WO-02")
    reply = "  WO-02    reply     m: 400 tokens in, 10 out  (1.0s)\n"
    assert told(started, ended, acted) == reply
    said = told(started, ended, acted, verbosity=Verbosity.VERBOSE)
    assert said.endswith("agent     3 calls: 1,200 tokens in, 40 out\n") and reply in said


@pytest.mark.parametrize(("event", "lines"), GOLDEN)
def test_an_event_is_told_in_these_lines(event: Event, lines: str) -> None:
    assert told(event) == lines
    assert told(event, verbosity=Verbosity.VERBOSE) == lines


@pytest.mark.parametrize(("event", "lines"), GOLDEN_VERBOSE)
def test_some_events_are_told_only_when_verbose(event: Event, lines: str) -> None:
    assert told(event) == ""
    assert told(event, verbosity=Verbosity.VERBOSE) == lines


def test_every_kind_of_event_has_its_lines() -> None:
    kinds = {type(event) for event, _ in (*GOLDEN, *GOLDEN_VERBOSE)}
    assert kinds == set(_leaves(Event))


def _leaves(kind: type[Event]) -> Iterable[type[Event]]:
    # A dataclass with slots is made twice; the class before slots is never part of a module.
    for each in kind.__subclasses__():
        if getattr(__import__(each.__module__, fromlist=["x"]), each.__name__, None) is each:
            yield each
            yield from _leaves(each)


def test_a_kind_of_event_that_is_new_to_the_console_is_named_when_verbose() -> None:
    class Unheard(Event):
        kind = "unheard"

    assert told(Unheard()) == ""
    assert told(Unheard(), verbosity=Verbosity.VERBOSE).startswith("  unheard")


def test_attempts_are_counted_against_what_is_allowed() -> None:
    start = OrderStarted("WO-02", "Play", "factory/X", BASE, 5)
    assert "attempt   3 of 5\n" in told(start, AttemptStarted("WO-02", 3))
    assert "(attempt 1 of 5)" in told(start, failed())
    assert "attempt   2 of 4\n" in told(PlanStarted("s", "r", 4), PlanAttemptStarted(2))


def test_an_order_of_a_batch_leaves_branch_records_and_look_to_the_batch() -> None:
    text = told(
        BatchStarted(3, "factory/X", BASE),
        OrderStarted("WO-02", "Play", "factory/X", BASE, 5),
        UsageCounted(1, 10, 0, 2, None, 0, "WO-02"),
        ended("PASS", TIP),
    )
    assert text.splitlines()[1:] == [
        "● WO-02    order     Play  (2686ac1e03)",
        "✓ WO-02    PASS      a1b2c3d4e5 game.py, tests/test_game.py  (2 attempts, 1m05s)",
    ]


def test_the_verdict_of_an_order_and_of_its_batch_say_why() -> None:
    text = told(BatchStarted(3, "b", BASE), failed(), ended("FAIL"), batch_ended("FAIL", 1))
    why = "acceptance_failed: python -m game: exit 1"
    assert f"✗ WO-02    FAIL      {why}  (2 attempts, 1m05s)\n" in text
    assert f"1 of 3 orders on factory/X at a1b2c3d4e5; WO-02 {why}  (3.2s)\n" in text


def test_usage_is_counted_for_the_plan_or_the_batch_it_belongs_to() -> None:
    usage = UsageCounted(1, 1, 0, 1, 0.5, 0)
    assert "  plan     usage     1 call" in told(PlanStarted("s", "r", 5), usage)
    assert "  run-all  usage     1 call" in told(BatchStarted(1, "b", BASE), usage)


def test_a_long_excerpt_keeps_its_head_and_its_tail() -> None:
    excerpt = "\n".join(f"line {number}" for number in range(1, 31))
    shown = [line for line in told(failed(excerpt)).splitlines() if "│" in line]
    assert shown[2:5] == [
        "    │ line 3",
        "    │ ... 18 more lines (--verbose shows all)",
        "    │ line 22",
    ]
    assert shown[-1] == "    │ line 30"
    assert told(failed(excerpt), verbosity=Verbosity.VERBOSE).count("│") == 30


def test_a_long_excerpt_shows_its_first_error() -> None:
    lines = [f"✔ passes {number}" for number in range(40)]
    error = ["  1) cors", "", "AssertionError: 'FOO' == 'foo'", "+ expected", "", "- FOO", "at x"]
    excerpt = "\n".join(["> npm test", *lines, *error, *(f"{n} | 100 |" for n in range(20))])
    shown = [line.partition("│ ")[2] for line in told(failed(excerpt)).splitlines() if "│" in line]
    assert shown[:3] == ["> npm test", "✔ passes 0", "✔ passes 1"]
    assert shown[3] == "... 39 more lines (--verbose shows all)"
    assert [each for each in shown[4:9] if each] == [each for each in error[1:6] if each]
    assert shown[9] == "... 17 more lines"
    assert shown[-1] == "19 | 100 |"


def test_many_findings_and_titles_are_cut_to_a_number() -> None:
    findings = tuple(f"W201 WO-{number:02d} allowed_files[0]: x" for number in range(1, 31))
    judged = PlanJudged(1, 30, 0, 30, findings)
    text = told(judged)
    assert text.endswith(
        "      W201 WO-12 allowed_files[0]: x\n      and 18 more (--verbose shows all)\n"
    )
    assert told(judged, verbosity=Verbosity.VERBOSE).count("W201") == 30


def test_all_errors_of_a_plan_are_shown_before_its_warnings_are_cut() -> None:
    errors = tuple(f"E104 WO-{number:02d}: x" for number in range(1, 31))
    text = told(PlanJudged(1, 30, 30, 2, (*errors, "W201 WO-01: x", "W201 WO-02: x")))
    assert (text.count("E104"), text.count("W201")) == (30, 0)
    assert text.endswith("      and 2 more (--verbose shows all)\n")


def test_many_files_and_long_commands_are_cut() -> None:
    files = tuple(f"f{number}.py" for number in range(1, 11))
    assert "f5.py, f6.py and 4 more  (s)" in told(WritesApplied("WO-02", 1, files, "s"))
    command = CommandStarted("WO-02", "verify", "python " + "x" * 5000)
    assert len(told(command)) < 350
    assert len(told(CommandEnded("WO-02", "verify", "x" * 5000, 1, 1.0))) < 150
    assert len(told(command, verbosity=Verbosity.VERBOSE)) < 2100


def test_reasoning_is_told_by_whole_lines_and_the_reply_not_at_all() -> None:
    text = told(
        ModelCallStarted("p", "m"),
        ModelTextArrived(Channel.REASONING, "let me "),
        ModelTextArrived(Channel.REASONING, "think\nand"),
        ModelTextArrived(Channel.TEXT, '{"summary": "x"}\n'),
        ModelCallEnded("p", "m", 1.0, 1, 1, False),
        verbosity=Verbosity.VERBOSE,
    )
    assert text.splitlines()[1:3] == ["    │ let me think", "    │ and"]
    assert "summary" not in text


def test_reasoning_without_any_break_is_told_all_the_same() -> None:
    text = told(*[ModelTextArrived(Channel.REASONING, "x" * 500)] * 5, verbosity=Verbosity.VERBOSE)
    assert text.count("x") > 1900


def test_reasoning_that_was_cut_off_is_not_mixed_with_the_next_reply() -> None:
    text = told(
        ModelTextArrived(Channel.REASONING, "half a"),
        ModelCallStarted("p", "m"),
        ModelTextArrived(Channel.REASONING, "new\n"),
        verbosity=Verbosity.VERBOSE,
    )
    assert "    │ new\n" in text


def test_the_command_to_look_at_a_branch_can_be_copied_whatever_its_name() -> None:
    event = OrderEnded("WO-01", "PASS", 1, TIP, "$(reboot);x", 1.0, (), "/r", "")
    assert "$ git -C /r switch '$(reboot);x'\n" in told(event)


def test_a_detail_is_shown_to_whoever_asks_for_more() -> None:
    event = Noted("sandbox: bubblewrap", detail=True)
    assert told(event) == ""
    assert told(event, verbosity=Verbosity.VERBOSE) == "  note     sandbox: bubblewrap\n"


def test_the_repo_is_left_out_of_commands_where_it_is_the_current_folder(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    event = OrderEnded("WO-01", "PASS", 1, TIP, "b", 1.0, (), str(tmp_path), "")
    assert "    $ git log --oneline b\n" in told(event)


def test_the_last_facts_of_a_failure_stand_below_its_excerpt() -> None:
    facts = ("one", "two", "three", "`f(1)` returned None, expected 2")
    text = told(replace(failed(), facts=facts))
    assert "      two\n      three\n      `f(1)` returned None, expected 2\n" in text
    assert "one\n" not in text


def test_a_command_to_copy_begins_as_this_program_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "my bin" / "llmch"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["my bin/llmch", "run-all"])
    assert this_program() == "'my bin/llmch'"
    monkeypatch.setenv("PATH", str(program.parent))
    assert this_program() == "llmch"
    monkeypatch.setattr(sys, "argv", ["llmch", "run-all"])
    assert this_program() == "llmch"
