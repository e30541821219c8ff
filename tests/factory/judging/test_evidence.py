"""Acceptance commands that prove nothing: seen before anything is written, flagged, or refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from factory.orders.documents import RunSummary
from factory.orders.stages import Stage
from shared.errors import ModelUnavailable
from shared.events.events import CommandEnded, CommandFlagged, CommandTried
from shared.llm.model_client import ReplyFailed
from tests.fakes import proposal, refused
from tests.harness import Factory, Json, commit_all, fingerprint, manifest, order, stages, writing

GOOD = proposal({"hello.txt": "hello\n"})
STUB = "def add(a: int, b: int) -> int: ...\ndef words(text: str) -> list[str]: ...\n"
CODE = (
    "def add(a: int, b: int) -> int:\n    return a + b\n\n\n"
    "def words(text: str) -> list[str]:\n    return text.split()\n"
)
RIGHT = proposal({"calc.py": CODE})
STRONG = [
    "python -c 'from calc import add; assert add(2, 3) == 5'",
    "python -c \"from calc import words; assert words('a b') == ['a', 'b']\"",
    "grep -q split calc.py",
]
WEAK = [
    "python -c 'import calc'",
    "python -c 'from calc import add; print(add(2, 3))'",
    "python -c 'from calc import words; assert isinstance(words(str()), list)'",
    "test -f calc.py",
]


def declaring(*commands: str, **changes: Any) -> Json:
    interfaces = [{"path": "calc.py", "stub": STUB}]
    fields: Json = {"interfaces": interfaces, "acceptance_commands": list(commands)} | changes
    return writing("calc.py", **fields)


def flags(summary: RunSummary) -> list[tuple[str, str]]:
    return [(each.code, each.command) for each in summary.flags]


# Red before green


def test_a_command_that_is_red_before_is_not_flagged(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    assert summary.verdict == "PASS"
    assert (summary.flags, summary.warnings) == ((), ())
    (result,) = factory.record("baseline/acceptance_result.json")
    assert (result["command"], result["exit_code"]) == (["test", "-f", "hello.txt"], 1)
    (tried,) = factory.seen(CommandTried)
    assert (tried.tree, tried.command, tried.exit_code) == ("baseline", "test -f hello.txt", 1)


def test_a_command_that_is_green_before_is_flagged_and_no_failure(factory: Factory) -> None:
    commands = ["test -f README.md", "test -f hello.txt"]
    summary = factory.run(order(acceptance_commands=commands), [GOOD])
    assert (summary.verdict, flags(summary)) == ("PASS", [("W252", "test -f README.md")])
    assert summary.warnings == ("W252 `test -f README.md` passes before anything is written",)
    (event,) = factory.seen(CommandFlagged)
    assert (event.order, event.code, event.command) == ("WO-01", "W252", "test -f README.md")
    assert factory.record("run_summary.json")["flags"][0]["code"] == "W252"


def test_a_regression_test_may_be_green_before(factory: Factory) -> None:
    command = "test -f README.md"
    summary = factory.run(order(acceptance_commands=[command], regression=[command]), [GOOD])
    assert (summary.flags, summary.warnings) == ((), ())


def test_the_mark_is_for_the_command_it_names_alone(factory: Factory) -> None:
    document = order(acceptance_commands=["true", "test -f README.md"], regression=["true"])
    assert flags(factory.run(document, [GOOD])) == [("W252", "test -f README.md")]


def test_a_failed_order_has_its_flags_too(factory: Factory) -> None:
    summary = factory.run(order(acceptance_commands=["true", "false"]), [GOOD], max_attempts=1)
    assert (summary.verdict, flags(summary)) == ("FAIL", [("W252", "true")])


def test_only_what_is_judged_is_told_as_a_command(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    told = [(each.order, each.purpose) for each in factory.seen(CommandEnded)]
    assert told == [("base", "verify"), ("WO-01", "verify"), ("WO-01", "accept")]


def test_evidence_is_gathered_once_for_all_attempts(factory: Factory) -> None:
    count = factory.scratch / "count"
    program = f"import pathlib; p = pathlib.Path({str(count)!r}); p.open('a').write('x')"
    document = order(acceptance_commands=[f'python -c "{program}"', "test -f hello.txt"])
    wrong = proposal({"other.txt": "x\n"})
    summary = factory.run(document, [refused(), wrong, GOOD])
    assert len(summary.attempt_records) == 3
    assert count.read_text() == "xx"  # on the baseline, and where it was judged


def test_a_call_that_failed_has_it_gathered_with_the_next(factory: Factory) -> None:
    summary = factory.run(order(acceptance_commands=["true"]), [ReplyFailed("no"), GOOD])
    assert flags(summary) == [("W252", "true")]


# The workspace is as it was


def test_what_commands_do_to_the_baseline_is_undone_before_anything_is_written(
    factory: Factory,
) -> None:
    litter = "mkdir -p build; echo x > build/left.txt; rm README.md; echo y > src/app.py; exit 1"
    commit_all(factory.repo, {"litter.sh": litter})
    seen: list[object] = []
    factory.at_stage("apply", lambda tree: seen.append(fingerprint(tree)))
    document = order(acceptance_commands=["bash litter.sh", "test -f hello.txt"])
    factory.run(document, [GOOD], max_attempts=1)
    clean = factory.run(order(), [GOOD], branch="other")
    assert clean.verdict == "PASS"
    assert seen[0] == seen[1]


def test_the_users_checkout_is_not_touched(factory: Factory) -> None:
    before = fingerprint(factory.repo)
    factory.run(declaring("touch left.txt", *WEAK), [RIGHT])
    assert fingerprint(factory.repo) == before


def test_flags_change_neither_prompt_nor_commit(factory: Factory) -> None:
    """The same order with evidence that differs: only what is told of it does."""
    asked, trees = [], []
    for mark in ([], ["true"]):
        document = order(acceptance_commands=["true"], regression=mark)
        summary = factory.run(document, [refused(), GOOD], branch=f"with-{len(mark)}")
        prompts = sorted(factory.run_folder.glob("attempt_*/se_prompt.txt"))
        asked.append([each.read_text() for each in prompts])
        trees.append(summary.repo_tree_hash_after)
    assert len(asked[0]) == 2
    assert asked[0] == asked[1]
    assert trees[0] == trees[1]


# What hangs


def test_a_command_that_hangs_on_the_baseline_delays_the_order_for_a_short_time_only(
    factory: Factory,
) -> None:
    hangs = "python -c 'import os, time; os.path.exists(\"hello.txt\") or time.sleep(300)'"
    started = time.monotonic()
    document = order(acceptance_commands=[hangs, "true"])
    summary = factory.run(document, [GOOD], patience_seconds=0.5)
    assert time.monotonic() - started < 150
    assert summary.verdict == "PASS"
    assert summary.flags == ()  # nothing is known of either: the second was not begun
    (result,) = factory.record("baseline/acceptance_result.json")
    assert result["cause"] == "timed_out"


def test_an_error_of_the_model_does_not_wait_for_the_baseline(factory: Factory) -> None:
    started = time.monotonic()
    with pytest.raises(ModelUnavailable):
        factory.run(order(acceptance_commands=["sleep 300"]), [ModelUnavailable("no", "")])
    assert time.monotonic() - started < 150
    assert list(factory.workspaces.iterdir()) == []


# Hollow runs


@pytest.mark.rest
@pytest.mark.parametrize("command", STRONG)
def test_a_command_that_asserts_what_the_code_does_is_not_flagged(
    factory: Factory, command: str
) -> None:
    summary = factory.run(declaring(command), [RIGHT])
    assert (summary.verdict, summary.flags) == ("PASS", ())


@pytest.mark.rest
@pytest.mark.parametrize("command", WEAK)
def test_a_command_that_passes_on_empty_code_is_flagged(factory: Factory, command: str) -> None:
    summary = factory.run(declaring(STRONG[0], command), [RIGHT])
    assert (summary.verdict, flags(summary)) == ("PASS", [("W234", command)])
    assert summary.warnings == (f"W234 `{command}` passes on code that does nothing",)
    assert len(factory.record("hollow/acceptance_result.json")) == 2


def test_without_interfaces_there_is_no_hollow_run(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    assert not (factory.run_folder / "hollow").exists()


def test_of_a_file_that_is_there_only_what_is_declared_is_emptied(factory: Factory) -> None:
    commit_all(factory.repo, {"calc.py": CODE.replace("return a + b", "return 0")})
    strong = STRONG[0]
    keeps = "python -c \"from calc import words; assert words('a b') == ['a', 'b']\""
    stub = "def add(a: int, b: int) -> int: ...\n"
    document = declaring(strong, keeps, interfaces=[{"path": "calc.py", "stub": stub}])
    summary = factory.run(document, [RIGHT])
    # It tests what is there already: green before, and what the order is for has no part in it.
    assert flags(summary) == [("W252", keeps), ("W234", keeps)]


@pytest.mark.parametrize("path", ["../../escaped.py", "/tmp/escaped.py", ".git/hooks/x.py"])
def test_an_interface_of_what_the_order_may_not_write_makes_no_file(
    factory: Factory, path: str
) -> None:
    seen: list[Path] = []
    factory.at_stage("apply", lambda tree: seen.extend(tree.parents[2].rglob("*escaped*")))
    interfaces = [{"path": path, "stub": STUB}]
    factory.run(order(interfaces=interfaces, acceptance_commands=["true"]), [GOOD], max_attempts=1)
    assert not (factory.run_folder / "hollow").exists()
    assert seen == []
    assert not Path("/tmp/escaped.py").exists()


# Strict


def test_strict_refuses_an_order_that_proves_nothing_before_the_model_is_asked(
    factory: Factory,
) -> None:
    summary = factory.run(declaring(STRONG[0], WEAK[0]), [], strict_acceptance=True)
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.PREFLIGHT])
    assert factory.model.requests == []
    assert flags(summary) == [("W234", WEAK[0])]
    assert summary.failure is not None
    assert f"W234 `{WEAK[0]}` passes on code that does nothing" in summary.failure.excerpt
    assert factory.tip() == ""


def test_strict_lets_pass_what_proves_something(factory: Factory) -> None:
    summary = factory.run(declaring(*STRONG), [RIGHT], strict_acceptance=True)
    assert (summary.verdict, summary.flags) == ("PASS", ())


def test_strict_runs_the_empty_code_once(factory: Factory) -> None:
    count = factory.scratch / "count"
    note = f"import pathlib; pathlib.Path({str(count)!r}).open('a').write('x')"
    program = f"{note}; import calc; calc.add(2, 3) == 5 or exit(1)"
    factory.run(declaring(f"python -c {json.dumps(program)}"), [RIGHT], strict_acceptance=True)
    assert count.read_text() == "xxx"  # hollow, baseline, judged


def test_strict_has_no_quarrel_with_a_regression_test(factory: Factory) -> None:
    document = declaring(STRONG[0], "test -f README.md", regression=["test -f README.md"])
    assert factory.run(document, [RIGHT], strict_acceptance=True).verdict == "PASS"


# Side by side


@pytest.mark.rest
@pytest.mark.parametrize("jobs", [1, 4])
def test_flags_are_the_same_for_any_number_of_jobs(factory: Factory, jobs: int) -> None:
    orders = [
        declaring(STRONG[0], WEAK[0]),
        writing("2.txt", 2, acceptance_commands=["true", "test -f 2.txt"]),
        writing("3.txt", 3, acceptance_commands=["test -f 3.txt"]),
        writing("4.txt", 4, acceptance_commands=["test -f calc.py"]),
    ]
    replies = {f"WO-0{n}": [proposal({f"{n}.txt": "x\n"})] for n in (2, 3, 4)}
    summary = factory.run_all(manifest(orders), {**replies, "WO-01": [RIGHT]}, jobs=jobs)
    assert summary.verdict == "PASS"
    assert [flags(each) for each in summary.orders] == [
        [("W234", WEAK[0])],
        [("W252", "true")],
        [],
        [("W252", "test -f calc.py")],
    ]
    told = [(each.order, each.code) for each in factory.seen(CommandFlagged)]
    assert told == [("WO-01", "W234"), ("WO-02", "W252"), ("WO-04", "W252")]
