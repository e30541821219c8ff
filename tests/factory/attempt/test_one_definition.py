"""A small model that has to change one definition is shown this definition, and replies with it."""

from __future__ import annotations

from typing import Any

import pytest

from factory.orders.documents import ReplyFormat, RunSummary
from factory.orders.model_choice import ModelChoice, parse_ladder
from factory.orders.stages import Stage
from tests.fakes import Reply
from tests.harness import Factory, blob, commit_all, stages, writing

TEXT = '"""Scores."""\n\n\n' + "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(20))
ORDER = writing(
    "m.py",
    intent="`f7` has to double its argument before it adds.",
    acceptance_commands=["python -c 'import m; assert m.f7(2) == 11'"],
)
RIGHT = "def f7(x):\n    return 2 * x + 7\n"
WRONG = "def f7(x):\n    return 2 * (x + 7)\n"
AS_IT_WAS = "def f7(x):\n    return x + 7\n"
FIXED = TEXT.replace("    return x + 7\n", "    return 2 * x + 7\n")


def fenced(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}```\n"


def run(
    factory: Factory, *replies: Reply, ladder: str = "scripted-1.5b", **options: Any
) -> RunSummary:
    commit_all(factory.repo, {"m.py": TEXT})
    forced = options.pop("reply_format", None)
    models = ModelChoice(parse_ladder(ladder), 5, reply_format=forced)
    return factory.run(ORDER, replies, models=models, **options)


def test_the_definition_alone_goes_there_and_back(factory: Factory) -> None:
    assert stages(run(factory, fenced(RIGHT))) == [""]
    assert blob(factory.repo, "work", "m.py").decode() == FIXED
    (write,) = factory.record("attempt_1/proposed_writes.json")["writes"]
    assert (write["path"], write["content"]) == ("m.py", FIXED)
    prompt = factory.prompt()
    assert prompt.startswith(
        "```python\ndef f7(x):\n    return x + 7\n```\n\nSay hello\n\n`f7` has to double"
    )
    assert prompt.endswith("\n\nReply with the whole changed function in one fenced code block.\n")
    assert "f8" not in prompt


def test_a_definition_that_is_as_it_was_is_asked_for_again(factory: Factory) -> None:
    summary = run(factory, fenced(AS_IT_WAS), fenced(AS_IT_WAS), fenced(RIGHT))
    assert stages(summary) == [""]
    (record,) = summary.attempt_records
    assert [each.reason for each in record.questions] == ["blocks refused"] * 2
    assert blob(factory.repo, "work", "m.py").decode() == FIXED
    first, second, third = factory.model.requests
    assert "the block changes nothing: `f7` is in the file as it is given" in second.prompt
    assert second.prompt.startswith(first.prompt.rpartition("\n\n")[0])
    assert second.prompt.endswith(first.prompt.rpartition("\n\n")[2])
    assert (third.prompt, third.temperature) == (second.prompt, 0.4)


def test_the_whole_file_is_taken_where_it_comes_all_the_same(factory: Factory) -> None:
    assert stages(run(factory, fenced(FIXED))) == [""]
    assert blob(factory.repo, "work", "m.py").decode() == FIXED


@pytest.mark.rest
def test_another_sample_is_taken_before_the_failure_is_told(factory: Factory) -> None:
    wrong = [fenced(WRONG), *(fenced(WRONG.replace("2 *", f"{n} *")) for n in range(3, 7))]
    summary = run(factory, *wrong, fenced(RIGHT), max_attempts=6)
    assert stages(summary) == [*[Stage.ACCEPTANCE_FAILED] * 5, ""]
    *samples, last = factory.model.requests
    assert len({each.prompt for each in samples}) == 1
    asked_at = [each.temperature for each in factory.model.requests]
    assert asked_at == [0, 0.8, 1.0, 0.7, 0.9, 0.8]
    assert "What came of your earlier replies" in last.prompt
    assert last.prompt.startswith(samples[0].prompt.partition("\n\nReply")[0])


def test_a_form_that_did_not_fit_is_not_asked_for_in_the_next_attempt(factory: Factory) -> None:
    nothing = [fenced("return 2 * x + 7\n"), "", fenced(AS_IT_WAS)]
    summary = run(factory, *nothing, fenced(FIXED))
    assert stages(summary) == [Stage.LLM_OUTPUT_INVALID, ""]
    fourth = factory.prompt(3)
    assert fourth.endswith("Reply with the whole file m.py in one fenced code block.\n")
    assert TEXT.rstrip() in fourth


@pytest.mark.parametrize(
    ("ladder", "forced"),
    [("scripted-7b", None), ("scripted", None), ("scripted-1.5b", ReplyFormat.FILES)],
    ids=["larger model", "unknown size", "whole files wanted"],
)
def test_all_others_are_asked_for_the_file(
    factory: Factory, ladder: str, forced: ReplyFormat | None
) -> None:
    assert stages(run(factory, fenced(FIXED), ladder=ladder, reply_format=forced)) == [""]
    assert "Reply with the whole file" in factory.prompt()


def test_the_next_model_of_the_ladder_is_asked_in_its_own_way(factory: Factory) -> None:
    wrong = [fenced(WRONG), fenced(WRONG.replace("2 *", "3 *"))]
    summary = run(factory, *wrong, fenced(FIXED), ladder="scripted-1.5b,scripted-7b")
    assert stages(summary) == [*[Stage.ACCEPTANCE_FAILED] * 2, ""]
    assert "Reply with the whole file" in factory.prompt(2)
