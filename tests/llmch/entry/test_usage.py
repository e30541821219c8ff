"""The command line itself: help, verbs, flags, and the streams it is given."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import llmch
from llmch.entry.command_line import parser_of
from llmch.entry.verb_table import EXAMPLES, OLD_WORDS, VERBS, module_of
from tests.llmch.command_line import Say, own_environment, plan_reply, run, write_reply
from tests.planner.plans import creating, order, plan
from tests.shared.llm.scripted_server import scripted_server


def test_help_names_every_verb_and_the_first_steps(say: Say) -> None:
    said = say("--help")
    assert (said.code, said.err) == (0, "")
    assert [verb for verb in VERBS if f"\n  {verb} " not in said.out] == []
    assert "llmch demo" in said.out


@pytest.mark.parametrize("arguments", [["-h"], ["help"], ["--help", "plan"]])
def test_help_has_many_names(say: Say, arguments: list[str]) -> None:
    assert say(*arguments) == say("--help")


def test_without_a_verb_there_is_help_and_an_error(say: Say) -> None:
    said = say()
    assert said.code == 2
    assert said.out == say("--help").out


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version(say: Say, flag: str) -> None:
    first, extras = say(flag).out.splitlines()
    assert re.fullmatch(rf"llmch {re.escape(llmch.__version__)} \([0-9a-f]{{12}}\)", first)
    assert extras == "extras: acp, fleet, html, mcp, otel"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_its_flags(say: Say, verb: str) -> None:
    said = say(verb, "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"usage: llmch {verb}")
    assert "--json" in said.out
    assert said == say("help", verb)


_OF_EXTRAS = (
    "jinja2",
    "markupsafe",
    "psycopg",
    "dbos",
    "sqlalchemy",
    "mcp",
    "anyio",
    "opentelemetry",
)
_ALL_PARSERS = f"""
import sys
sys.modules |= dict.fromkeys({_OF_EXTRAS}, None)
from llmch.entry.command_line import find_verb, parser_of
for verb in {list(VERBS)}:
    parser_of(verb, find_verb(verb))
