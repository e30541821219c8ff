"""Parts of files go the whole way: what is committed is what was assembled, guards included."""

from __future__ import annotations

from typing import Any

import pytest

from factory.orders.documents import Form, ReplyFormat, RunSummary
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.stages import AttemptStage, Stage
from factory.proposal.edit_blocks import Change, render_changes
from factory.proposal.reply_formats import ProposedFile, render_files_reply
from tests.harness import Factory, blob, commit_all, order, stages

TEXT = "LIMIT = 3\n\n\n" + "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(60))
MODELS = ModelChoice((Rung("scripted"),), reply_format=ReplyFormat.EDITS)


def edit(old: str, new: str, path: str = "m.py") -> str:
    block = ProposedFile(path, render_changes([Change(old, new)]), Form.SEARCH)
    return render_files_reply("Change it.", [block])


def run(factory: Factory, *replies: str, text: str = TEXT, **fields: Any) -> RunSummary:
    commit_all(factory.repo, {"m.py": text})
    document = order(
        **{"allowed_files": ["m.py", "n.py"], "acceptance_commands": ["true"]} | fields
    )
    return factory.run(document, replies, max_attempts=1, models=MODELS)


def test_edits_are_committed_as_they_were_assembled(factory: Factory) -> None:
    definition = ProposedFile("m.py", "def f7(x):\n    return 7\n", Form.DEFINITION, "f7")
    reply = render_files_reply("Change it.", [definition, ProposedFile("n.py", "x = 1\n")])
    summary = run(factory, reply)
    assert stages(summary) == [""]
    expected = TEXT.replace("return x + 7\n", "return 7\n")
    assert blob(factory.repo, "work", "m.py") == expected.encode()
    assert blob(factory.repo, "work", "n.py") == b"x = 1\n"
    (write, _) = factory.record("attempt_1/proposed_writes.json")["writes"]
    assert (write["path"], write["content"]) == ("m.py", expected)


def test_a_repair_is_on_record(factory: Factory) -> None:
    summary = run(factory, edit("return x + 9\n", "return 9\n"))
    assert stages(summary) == [""]
    assert summary.attempt_records[0].repairs == (
        "m.py: the indentation was shifted to the file's",
    )


def test_an_edit_that_does_not_apply_changes_nothing_and_is_told_precisely(
    factory: Factory,
) -> None:
    reply = edit("    return x + 99\n", "    return 9\n")
    summary = run(factory, reply, edit("    return x + 9\n", "    return 9\n"))
    assert stages(summary) == [""]
    assert [each.reason for each in summary.attempt_records[0].questions] == ["blocks refused"]
    assert "its search text is not in the file" in factory.prompt(1)
    assert "Write this block again, corrected, and nothing else." in factory.prompt(1)


LINES = "".join(f"line {n} of the page\n" for n in range(60))
MOST = "".join(LINES.splitlines(keepends=True)[:45])


@pytest.mark.parametrize(
    ("reply", "stage"),
    [
        (edit("LIMIT = 3\n", "BOUND = 3\n"), Stage.CONTRACT_VIOLATED),
        (edit(MOST, "", "page.txt"), Stage.CONTRACT_VIOLATED),
        (edit("def f3(x):\n", "def other(x):\n"), Stage.LLM_OUTPUT_INVALID),
        (edit("name\n", "other\n", "forbidden.txt"), Stage.LLM_OUTPUT_INVALID),
        (edit("x\n", "y\n", "n.py"), Stage.LLM_OUTPUT_INVALID),
    ],
    ids=["public name", "half of a file", "definition", "not allowed", "absent"],
)
def test_the_guards_see_the_assembled_file(factory: Factory, reply: str, stage: Stage) -> None:
    commit_all(factory.repo, {"page.txt": LINES, "forbidden.txt": "name\n"})
    allowed = ["m.py", "n.py", "page.txt"]
    assert stages(run(factory, reply, reply, reply, allowed_files=allowed)) == [stage]


def test_an_edit_of_a_file_that_changed_since_is_stale(factory: Factory) -> None:
    factory.at_stage(AttemptStage.APPLY, lambda tree: (tree / "m.py").write_text("x = 1\n"))
    summary = run(factory, edit("    return x + 9\n", "    return 9\n"))
    assert stages(summary) == [Stage.STALE_CONTEXT]
