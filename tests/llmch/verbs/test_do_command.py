"""`llmch do`: a sentence becomes one commit with its test, by at most two paid calls."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.authoring import CHANGE as CHANGE_EXAMPLE
from tests.authoring import make_change_transcript, make_repo_to_change, read_change
from tests.harness import commit_all, git
from tests.llmch.command_line import Said, Say, model_server, plan_reply
from tests.llmch.entry.test_consent import answering, read_until
from tests.llmch.shop import SHOP, writes
from tests.shared.llm.edge import error_answer, response_document, response_stream

Do = Callable[..., Said]
CHANGE = "Refuse a negative number of things with a ValueError"
TEST = (
    "import pytest\n\nfrom shop import price\n\n\ndef test_negative():\n"
    "    with pytest.raises(ValueError):\n        price(-1)\n"
)
ORDER: dict[str, Any] = {
    "title": "Refuse a negative number of things",
    "notes": "",
    "allowed_files": ["shop.py"],
    "context_files": [],
    "acceptance_files": [{"path": "tests/test_negative.py", "content": TEST}],
    "acceptance_commands": ["python -m pytest -q tests/test_negative.py"],
}
GUARDED = SHOP.format(3).replace(
    "    return", "    if n < 0:\n        raise ValueError(n)\n    return"
)
PLAN, WRITES = plan_reply(ORDER), writes({"shop.py": GUARDED})


@pytest.fixture
def shop(repo: Path) -> Path:
    """Give the repo a shop, and what verifies it quickly."""
    commit_all(
        repo, {"shop.py": SHOP.format(3), "scripts/verify.sh": "python -m compileall -q .\n"}
    )
    return repo


@pytest.fixture
def do(say: Say, shop: Path) -> Do:
    def do(*words: str | Path, change: str = CHANGE) -> Said:
        return say("do", change, "--repo", shop, "--sandbox", "off", *words)

    return do


@pytest.mark.rest
def test_a_change_that_has_landed_needs_no_key(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(monkeypatch, PLAN, WRITES):
        assert do("--yes").code == 0
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert do("--yes").code == 0
    assert do("--yes", "--anew", "--json").error["name"] == "MODEL"
    assert do("--yes", "--json", change="Another thing").error["name"] == "MODEL"


@pytest.mark.rest
def test_a_sentence_becomes_a_commit_with_its_test_by_two_calls(
    do: Do, say: Say, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "shop.py").write_text("half done\n")
    with model_server(monkeypatch, PLAN, WRITES) as server:
        said = do("shop.py", "--yes", "--json")
    assert (said.code, len(server.received)) == (0, 2)
    document = said.document
    assert (document["verdict"], document["work_order"]) == ("PASS", "WO-01")
    written = git(shop, "diff", "--name-only", "HEAD", document["branch"]).split()
    assert written == ["shop.py", "tests/test_negative.py"]
    assert (shop / "shop.py").read_text() == "half done\n"
    assert said.err.count("uncommitted changes are not part of this run: shop.py") == 1
    asked = json.dumps(server.received[0].body)
    assert CHANGE in asked and "return 3 * n" in asked and "half done" not in asked
    assert CHANGE in json.dumps(server.received[1].body)
    report = say("report", "--repo", shop, "--json").document
    assert report["usage"]["calls"] == 2
    with model_server(monkeypatch):
        again = do("shop.py", "--yes", "--json")
    assert (again.code, again.document["commit"]) == (0, document["commit"])


@pytest.mark.rest
def test_a_failed_change_ends_with_the_command_that_helps(
    do: Do, say: Say, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, writes({"stray.py": ""}), WRITES):
        failed = do("shop.py", "--yes", "--max-attempts", "1")
        step, _, report = failed.out.splitlines()[-3:]
        assert f"→ `llmch retry WO-01 --repo {shop} --hint TEXT`" in step
        assert "llmch report --html report.html" in report
        retried = say("retry", "WO-01", "--repo", shop, "--sandbox", "off", "--json")
    assert (failed.code, retried.code) == (1, 0)
    report = say("report", "--repo", shop, "--json").document
    assert (report["usage"]["calls"], report["gaps"]) == (2, [])
    with model_server(monkeypatch):
        assert do("shop.py", "--yes", "--json").document["state"] == "skipped"


SMALL = ("--planner-model", "coder-1.5b", "--factory-model", "coder-1.5b", "--yes", "--json")


@pytest.mark.rest
def test_a_small_model_is_asked_for_the_test_file_alone(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON with code in it is more than it can write."""
    wrong = plan_reply(f"```python\n{TEST}    assert (\n```")
    right = plan_reply(f"Here it is:\n\n```python\n{TEST}```\n")
    with model_server(monkeypatch, wrong, right, WRITES) as server:
        said = do("shop.py", *SMALL)
    assert (said.code, len(server.received)) == (0, 3), said.err
    first, again = (json.dumps(each.body) for each in server.received[:2])
    assert "tests/test_shop.py" in first and "return 3 * n" in first and "JSON" not in first
    assert "was refused" in again and "JSON" not in again
    temperatures = [each.body.get("temperature") for each in server.received[:2]]
    assert temperatures[0] != temperatures[1] == 0.8
    rooms = [each.body.get("max_output_tokens") for each in server.received[:2]]
    assert rooms[0] == 1_024 != rooms[1]  # a model that reasons may need more
    assert git(shop, "show", f"{said.document['branch']}:tests/test_shop.py") == TEST.strip()
    subject = git(shop, "log", "-1", "--format=%s", said.document["branch"])
    assert subject == "refuse a negative number of things with a ValueError"  # as the repo has them


