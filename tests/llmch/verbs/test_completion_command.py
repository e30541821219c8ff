"""`llmch completion`: what real shells offer, word by word."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from llmch.entry.answers import STAGE_NAMES, rule_codes
from llmch.entry.command_line import parser_of
from llmch.entry.verb_table import TOPICS, VERBS, module_of
from llmch.verbs.completion import read_grammar
from llmch.verbs.demo import list_examples
from tests.harness import commit_all, git
from tests.llmch.command_line import Say
from tests.llmch.verbs.shells import SHELLS, Shell, open_shell

HOSTILE = "$(touch${IFS}pwned);`touch${IFS}pwned`"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with files whose names need quotes, and with branches."""
    folder = tmp_path_factory.mktemp("completed") / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder, {"spec one.md": "# One\n", "specs/two.md": "# Two\n", "my plan/a": ""})
    git(folder, "branch", "factory/words-1")
    git(folder, "branch", HOSTILE)
    return folder


@pytest.fixture(scope="module", params=SHELLS)
def shell(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    name = request.param
    script = subprocess.run(
        [sys.executable, "-m", "llmch", "completion", name],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    home = tmp_path_factory.mktemp("home") / name
    with open_shell(name, script, folder, home) as opened:
        yield opened


@pytest.mark.rest
def test_the_verbs_come_first(shell: Shell) -> None:
    assert shell.offered("llmch ") >= {*VERBS}
    assert shell.offered("llmch re") == {each for each in VERBS if each.startswith("re")}


def options_of(verb: str) -> set[str]:
    parser = parser_of(verb, import_module(module_of(verb)))
    listed = [each for each in parser._actions if each.help is not argparse.SUPPRESS]
    return {word for each in listed for word in each.option_strings if word.startswith("--")}


def test_every_option_of_every_verb_is_offered(shell: Shell) -> None:
    for verb in VERBS:
        offered = {each.removesuffix("=") for each in shell.offered(f"llmch {verb} --")}
        assert offered == options_of(verb), verb


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("llmch explain ", {*rule_codes(), *STAGE_NAMES}),
        ("llmch explain E10", {each for each in rule_codes() if each.startswith("E10")}),
        ("llmch explain --quiet verify_", {"verify_failed"}),
        ("llmch help ", {*TOPICS, *VERBS}),
        ("llmch completion ", {*SHELLS}),
        ("llmch demo ", {each.name for each in list_examples()}),
        ("llmch fleet ", {"init", "status", "wait", "cancel"}),
        ("llmch fleet wait ", set()),
        ("llmch run --sandbox ", {"auto", "bwrap", "landlock", "off"}),
        ("llmch run --work-order x.json --sandbox b", {"bwrap"}),
        ("llmch show plan --format ", {"tree", "mermaid", "dot", "json"}),
        ("llmch plan --planner-model ", set()),
        ("llmch frobnicate ", set()),
        ("llmch plan --spec s", {"spec one.md", "specs"}),
        ('llmch plan --spec "spec o', {"spec one.md"}),
        ("llmch plan --spec specs/", {"specs/two.md"}),
        ("llmch show m", {"my plan"}),
        ("llmch show --repo s", {"specs"}),
        ("llmch run-all --jobs 2 --workdir m", {"my plan"}),
        ("llmch show plan --branch f", {"factory/words-1"}),
    ],
)
def test_a_word_is_completed_by_what_may_stand_there(
    shell: Shell, line: str, words: set[str]
) -> None:
    assert shell.offered(line) == words


def test_a_value_may_follow_an_equals_sign(shell: Shell) -> None:
    (offered,) = shell.offered("llmch run --sandbox=bw")
    assert offered == "--sandbox=bwrap"


def test_the_name_of_a_branch_is_never_evaluated(shell: Shell, folder: Path) -> None:
    assert shell.offered("llmch show plan --branch ") == {"main", "factory/words-1", HOSTILE}
    assert not (folder / "pwned").exists()


# The scripts


@pytest.mark.parametrize("shell_name", SHELLS)
def test_the_script_is_printed_as_it_is(say: Say, shell_name: str) -> None:
    said = say("completion", shell_name, "--quiet")
    assert (said.code, said.err) == (0, "")
    document = say("completion", shell_name, "--json").document
    assert document == {"shell": shell_name, "script": said.out}
    assert say("completion", shell_name, "--markdown").out == f"```{shell_name}\n{said.out}```\n"


def test_an_unknown_shell_is_refused(say: Say) -> None:
    said = say("completion", "tcsh")
    assert said.code == 2
    assert "'bash', 'zsh', 'fish'" in said.err


def test_every_option_and_every_word_can_stand_in_a_script_without_quotes() -> None:
    words = [
        word
        for verb in read_grammar()
        for value in (
            *(each.value for each in verb.options if each.value),
            *(each.value for each in verb.positionals),
        )
        for word in (verb.name, *verb.spellings, *value.words)
    ]
    assert [each for each in words if not re.fullmatch(r"[\w.-]+", each, re.ASCII)] == []
