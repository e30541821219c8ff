"""Orders that change a file too large to be shown, or to be written, whole."""

from __future__ import annotations

import pytest

from factory.orders.documents import Form, ReplyFormat
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.stages import Stage
from factory.proposal.edit_blocks import Change, render_changes
from factory.proposal.reply_formats import ProposedFile, render_files_reply
from tests.harness import Factory, blob, commit_all, stages, writing

TEXT = '"""A long module."""\n\n' + "".join(
    f"def f{n}(x: int) -> int:\n    # {'what this one is for, ' * 8}\n    return x + {n}\n\n\n"
    for n in range(2000)
)
ORDER = writing(
    "big.py",
    intent="Make the function of 1500 double its argument before it adds.",
    acceptance_commands=["python -c 'import big; assert big.f1500(2) == 1504'"],
)
NEW = "def f1500(x: int) -> int:\n    return 2 * x + 1500\n"


def choice(model: str = "scripted-1.5b", forced: ReplyFormat | None = None) -> ModelChoice:
    return ModelChoice((Rung(model),), reply_format=forced)


def definition(code: str = NEW, name: str = "f1500") -> str:
    return render_files_reply("Double it.", [ProposedFile("big.py", code, Form.DEFINITION, name)])


def search(old: str, new: str) -> str:
    changes = render_changes([Change(old, new)])
    return render_files_reply("Double it.", [ProposedFile("big.py", changes, Form.SEARCH)])


@pytest.mark.rest
def test_a_definition_of_a_large_file_is_changed_by_its_name(factory: Factory) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    assert len(TEXT) > 200 * 1024
    summary = factory.run(ORDER, [definition()], models=choice())
    assert stages(summary) == [""]
    text = blob(factory.repo, "work", "big.py").decode()
    assert "return 2 * x + 1500" in text
    assert len(text.splitlines()) == len(TEXT.splitlines()) - 1
    prompt = factory.prompt()
    assert len(prompt) < 60_000
    assert "return x + 1500\n" in prompt
    assert "Of big.py, write only the definitions that change" in prompt


@pytest.mark.rest
def test_of_a_large_file_a_small_model_is_shown_the_definition_that_the_order_names(
    factory: Factory,
) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    order = ORDER | {"intent": "Make `f1500` double its argument before it adds."}
    summary = factory.run(order, [f"```python\n{NEW}```\n"], models=choice())
    assert stages(summary) == [""]
    assert "return 2 * x + 1500" in blob(factory.repo, "work", "big.py").decode()
    assert len(factory.prompt()) < 1000


@pytest.mark.rest
def test_a_small_model_that_asks_for_more_of_a_large_file_gets_it(factory: Factory) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    order = ORDER | {"intent": "Make `f1500` double its argument before it adds."}
    summary = factory.run(order, ["show big.py::f1999", definition()], models=choice())
    assert (stages(summary), summary.usage.calls) == ([""], 2)
    assert "return x + 1999\n" in factory.prompt(1)


@pytest.mark.rest
def test_more_of_a_large_file_is_shown_on_request_and_that_is_no_attempt(
    factory: Factory,
) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    replies = ["show big.py::f1999", definition()]
    summary = factory.run(ORDER, replies, models=choice())
    assert (stages(summary), summary.usage.calls) == ([""], 2)
    assert [each.reason for each in summary.attempt_records[0].questions] == ["more wanted"]
    assert "return x + 1999\n" not in factory.prompt(0)
    assert "return x + 1999\n" in factory.prompt(1)


@pytest.mark.rest
def test_a_block_that_does_not_fit_is_asked_for_alone(factory: Factory) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    right = search("    return x + 1500\n", "    return 2 * x + 1500\n")
    summary = factory.run(
        ORDER,
        [search("    return x * 1500\n", "    return 0\n"), right],
        models=choice("large-70b"),
    )
    assert stages(summary) == [""]
    (question,) = summary.attempt_records[0].questions
    assert question.reason == "blocks refused"
    assert question.note in factory.prompt(1)


@pytest.mark.rest
def test_blocks_that_never_fit_use_up_an_attempt_and_change_the_form(factory: Factory) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    wrong = [search(f"no such line {n}\n", "x\n") for n in range(3)]
    summary = factory.run(ORDER, [*wrong, definition()], models=choice("large-70b"))
    assert stages(summary) == [Stage.LLM_OUTPUT_INVALID, ""]
    assert "Of big.py, write only the lines that change" in factory.prompt(0)
    assert "Of big.py, write only the definitions that change" in factory.prompt(3)


def test_a_forced_format_of_whole_files_is_refused_where_the_file_is_shown_in_part(
    factory: Factory,
) -> None:
    commit_all(factory.repo, {"big.py": TEXT})
    summary = factory.run(ORDER, [], models=choice(forced=ReplyFormat.FILES))
    assert stages(summary) == [Stage.PREFLIGHT]
    assert summary.failure is not None
    assert "leave out --reply-format, or name edits" in summary.failure.excerpt