@pytest.mark.rest
def test_of_a_test_that_is_cut_what_is_whole_counts(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small model repeats itself until its reply is at its limit."""
    said = f"```python\n{TEST}        price(-2)\n        price("
    document = response_document(
        text=said, status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    with model_server(monkeypatch, response_stream(said, document), WRITES) as server:
        done = do("shop.py", *SMALL)
    assert (done.code, len(server.received)) == (0, 2), done.err
    landed = git(shop, "show", f"{done.document['branch']}:tests/test_shop.py")
    assert landed == f"{TEST}        price(-2)"


@pytest.mark.rest
@pytest.mark.parametrize(
    "test", ["def test_negative():\n    assert True\n", TEST.replace("shop", "copied", 1)]
)
def test_a_small_models_test_that_passes_already_lands_nothing_and_pays_for_no_code(
    do: Do, shop: Path, test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small models copy the code into the test, which then passes whatever is written."""
    commit_all(shop, {"copied.py": GUARDED})
    with model_server(monkeypatch, plan_reply(f"```python\n{test}```")) as server:
        said = do("shop.py", *SMALL)
    assert (said.code, len(server.received)) == (1, 1), said.err
    assert "W252" in said.err and "passes before anything is written" in said.err
    assert git(shop, "for-each-ref", "--format=%(refname:short)", "refs/heads") == "main"


@pytest.mark.rest
def test_a_small_model_may_answer_with_an_order_all_the_same(
    do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, WRITES) as server:
        assert do("shop.py", *SMALL).code == 0
    assert len(server.received) == 2


@pytest.mark.rest
def test_at_a_terminal_the_order_is_shown_and_asked_about_and_a_no_keeps_it(
    do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "n\n") as terminal, model_server(monkeypatch, PLAN) as server:
        said = do()
        assert read_until(terminal, "[y/N] ").endswith("Execute this order? [y/N] ")
    assert (said.code, len(server.received)) == (1, 1)
    shown = said.out.partition("Plan: 1 order, 1 to do")[0].partition("● WO-01    to do     ")[2]
    assert [each.strip() for each in shown.splitlines()][:4] == [
        "Refuse a negative number of things",
        "~ shop.py",
        "+ tests/test_negative.py  (a test of the plan)",
        "$ python -m pytest -q tests/test_negative.py",
    ]
    with model_server(monkeypatch, WRITES):
        assert do("--yes").code == 0


def test_without_a_terminal_and_without_yes_nothing_is_asked_of_a_model(
    do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch) as server:
        said = do("--json")
    assert (said.code, len(server.received)) == (2, 0)
    assert "--yes" in said.error["hint"]


@pytest.mark.rest
def test_a_test_of_the_persons_own_takes_the_place_of_the_models(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verification may fail by it beforehand, and by nothing else."""
    verify = {"scripts/verify.sh": "python -m pytest -q tests\n"}
    commit_all(shop, {"tests/test_negative.py": TEST, **verify})
    words = ("--test", "python -m pytest -q tests/test_negative.py", "--yes", "--json")
    bare = {key: ORDER[key] for key in ("title", "notes", "allowed_files")}
    with model_server(monkeypatch, plan_reply(bare), WRITES) as server:
        said = do(*words)
    assert said.code == 0
    assert "acceptance_files" not in json.dumps(server.received[0].body)
    assert git(shop, "diff", "--name-only", "HEAD", said.document["branch"]) == "shop.py"


@pytest.mark.rest
def test_a_refused_order_is_revised_as_a_plan_is(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {**ORDER, "acceptance_commands": ["python -m pytest -q tests/test_negative.py | cat"]}
    with model_server(monkeypatch, plan_reply(broken), PLAN, WRITES) as server:
        assert do("--yes").code == 0
    assert "E003" in json.dumps(server.received[1].body)


@pytest.mark.rest
def test_diff_and_repro_show_the_order_as_it_was_judged_and_need_no_words(
    do: Do, say: Say, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN, writes({"shop.py": SHOP.format(4)})):
        assert do("--yes", "--max-attempts", "1").code == 1
    again = say("repro", "--repo", shop, "--json")
    assert (again.code, again.document["exit_code"], again.document["exit_code_in_run"]) == (
        (1, 1, 1)
    )
    assert again.document["command"] == ORDER["acceptance_commands"][0]
    with model_server(monkeypatch, WRITES):
        landed = do("--yes", "--json").document
    shown = say("diff", "--repo", shop, "--json").document
    assert shown["passed"] and shown["run_id"] == landed["run_id"]
    committed = git(shop, "diff", "--no-renames", "HEAD", landed["branch"])
    assert shown["patch"].strip() == committed
    assert say("repro", "--repo", shop, "--json").document["run_id"] == again.document["run_id"]


@pytest.mark.rest
def test_what_was_interrupted_while_planning_is_not_paid_twice(
    do: Do, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch, PLAN), answering(monkeypatch, "n\n"):
        assert do().code == 1
    (record,) = (cwd / "artifacts/planner").glob("*/run.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "status": "running"}))
    (cwd.parent / "repo/.git/llmch/plans.json").unlink()
    with model_server(monkeypatch, WRITES) as server:
        assert do("--yes").code == 0
    assert len(server.received) == 1


@pytest.mark.rest
def test_a_file_that_changed_since_has_the_change_planned_anew(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "n\n"), model_server(monkeypatch, PLAN):
        assert do("shop.py").code == 1
    commit_all(shop, {"shop.py": SHOP.format(4)})
    dearer = writes({"shop.py": GUARDED.replace("3", "4")})
    with model_server(monkeypatch, PLAN, dearer) as server:
        assert do("shop.py", "--yes").code == 0
    assert "return 4 * n" in json.dumps(server.received[0].body)


@pytest.mark.parametrize(
    ("change", "words", "what"),
    [
        (" ", (), "the change is not described"),
        ("x" * 8_001, (), "the change has 8,001 characters"),
        (CHANGE, ("../elsewhere.py",), "is not a path in"),
        (CHANGE, (".git/config",), "is not a path in"),
        (CHANGE, ("notes.txt",), "notes.txt is not in the commit"),
        (CHANGE, ("scripts",), "FILE 'scripts' is a directory"),
        (CHANGE, ("--test", "cat shop.py | grep -q if"), "(E003)"),
        (CHANGE, ("--test", "bash scripts/verify.sh"), "(E105)"),
        (CHANGE, ("--test", "cmp shop.py notes.txt"), "notes.txt is not in the commit"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_paid(
    do: Do,
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    words: tuple[str, ...],
    what: str,
) -> None:
    (shop / "notes.txt").write_text("mine\n")
    with model_server(monkeypatch) as server:
        said = do(*words, "--yes", "--json", change=change)
    assert (said.code, len(server.received)) == (2, 0)
    assert what in said.error["message"]


def test_a_repo_that_is_refused_keeps_nothing_of_what_was_asked(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(monkeypatch) as server:
        said = do("--yes", "--branch", "main", "--json")
    assert (said.code, len(server.received)) == (5, 0)
    assert list((shop / ".git").rglob("asked")) == []


def test_texts_of_changes_long_ago_are_forgotten(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = shop / ".git/llmch/asked"
    asked.mkdir(parents=True)
    for age in range(205):
        (asked / f"{age}.md").write_text("a change")
        os.utime(asked / f"{age}.md", (10**9 - age, 10**9 - age))
    with model_server(monkeypatch, error_answer(401, "wrong key")):
        assert do("--yes", "--json").code == 3
    names = {each.name for each in asked.iterdir()}
    assert len(names) == 200 and names.isdisjoint({"199.md", "204.md"})
    assert CHANGE in next(each for each in asked.iterdir() if len(each.stem) > 3).read_text()


@pytest.mark.rest
def test_the_shipped_example_replays_without_a_key_and_without_a_question(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    repo, change = make_repo_to_change(tmp_path / "shop"), read_change()
    transcript: list[str | Path] = ["--llm", "replay", "--transcript"]
    transcript += [CHANGE_EXAMPLE / "transcript.jsonl", "--reply-format", "json"]
    asked: list[str | Path] = [change.text, *change.files, "--sandbox", "off", "--json"]
    said = say("do", *asked, "--repo", repo, *transcript)
    assert (said.code, said.document["verdict"]) == (0, "PASS"), said.err
    assert said.document["branch"].startswith("factory/refuse-a-negative-number-of-things-with-")
    again = tmp_path / "made.jsonl"
    make_change_transcript(again)
    assert again.read_bytes() == (CHANGE_EXAMPLE / "transcript.jsonl").read_bytes()


@pytest.mark.rest
def test_a_small_model_is_not_asked_for_a_test_that_the_documentation_has(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = 'def tax(n):\n    """Return a tenth.\n\n    >>> tax(50)\n    5\n    """\n'
    commit_all(shop, {"tax.py": stub})
    with model_server(monkeypatch, writes({"tax.py": f"{stub}    return n // 10\n"})) as server:
        said = do("tax.py", *SMALL, change="Write `tax`, as its docstring says.")
    assert (said.code, len(server.received)) == (0, 1), said.err
    landed = git(shop, "show", f"{said.document['branch']}:tests/test_tax.py")
    assert landed == "from tax import tax\n\n\ndef test_tax():\n    assert tax(50) == 5"


@pytest.mark.rest
def test_a_small_model_is_not_asked_for_an_order_with_a_persons_test(
    do: Do, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(shop, {"tests/test_negative.py": TEST})
    words = ("--test", "python -m pytest -q tests/test_negative.py", *SMALL)
    with model_server(monkeypatch, WRITES) as server:
        said = do("shop.py", *words)
    assert (said.code, len(server.received)) == (0, 1), said.err
    assert git(shop, "diff", "--name-only", "HEAD", said.document["branch"]) == "shop.py"
