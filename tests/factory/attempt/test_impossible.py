"""An order that cannot be done: the model says so, and what can be checked of it is checked."""

from __future__ import annotations

import json

import pytest

from factory.orders.documents import ReplyFormat
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.stages import Stage
from factory.proposal.reply_formats import ImpossibleClaim, parse_claim
from shared.events.events import AttemptFailed
from tests.fakes import Reply, proposal
from tests.harness import Factory, order, stages

NO_HELLO = "grep -qv hello hello.txt"
ORDER = order(acceptance_commands=["grep -q hello hello.txt", NO_HELLO])
GOOD = proposal({"hello.txt": "hello\nyou\n"})
WHY = "the greeting is one line, and a second line is demanded"


def in_text(command: str | None = NO_HELLO) -> str:
    return f"IMPOSSIBLE: {WHY}\n" + (f"Command: `{command}`\n" if command else "")


def in_json(command: str | None = NO_HELLO) -> str:
    return json.dumps({"impossible": {"reason": WHY, "command": command}})


@pytest.mark.parametrize("asked", ReplyFormat)
@pytest.mark.parametrize("reply", [in_text(), in_json()])
def test_the_order_stops_at_the_first_reply_that_says_so(
    factory: Factory, asked: ReplyFormat, reply: str
) -> None:
    models = ModelChoice(parse_ladder("m"), 5, reply_format=asked)
    summary = factory.run(ORDER, [reply, GOOD], models=models)
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.IMPOSSIBLE])
    assert summary.usage.calls == 1, "no further attempt is paid for"
    assert summary.failure is not None
    assert summary.failure.command == NO_HELLO
    assert WHY in summary.failure.excerpt
    assert factory.seen(AttemptFailed)[-1].next_step == (
        "another attempt would not fix this: the order has failed"
    )
    assert factory.tip() == ""


@pytest.mark.parametrize("paths", [["hello.txt"], ["hello.txt", "more.txt"]])
@pytest.mark.parametrize(
    ("asked", "said"),
    [(ReplyFormat.JSON, '{"impossible": {'), (None, "`IMPOSSIBLE: ` and why")],
)
def test_each_prompt_that_shows_commands_says_how(
    factory: Factory, asked: ReplyFormat | None, said: str, paths: list[str]
) -> None:
    models = ModelChoice(parse_ladder("large-model"), 1, reply_format=asked)
    factory.run(ORDER | {"allowed_files": paths}, [in_text()], models=models)
    assert factory.prompt(0).count(said) == 1


@pytest.mark.parametrize(
    ("commands", "reply", "why"),
    [
        (["grep -q hello hello.txt"], in_text("make it so"), "has no command or test `make it so`"),
        (
            ["true", "test -f hello.txt"],
            in_text("true"),
            "`true` passes before anything is written",
        ),
    ],
)
def test_a_claim_that_is_not_so_is_a_failed_attempt(
    factory: Factory, commands: list[str], reply: str, why: str
) -> None:
    summary = factory.run(order(acceptance_commands=commands), [reply, GOOD])
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.LLM_OUTPUT_INVALID, ""])
    assert why in factory.prompt(1)


def test_a_command_that_passed_in_an_earlier_attempt_is_not_what_contradicts(
    factory: Factory,
) -> None:
    first = proposal({"hello.txt": "you\n"})
    commands = [NO_HELLO, "grep -q hello hello.txt"]
    replies: list[Reply] = [first, in_text(NO_HELLO), GOOD]
    summary = factory.run(order(acceptance_commands=commands), replies)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, Stage.LLM_OUTPUT_INVALID, ""]
    assert "passes in attempt 1" in factory.prompt(2)


def test_a_claim_without_a_command_stops_the_order_and_says_that_nothing_was_checked(
    factory: Factory,
) -> None:
    summary = factory.run(ORDER, [in_json(None)])
    assert stages(summary) == [Stage.IMPOSSIBLE]
    assert summary.failure is not None
    assert "nothing of this could be checked" in summary.failure.excerpt


@pytest.mark.parametrize(
    ("reply", "claim"),
    [
        ("IMPOSSIBLE: no", ImpossibleClaim("no")),
        ("**IMPOSSIBLE:** no\nCommand: `a b`", ImpossibleClaim("no", "a b")),
        ("```\nIMPOSSIBLE: no\n```", ImpossibleClaim("no")),
        ("<think>hm</think>\nIMPOSSIBLE: no", ImpossibleClaim("no")),
        ('```json\n{"impossible": {"reason": "no", "command": null}}\n```', ImpossibleClaim("no")),
        (
            '{"impossible": {"reason": "no", "command": "x"}, "writes": []}',
            ImpossibleClaim("no", "x"),
        ),
        ("IMPOSSIBLE:", None),
        ('{"impossible": {"reason": " "}}', None),
        ('{"impossible": null, "summary": "s", "writes": []}', None),
        ('{"impossible": {"reason": "none"}, "writes": [{"path": "a"}]}', None),
        ('{"impossible": {"reason": "no"}, "name": "a file of its own"}', None),
        ('```a.json\n{"impossible": {"reason": "no"}}\n```', None),
        ("Summary: handles the IMPOSSIBLE: case\n```a.py\n1\n```", None),
    ],
)
def test_only_a_reply_that_is_a_claim_is_one(reply: str, claim: ImpossibleClaim | None) -> None:
    assert parse_claim(reply) == claim


def test_a_claim_with_many_blanks_is_read_at_once() -> None:
    claim = parse_claim("IMPOSSIBLE: a" + " " * 1_000_000 + "b\n \n  c")
    assert claim is not None and claim.reason.startswith("a ")
    spaced = parse_claim("IMPOSSIBLE: a  b\n \n  c")
    assert spaced is not None and spaced.reason == "a  b\nc"


def test_a_claim_of_any_length_is_bounded() -> None:
    claim = parse_claim("IMPOSSIBLE: " + "no " * 100_000 + "\nCommand: " + "x" * 100_000)
    assert claim is not None
    assert len(claim.reason) <= 1_500 and len(claim.command or "") <= 1_500