"""


@pytest.mark.rest
def test_no_verb_needs_an_extra_to_say_what_its_flags_are() -> None:
    argv = [sys.executable, "-c", _ALL_PARSERS]
    done = subprocess.run(argv, capture_output=True, text=True, env=own_environment())
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_shows_an_example_that_it_would_take(say: Say, verb: str) -> None:
    example = EXAMPLES[verb]
    assert say(verb, "--help").out.endswith(f"example:\n  {example}\n")
    program, name, *arguments = shlex.split(example)
    assert (program, name) == ("llmch", verb)
    parser_of(verb, import_module(module_of(verb))).parse_args(arguments)


def test_the_usage_of_a_verb_names_what_it_cannot_do_without(say: Say) -> None:
    def usage(verb: str) -> str:
        return say(verb, "--help").out.partition("\n")[0]

    assert usage("run") == "usage: llmch run --work-order FILE [OPTIONS]"
    assert usage("check") == "usage: llmch check DIR [OPTIONS]"
    assert usage("explain") == "usage: llmch explain [CODE] [OPTIONS]"
    assert usage("do") == "usage: llmch do TEXT [FILE...] [OPTIONS]"
    assert usage("repro") == "usage: llmch repro [[RUN] ORDER [ATTEMPT]] [OPTIONS]"
    assert usage("skip") == "usage: llmch skip (--reason TEXT | --undo) ORDER [OPTIONS]"
    assert "required: TEXT\n" in say("do").err


@pytest.mark.parametrize(
    ("verb", "hint"), [("pln", "llmch plan"), ("run_all", "llmch run-all"), ("zzz", "--help")]
)
def test_a_verb_that_is_none_is_refused_with_what_may_be_meant(
    say: Say, verb: str, hint: str
) -> None:
    said = say(verb)
    assert said.code == 2
    assert f"'{verb}' is not a verb" in said.err
    assert hint in said.err
    assert say(verb, "--json").error["name"] == "INVALID"


def test_an_option_before_the_verb_is_refused_with_where_it_belongs(say: Say) -> None:
    said = say("--verbose", "plan", "--spec", "s")
    assert said.code == 2
    assert "`llmch VERB --verbose`" in said.err


@pytest.mark.parametrize("verb", VERBS)
def test_a_flag_that_nobody_knows_is_refused(say: Say, verb: str) -> None:
    said = say(verb, "--frobnicate", "--json")
    assert said.code == 2
    assert said.error["hint"] == f"`llmch {verb} --help` lists the options"
    assert said.err == ""


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["plan", "--sepc", "s"], "did you mean --spec in place of --sepc?"),
        (["run-all", "--workdir=p", "--job=2"], "did you mean --jobs in place of --job?"),
        (["run", "--work-order", "o", "--factory-modle", "m"], "did you mean --factory-model"),
    ],
)
def test_a_misspelt_option_is_refused_with_what_may_be_meant(
    say: Say, words: list[str], hint: str
) -> None:
    error = say(*words, "--json").error
    assert error["code"] == 2 and hint in error["hint"]


@pytest.mark.parametrize(
    ("verb", "old", "new"),
    [
        ("run-all", "--llm-model", "--factory-model"),
        ("build", "--llm-temperature", "--factory-temperature"),
    ],
)
def test_a_former_spelling_of_an_option_is_read_and_not_listed(
    say: Say, verb: str, old: str, new: str
) -> None:
    parser = parser_of(verb, import_module(module_of(verb)))
    needed = ["--spec=s"] if verb != "run-all" else ["--workdir=p"]
    assert parser.parse_args([*needed, old, "0"]) == parser.parse_args([*needed, new, "0"])
    listed = say(verb, "--help").out.split()
    assert new in listed and old not in listed


def test_help_lists_what_one_begins_with_first(say: Say) -> None:
    first = say("help").out.split("\n\n")[2].splitlines()[1:]
    verbs = ["init", "plan", "show", "run-all", "status", "report", "retry"]
    assert [line.split()[0] for line in first if not line.startswith("  do ")] == verbs


@pytest.mark.parametrize(("old", "new"), OLD_WORDS.items())
def test_a_former_word_for_a_verb_is_read_and_not_listed(
    say: Say, old: str, new: tuple[str, ...]
) -> None:
    assert f"\n  {old} " not in say("help").out
    assert say(old, "--help") == say("help", old) == say("help", new[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--detach"], "--detach leaves a plan to a fleet"),
        (["--base", "main"], "--base belongs to --on fleet --detach"),
        (
            ["--on", "fleet", "--detach", "--jobs=2", "--sandbox", "off"],
            "--detach does not go with --jobs, --sandbox",
        ),
    ],
)
def test_what_means_nothing_where_a_plan_is_left_to_a_fleet_is_refused(
    say: Say, words: list[str], message: str
) -> None:
    error = say("run-all", "--workdir", "p", *words, "--json").error
    assert error["code"] == 2 and error["message"] == message


def test_a_remote_keeps_the_slashes_of_its_url() -> None:
    parser = parser_of("run-all", import_module(module_of("run-all")))
    args = parser.parse_args(["--workdir", "p", "--repo", "ssh://git@host//team/project.git"])
    assert args.repo_typed == "ssh://git@host//team/project.git"


def test_flags_are_not_guessed_from_their_beginnings(say: Say) -> None:
    assert say("plan", "--spec", "s", "--over").code == 2


def test_a_setting_that_nobody_knows_is_refused(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCH_COLOUR", "red")
    said = say("plan", "--spec", "s", "--json")
    assert said.code == 2
    assert "LLMCH_COLOUR" in said.error["message"]


@pytest.mark.parametrize(
    "option",
    [
        "--jobs=0",
        "--jobs=x",
        "--jobs=1000",
        "--jobs=\u0661",
        "--retry-flaky=-1",
        "--retry-flaky=1.5",
    ],
)
def test_a_number_that_is_none_is_refused(say: Say, option: str) -> None:
    said = say("run-all", "--repo", ".", "--workdir", ".", option, "--json")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert option.partition("=")[0] in said.error["message"]
    assert f"from {int('jobs' in option)} to 999" in said.error["message"]


# In processes of their own

HEAVY = {"openai", "langgraph", "rich", "yaml", "mypy"}
QUICK = {"pydantic", "argparse", "subprocess"}


@pytest.mark.rest
@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "explain E101",
        "check plan",
        "plan --help",
        "run --help",
        "demo --list",
    ],
)
def test_what_needs_no_heavy_library_imports_none(cwd: Path, command: str) -> None:
    (cwd / "plan").mkdir()
    (cwd / "plan" / "WO-01.json").write_text(json.dumps(order(1)))
    code = (
        "import sys, llmch.cli\n"
        "try:\n    llmch.cli.main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        cwd=cwd,
        env=own_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    heavy = HEAVY | QUICK if command in ("--help", "--version") else HEAVY
    assert set(done.stderr.split()) & heavy == set()


@pytest.mark.rest
def test_planner_and_factory_have_names_of_their_own(cwd: Path, repo: Path) -> None:
    """`python -m planner compile` and `python -m factory run` are `llmch plan` and `llmch run`."""
    (cwd / "spec.md").write_text("# Say hello\n")
    replies = plan_reply(plan(creating(1, "hello.txt"))), write_reply({"hello.txt": "hello\n"})
    with scripted_server(*replies) as server:
        url = server.base_url
        planned = run(
            *("compile", "--spec", "spec.md", "--outdir", "plan", "--no-review", "--json"),
            cwd=cwd,
            module="planner",
            OPENAI_BASE_URL=url,
        )
        ran = run(
            *("run", "--repo", repo, "--work-order", "plan/WO-01.json", "--json"),
            cwd=cwd,
            module="factory",
            OPENAI_BASE_URL=url,
        )
    assert (planned.code, planned.document["ok"]) == (0, True)
    assert (ran.code, ran.document["verdict"]) == (0, "PASS")
    manifest = json.loads((cwd / "plan" / "WORK_ORDERS_MANIFEST.json").read_text())
    digest = manifest["provenance"]["manifest_sha256"]
    assert ran.document["branch"] == f"factory/say-hello-{digest[:8]}"


@pytest.mark.parametrize(("module", "verb"), [("planner", "compile"), ("factory", "run")])
def test_the_other_names_explain_themselves(cwd: Path, module: str, verb: str) -> None:
    said = run("--help", cwd=cwd, module=module)
    assert said.code == 0
    assert verb in said.out + said.err
    assert run("frobnicate", cwd=cwd, module=module).code == 2


@pytest.mark.parametrize("command", ["--help", "explain", "run --help"])
def test_a_reader_that_has_gone_is_no_reason_to_complain(cwd: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "llmch", *command.split()],
        cwd=cwd,
        env=own_environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def through_shell(command: str, cwd: Path, **variables: str) -> tuple[int, str]:
    """Run a shell command, `$PYTHON` the interpreter; return its exit code and stderr."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=cwd,
        env=own_environment(PYTHON=sys.executable, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["--help", "--version", "help", "explain E101", "run --help"])
