"""`llmch help`: topics out of the tables that the program works by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from factory.orders.stages import AttemptStage, Stage
from factory.sandbox.policy import MEANINGS, Guarantee
from llmch.entry.verb_table import TOPICS, VERBS
from llmch.verbs.help import LAYOUT
from shared.errors import EXIT_CODE_MEANINGS, ExitCode
from shared.settings.declaration import VARIABLES
from shared.settings.settings import KEYS
from tests.harness import Json
from tests.llmch.command_line import ROOT, Say, model_server, plan_reply, write_reply
from tests.planner.plans import creating, plan

FLOORS = ("llmch", "planner", "factory", "shared")
# These run in processes of their own, with variables that llmch gives them.
ELSEWHERE = {
    "factory/sandbox/target_path.py",
    "shared/languages/python/checker_worker.py",
    "shared/languages/python/mutant_runs.py",
}


def terms(say: Say, topic: str) -> dict[str, Json]:
    """Return the terms of a topic by their names."""
    document = say("help", topic, "--json").document
    assert document["topic"] == topic
    return {each["name"]: each for part in document["parts"] for each in part["terms"]}


def test_help_lists_the_topics_after_the_verbs(say: Say) -> None:
    out = say("help").out
    assert re.findall(r"^  (\w[\w-]+) +\w", out, re.M)[: len(VERBS) + len(TOPICS)] == [
        *VERBS,
        *TOPICS,
    ]
    assert say("help", "--json").document == {"verbs": VERBS, "topics": TOPICS}
    assert say("help", "--quiet").out == out


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_reads_the_same_in_every_format(say: Say, topic: str) -> None:
    said = say("help", topic)
    assert (said.code, said.err) == (0, "")
    assert say("help", topic, "--quiet").out == said.out
    markdown = re.sub(r"\\(.)", r"\1", say("help", topic, "--markdown").out)
    for name, term in terms(say, topic).items():
        assert f"\n{name}" in said.out
        assert all(term["meaning"])
        assert all(f"\n      {line}\n" in said.out for line in term["meaning"])
        assert f"**{name}**".replace("<", "&lt;").replace(">", "&gt;") in markdown


def test_each_exit_code_is_explained(say: Say) -> None:
    assert EXIT_CODE_MEANINGS.keys() == {*ExitCode}
    assert [*terms(say, "exit-codes")] == [f"{each.value} {each.name}" for each in ExitCode]


def test_each_stage_is_explained(say: Say) -> None:
    explained = terms(say, "stages")
    assert explained.keys() == {*map(str, AttemptStage), *map(str, Stage)}
    for stage in Stage:
        again = "another attempt follows" if stage.retryable else "no other attempt follows"
        assert explained[stage]["about"] == again


def test_each_setting_is_explained_with_its_flag_and_its_variable(say: Say) -> None:
    explained = terms(say, "settings")
    assert explained.keys() == KEYS.keys()
    for name, key in KEYS.items():
        text = "\n".join(explained[name]["meaning"])
        assert key.variable in text
        assert key.flag is None or key.flag.option in text
        assert (explained[name]["about"] == "yours alone") is key.guarded


def test_each_guarantee_is_explained(say: Say) -> None:
    assert MEANINGS.keys() == {*Guarantee}
    explained = terms(say, "sandbox")
    assert {*map(str, Guarantee)} <= explained.keys()
    assert {each for each in KEYS if each.startswith("sandbox.")} <= explained.keys()


def variables_read() -> Iterator[tuple[str, str]]:
    """Yield each variable that the program reads by its name, and the file that reads it."""
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                match node:
                    case (
                        ast.Call(
                            func=ast.Attribute(value=source, attr="get" | "pop"),
                            args=[ast.Constant(value=str(variable)), *_],
                        )
                        | ast.Subscript(value=source, slice=ast.Constant(value=str(variable)))
                    ) if ast.unparse(source).endswith("environ"):
                        yield name, variable
                    case _:
                        pass


@pytest.mark.rest
def test_each_variable_that_the_program_reads_is_explained(say: Say) -> None:
    explained = terms(say, "environment")
    assert explained.keys() == {*VARIABLES, *(key.variable for key in KEYS.values())}
    read = {each for each in variables_read() if each[0] not in ELSEWHERE}
    assert len(read) > 10
    assert {each for each in read if each[1] not in explained} == set()


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("exit-code", "`llmch help exit-codes`"),
        ("setings", "`llmch help settings`"),
        ("rum", "`llmch help run`"),
        ("E101", "`llmch explain E101`"),
        ("w230", "`llmch explain W230`"),
        ("zzz", "`llmch help` lists"),
        ("", "`llmch help` lists"),
        ("\x1b[2J", "`llmch help` lists"),
    ],
)
def test_an_unknown_topic_is_refused_with_what_may_be_meant(say: Say, word: str, hint: str) -> None:
    said = say("help", word)
    assert said.code == 2
    assert said.out == ""
    assert "is neither a topic nor a verb" in said.err
    assert hint in said.err
    assert "\x1b" not in said.err
    assert say("help", word, "--json").error["name"] == "INVALID"


def test_a_topic_may_be_spelled_like_a_name_of_python(say: Say) -> None:
    assert say("help", "Exit_Codes") == say("help", "exit-codes")


@pytest.mark.parametrize("verb", ["plan", "run-all", "help"])
def test_help_of_a_verb_is_a_document_too(say: Say, verb: str) -> None:
    document = say("help", verb, "--json").document
    assert document == {
        "verb": verb, "purpose": VERBS[verb], "text": say(verb, "--help").out,
    }  # fmt: skip
    assert say("help", verb, "--quiet").out == say(verb, "--help").out


# The files of runs


def patterns() -> dict[re.Pattern[str], str]:
    """Return what matches the path of each listed file, and the path as it is listed."""
    listed = [f"{folder.place}{name}" for folder in LAYOUT for name in folder.files]
    return {re.compile(_pattern(each)): each for each in listed}


def _pattern(path: str) -> str:
    text = re.escape(path).replace(re.escape("<id>"), "[0-9A-Z]{26}").replace(r"\*", ".*")
    return text.replace("WO\\-NN", r"WO-\d+").replace("_N", r"_\d+") + r"\Z"


@pytest.mark.rest
def test_all_that_runs_leave_is_listed(
    say: Say, cwd: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cwd / "spec.md").write_text("# Greeter\n\nSay hello.\n")
    wrong = plan(creating(1, "hello.txt") | {"allowed_files": []})
    right = plan(creating(1, "hello.txt"))
    replies = (
        plan_reply(wrong),
        plan_reply(right),
        plan_reply({"findings": []}),
        write_reply({"hello.txt": "hello\n", "other.txt": ""}),
        write_reply({"hello.txt": "hello\n"}),
    )
    with model_server(monkeypatch, *replies):
        said = say(
            *("build", "--spec", "spec.md", "--repo", repo, "--sandbox", "off", "--yes"),
            *("--reply-format", "json"),
        )
    assert said.code == 0, said.out + said.err
    left = {
        *(str(each.relative_to(cwd)) for each in cwd.rglob("artifacts/*/*/**/*")),
        *(str(each.relative_to(repo)) for each in (repo / ".git" / "llmch").rglob("*")),
    }
    files = {each for each in left if (cwd / each).is_file() or (repo / each).is_file()}
    listed = patterns()
    assert {each for each in files if not any(one.match(each) for one in listed)} == set()
    seen = {path for one, path in listed.items() if any(map(one.match, files))}
    # Each folder is where the list says it is.
    assert {folder.place for folder in LAYOUT} == {
        folder.place
        for folder in LAYOUT
        if any(f"{folder.place}{name}" in seen for name in folder.files)
    }
    assert {"artifacts/factory/<id>/WO-NN/attempt_N/failure_brief.json"} <= seen
