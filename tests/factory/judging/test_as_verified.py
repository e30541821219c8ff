"""What the verification has just run on a tree is not run on it again as acceptance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shared.events.events import CommandEnded
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order

CHECK = "sh check.sh"
HELLO = proposal({"hello.txt": "hello\n"})


def run(factory: Factory, script: str, *commands: str, **options: Any) -> Any:
    commit_all(factory.repo, {"check.sh": script})
    document = order(acceptance_commands=list(commands), regression=list(commands))
    return factory.run(document, [HELLO], verify=(CHECK,), max_attempts=1, **options)


def accepted(factory: Factory) -> list[tuple[str, str]]:
    ended = factory.seen(CommandEnded)
    return [(each.command, each.note) for each in ended if each.purpose == "accept"]


def logs(summary: Any) -> list[str]:
    return sorted(each.name for each in Path(summary.run_dir).glob("**/attempt_1/logs/accept*"))


def test_the_result_of_the_same_command_is_used_and_said(factory: Factory) -> None:
    summary = run(factory, "echo Ran 3 tests in 1s; echo; echo OK\n", CHECK, "test -f hello.txt")
    assert summary.verdict == "PASS"
    (same, noted), (other, plain) = accepted(factory)
    assert (same, other, plain) == (CHECK, "test -f hello.txt", "")
    assert noted == "not run again: the verification just ran it on this tree"
    (record,) = summary.attempt_records
    verified, again = record.verify[0], record.acceptance[0]
    assert (again.exit_code, again.tests) == (verified.exit_code, verified.tests)
    assert (again.note, again.stdout_path) == (noted, verified.stdout_path)
    assert not [each for each in logs(summary) if each.startswith("accept_1")]


def test_another_command_line_is_run(factory: Factory) -> None:
    summary = run(factory, "true\n", "sh ./check.sh")
    assert (summary.verdict, accepted(factory)) == ("PASS", [("sh ./check.sh", "")])
    assert [each for each in logs(summary) if each.startswith("accept_1")]


def test_what_passed_only_when_it_ran_again_is_run_as_acceptance_too(factory: Factory) -> None:
    script = (
        "test -f hello.txt || exit 0\nmkdir -p data\necho >> data/runs\n"
        'test "$(wc -l < data/runs)" -ge 2\n'
    )
    summary = run(factory, script, CHECK, retry_flaky=1)
    assert (summary.verdict, accepted(factory)) == ("PASS", [(CHECK, "")])
    assert summary.attempt_records[0].verify[0].flaky
