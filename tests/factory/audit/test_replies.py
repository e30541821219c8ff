"""However a model replied, the commit is proven to hold what it said, question for question."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.orders.documents import Form, ReplyFormat
from factory.orders.model_choice import ModelChoice, Rung
from factory.proposal.reply_formats import ProposedFile, render_files_reply
from shared.llm.model_client import Request
from tests.factory.audit.honest import Auditor, describe, standings
from tests.harness import Factory, Json, commit_all, writing


def assert_read_again(factory: Factory) -> None:
    found = Auditor(factory.repo, factory.artifacts).look()
    assert standings(found)[Claim.REPLY] is ClaimState.PROVEN, describe(found)


def fenced(*blocks: tuple[str, str]) -> str:
    parts = (f"{path}\n```\n{text}```\n" for path, text in blocks)
    return "SUMMARY: as scripted\n\n" + "\n".join(parts)


def edit(path: str, search: str, replace: str) -> str:
    return (
        f"SUMMARY: as scripted\n\n{path}\n```\n<<<<<<< SEARCH\n{search}=======\n{replace}"
        ">>>>>>> REPLACE\n```\n"
    )


CHANGE = writing("src/app.py", acceptance_commands=["grep -q moin src/app.py"])
REPLIES: dict[str, list[str | Callable[[Request], str]]] = {
    "whole files": [fenced(("src/app.py", "GREETING = 'moin'\n"))],
    "a part of a file": [edit("src/app.py", "GREETING = 'hello'\n", "GREETING = 'moin'\n")],
    "unreadable at first": ["I would rather not.", fenced(("src/app.py", "GREETING = 'moin'\n"))],
    "unchanged at first": [
        fenced(("src/app.py", "GREETING = 'hello'\n")),
        fenced(("src/app.py", "GREETING = 'moin'\n")),
    ],
    "a part that is asked for again": [
        edit("src/app.py", "GREETING = 'nowhere'\n", "GREETING = 'moin'\n"),
        edit("src/app.py", "GREETING = 'hello'\n", "GREETING = 'moin'\n"),
    ],
    "JSON, unasked": [
        json.dumps(
            {
                "summary": "s",
                "writes": [{"path": "src/app.py", "content": "GREETING = 'moin'\n"}],
            }
        )
    ],
}


@pytest.mark.rest
@pytest.mark.parametrize("said", REPLIES)
@pytest.mark.parametrize("form", [ReplyFormat.FILES, ReplyFormat.EDITS])
def test_a_reply(factory: Factory, said: str, form: ReplyFormat) -> None:
    options = factory.options()
    models = replace(options.models, reply_format=form)
    summary = factory.run(CHANGE, list(REPLIES[said]), models=models)
    assert summary.verdict == "PASS", summary
    assert_read_again(factory)


# A small model, and files that are not written whole

LONG = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(20))
LARGE = "".join(
    f"def f{n}(x):\n    # {'what this one is for, ' * 8}\n    return x + {n}\n\n\n"
    for n in range(2000)
)
RIGHT = "def f7(x):\n    return 2 * x + 7\n"
AS_IT_WAS = "def f7(x):\n    return x + 7\n"
FOCUSED = writing(
    "m.py",
    intent="`f7` has to double its argument before it adds.",
    acceptance_commands=["grep -q '2 . x' m.py"],
)
WIDE = FOCUSED | {"intent": "Make the function of 7 double its argument before it adds."}


def block(code: str) -> str:
    return f"```python\n{code}```\n"


def named(code: str) -> str:
    return render_files_reply("Double it.", [ProposedFile("m.py", code, Form.DEFINITION, "f7")])


SMALL: dict[str, tuple[Json, str, list[str]]] = {
    "the definition alone": (FOCUSED, LONG, [block(RIGHT)]),
    "the definition, at the third question": (
        FOCUSED, LONG, [block(AS_IT_WAS), block(AS_IT_WAS), block(RIGHT)],
    ),
    "the definition of a large file": (FOCUSED, LARGE, [block(RIGHT)]),
    "a definition by its name": (WIDE, LARGE, [named(RIGHT)]),
    "after more was shown": (WIDE, LARGE, ["show m.py::f1999", named(RIGHT)]),
    "after more was shown, focused": (FOCUSED, LARGE, ["show m.py::f1999", named(RIGHT)]),
    "at the second attempt": (
        FOCUSED, LONG, [block("def f7(x):\n    return 3 * x\n"), block(RIGHT)],
    ),
}  # fmt: skip


@pytest.mark.rest
@pytest.mark.parametrize("case", SMALL)
def test_a_reply_of_a_small_model(factory: Factory, case: str) -> None:
    order, text, said = SMALL[case]
    commit_all(factory.repo, {"m.py": text})
    summary = factory.run(order, said, models=ModelChoice((Rung("scripted-1.5b"),)))
    assert summary.verdict == "PASS", summary
    assert_read_again(factory)
