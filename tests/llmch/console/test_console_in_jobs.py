"""What is printed in a job: times in plain lines, and nothing that acts as a workflow command."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.console import Color, Format, Verbosity, open_console
from llmch.console.document import Paragraph
from llmch.console.plain_printer import inert, inert_json, uninterpreted
from shared.events.events import AttemptFailed, Warned
from tests.harness import git
from tests.llmch.answers import Answer
from tests.llmch.command_line import own_environment

ACTIONS = {"GITHUB_ACTIONS": "true"}
AT = datetime(2024, 1, 1, 14, 5, 9, tzinfo=timezone(timedelta(hours=2)))
COMMANDS = ("::error::x", "  ::set-output name=a::b", "say ##[error]x", "\t::stop-commands::x")


def printed(
    output: Format = Format.TEXT,
    environ: Mapping[str, str] = ACTIONS,
    verbosity: Verbosity = Verbosity.NORMAL,
    text: str = "beware",
) -> tuple[str, str]:
    """Return what goes to stdout and stderr when `text` is in all that is shown."""
    out, err = io.StringIO(), io.StringIO()
    with open_console(
        verbosity=verbosity, color=Color.AUTO, output=output, stdout=out, stderr=err,
        environ=environ, now=lambda: AT,
    ) as console:  # fmt: skip
        console(Warned(text))
        console(AttemptFailed("WO-01", 1, "s", text, 1, f"x\n{text}\n{text}", text))
        console.say(Paragraph((text,)))
        console.show(Answer({"a": [text, {text: text}]}, Paragraph((text,))))
        console.error(f"one\n{text}", text, 1, "FAILED")
    return out.getvalue(), err.getvalue()


def obeyed(line: str) -> bool:
    """Return whether the runner would look for a command in a line (its `ActionCommand`)."""
    return line.lstrip().startswith("::") or "##[" in line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("output", Format)
def test_no_text_is_a_command_of_the_workflow(command: str, output: Format) -> None:
    out, err = printed(output, text=command)
    lines = [*out.splitlines(), *err.splitlines()]
    assert not [line for line in lines if obeyed(line)]
    assert any(re.search("error|set-output|stop-commands", line) for line in lines)


@given(st.text(alphabet=" :#[]a\n\t%\u2003"))
def test_no_text_at_all_is_one(text: str) -> None:
    assert not [line for line in inert(text).splitlines() if obeyed(line)]
    document = inert_json(json.dumps({text: text}))
    assert not obeyed(document)
    assert json.loads(document) == {text: text}


def test_elsewhere_texts_stay_as_they_are() -> None:
    out, _ = printed(environ={}, text="::error::x")
    assert "\n::error::x\n" in out


def test_a_document_that_goes_to_a_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with path.open("w") as file, open_console(
        verbosity=Verbosity.NORMAL, color=Color.AUTO, output=Format.JSON, stdout=file, stderr=None,
        environ=ACTIONS,
    ) as console:  # fmt: skip
        console.show(Answer({"a": "##[error]"}))
    assert "##[error]" in path.read_text()


def test_lines_that_tell_what_happened_begin_with_the_time() -> None:
    out, _ = printed(environ={})
    first, *rest = out.splitlines()
    assert first == "12:05:09Z ! warning  beware"  # in UTC
    assert all(line.startswith("12:05:09Z ") for line in rest[:3])
    assert "beware" in rest[-1] and "12:05" not in rest[-1]  # an answer is no log


def test_a_log_that_has_times_gets_none_and_neither_does_a_verdict() -> None:
    assert "12:05" not in "".join(printed())
    assert "12:05" not in "".join(printed(environ={}, verbosity=Verbosity.QUIET))


def test_beside_a_document_the_times_are_on_stderr() -> None:
    out, err = printed(Format.JSON, environ={})
    assert "12:05" not in out and err.startswith("12:05:09Z ! warning")


SHOWS_A_PATCH = """
import os, sys
from llmch.console import Color, Format, Verbosity, open_console
from llmch.console.document import Patch
from tests.llmch.answers import Answer
with open_console(verbosity=Verbosity.NORMAL, color=Color.AUTO, output=Format.TEXT,
                  stdout=sys.stdout, stderr=sys.stderr, environ=os.environ) as console:
    console.show(Answer({}, Patch(sys.stdin.read())))
"""


@pytest.mark.parametrize("to_file", [False, True])
def test_a_patch_in_a_job_still_applies(repo: Path, tmp_path: Path, to_file: bool) -> None:
    text = "one\n::error::x\nsay ##[error]x\n"
    (repo / "README.md").write_text(text)
    patch = git(repo, "diff") + "\n"
    git(repo, "checkout", "--quiet", "README.md")
    shown = tmp_path / "shown"
    with shown.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", SHOWS_A_PATCH], input=patch.encode(), check=True,
            stdout=file if to_file else subprocess.PIPE, env=own_environment(**ACTIONS),
        )  # fmt: skip
    data = shown.read_bytes() if to_file else done.stdout
    assert data.decode() == patch if to_file else data.decode() != patch
    lines = data.decode().splitlines()
    if not to_file:  # nothing between the first and the last line is obeyed
        word = lines[0].removeprefix("::stop-commands::")
        assert len(word) > 32 and lines[-1] == f"::{word}::"
    git(repo, "apply", stdin=data)
    assert (repo / "README.md").read_text() == text


def test_the_word_that_ends_a_patch_is_another_each_time() -> None:
    assert uninterpreted("x") != uninterpreted("x")
    assert uninterpreted("x").splitlines()[1] == "x"


def test_annotations_go_to_stderr_of_a_job_alone() -> None:
    for environ, expected in ((ACTIONS, "::error::x\n"), ({}, "")):
        out, err = io.StringIO(), io.StringIO()
        with open_console(
            verbosity=Verbosity.QUIET, color=Color.AUTO, output=Format.JSON, stdout=out, stderr=err,
            environ=environ,
        ) as console:  # fmt: skip
            console.annotate(["::error::x"])
        assert (out.getvalue(), err.getvalue()) == ("", expected)


def test_the_clock_is_read_for_each_line() -> None:
    out = io.StringIO()
    times = iter([AT, AT + timedelta(minutes=1)])
    with open_console(
        verbosity=Verbosity.NORMAL, color=Color.AUTO, output=Format.TEXT, stdout=out, stderr=None,
        environ={}, now=lambda: next(times),
    ) as console:  # fmt: skip
        console(Warned("a"))
        console(Warned("b"))
    assert [line[:9] for line in out.getvalue().splitlines()] == ["12:05:09Z", "12:06:09Z"]