def test_an_answer_to_a_closed_stream_is_no_bug_and_one_on_a_full_disk_is_an_error(
    cwd: Path, command: str
) -> None:
    assert through_shell(f'"$PYTHON" -m llmch {command} >&-', cwd) == (0, "")
    code, said = through_shell(f'"$PYTHON" -m llmch {command} >/dev/full', cwd)
    assert (code, said.splitlines()[0]) == (
        1, "error: the result could not be printed: No space left on device"
    )  # fmt: skip


@pytest.mark.rest
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_break_nothing(cwd: Path, closed: str) -> None:
    code, said = through_shell(f'"$PYTHON" -m llmch check none {closed}', cwd)
    assert code == 2
    assert "Traceback" not in said


@pytest.mark.rest
def test_a_folder_that_has_gone_is_told_in_words(cwd: Path) -> None:
    gone = cwd / "gone"
    gone.mkdir()
    command = 'rmdir ../gone && exec "$PYTHON" -m llmch plan --spec spec.md'
    code, said = through_shell(command, gone, OPENAI_API_KEY="sk-none")
    assert code in (1, 2)
    assert "Traceback" not in said
    assert "error: " in said


@pytest.mark.rest
def test_bytes_that_are_no_text_in_a_path_are_told_in_words(cwd: Path) -> None:
    done = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"llmch", b"check", b"caf\xe9", b"--json"],
        cwd=cwd,
        env=own_environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert "is not a directory" in json.loads(done.stdout)["error"]["message"]
