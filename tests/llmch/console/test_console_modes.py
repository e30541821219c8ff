"""What goes where: verbosity, `--json`, errors, and streams that are poor, full or gone."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import llmch
from llmch.console import Color, Console, Format, Verbosity, open_console
from llmch.console.document import AlreadyShown, Conclusion, Paragraph, Remark, Rows
from shared.errors import CommandFailed, ShownFinding
from shared.events.events import (
    BatchEnded,
    BatchStarted,
    Channel,
    CommandEnded,
    CommandStarted,
    ModelCallStarted,
    ModelTextArrived,
    Noted,
    OrderEnded,
    OrderStarted,
    PlanEnded,
    PlanStarted,
    Warned,
)
from tests.llmch.answers import Answer

COMMIT = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"


@dataclass
class Opened:
    console: Console
    out: io.StringIO
    err: io.StringIO


def opened(
    verbosity: Verbosity = Verbosity.NORMAL, *, as_json: bool = False, heartbeat: float = 30.0
) -> Opened:
    out, err = io.StringIO(), io.StringIO()
    console = open_console(
        verbosity=verbosity,
        color=Color.AUTO,
        output=Format.JSON if as_json else Format.TEXT,
        stdout=out,
        stderr=err,
        environ={"TERM": "xterm"},
        heartbeat_seconds=heartbeat,
    )
    return Opened(console, out, err)


FINDING = ShownFinding(
    "E104", "error", "WO-02", "allowed_files[0]", "no postcondition", "declare one"
)


def batch(emit: Callable[[object], None]) -> None:
    emit(Noted("sandbox: off"))
    emit(BatchStarted(1, "b", COMMIT))
    emit(OrderStarted("WO-01", "Title", "b", COMMIT, 5))
    emit(Warned("beware"))
    emit(OrderEnded("WO-01", "PASS", 1, COMMIT, "b", 1.0, ("a.py",)))
    emit(BatchEnded("PASS", "b", COMMIT, 1, 1, 1.0))


def test_quiet_prints_the_verdict_and_nothing_else() -> None:
    seen = opened(Verbosity.QUIET)
    seen.console(PlanEnded(True, 1, ("WO-01  Title",), "/out", "/run"))
    batch(seen.console)  # type: ignore[arg-type]  # any event
    seen.console.remark("see there")
    seen.console.say(FINDING)
    assert seen.out.getvalue() == (
        "✓ plan     PASS      1 order  (1 attempt)\n"
        "✓ run-all  PASS      1 of 1 order on b at a1b2c3d4e5  (1.0s)\n"
    )
    assert seen.err.getvalue() == ""


def test_quiet_prints_the_verdict_of_an_order_that_runs_alone() -> None:
    seen = opened(Verbosity.QUIET)
    seen.console(OrderEnded("WO-01", "PASS", 1, COMMIT, "b", 1.0, ("a.py",)))
    assert seen.out.getvalue() == "✓ WO-01    PASS      a1b2c3d4e5 a.py  (1 attempt, 1.0s)\n"


def test_json_keeps_stdout_to_one_document() -> None:
    seen = opened(as_json=True)
    batch(seen.console)  # type: ignore[arg-type]  # any event
    seen.console.say(Paragraph(("text",)), FINDING, Conclusion("plan", "1 order", ok=True))
    seen.console.show(Answer({"verdict": "PASS", "text": "漢\x1b[0m"}, Paragraph(("not this",))))
    seen.console.show(Answer({"verdict": "again"}))
    seen.console.error("late", "hint", 1, "FAILED")
    assert json.loads(seen.out.getvalue()) == {"verdict": "PASS", "text": "漢"}
    assert seen.out.getvalue().isascii()
    for expected in ("● run-all", "text\n", "E104", "plan     PASS", "error: late\nhint:  hint\n"):
        assert expected in seen.err.getvalue()
    assert "not this" not in seen.err.getvalue()


def test_a_document_is_text_where_nothing_else_is_asked_for() -> None:
    seen = opened()
    repeated = AlreadyShown((Paragraph(("seen before",)),))
    seen.console.show(Answer({"verdict": "PASS"}, Remark(("a", "b")), repeated))
    assert (seen.out.getvalue(), seen.err.getvalue()) == ("a\nb\n", "")


def test_an_error_is_told_on_stderr_with_what_to_do() -> None:
    seen = opened(Verbosity.QUIET)
    seen.console.error("the repo is dirty:\n  a.py\n  b.py", "commit it", 5, "PREFLIGHT")
    assert seen.err.getvalue() == (
        "error: the repo is dirty:\n         a.py\n         b.py\nhint:  commit it\n"
    )
    seen.console.error("no hint", "", 1, "FAILED")
    assert seen.err.getvalue().endswith("error: no hint\n")
    assert seen.out.getvalue() == ""


def test_an_error_is_the_document_where_json_is_wanted() -> None:
    seen = opened(as_json=True)
    seen.console.error("the repo is dirty", "commit it", 5, "PREFLIGHT")
    assert json.loads(seen.out.getvalue()) == {
        "error": {
            "code": 5,
            "name": "PREFLIGHT",
            "message": "the repo is dirty",
            "hint": "commit it",
        }
    }
    assert seen.err.getvalue() == ""


def test_findings_show_code_order_field_message_and_remedy() -> None:
    seen = opened()
    seen.console.say(FINDING, ShownFinding("W101", "warning", None, None, "nothing provides x", ""))
    assert seen.out.getvalue() == (
        "✗ E104     WO-02     allowed_files[0]: no postcondition\n"
        "    → declare one\n"
        "! W101     nothing provides x\n"
    )


def test_verbs_print_text_tables_and_a_verdict() -> None:
    seen = opened(Verbosity.QUIET)
    seen.console.say(
        Paragraph(("E104  title", "", "  bad:\n    x")),
        Rows((("git", "2.39"), ("bubblewrap", "0.8")), ("what", "version")),
        Conclusion("plan", "2 errors", ok=False, aside="3 orders"),
    )
    assert seen.out.getvalue() == (
        "E104  title\n\n  bad:\n    x\n"
        "what        version\ngit         2.39\nbubblewrap  0.8\n"
        "✗ plan     FAIL      2 errors  (3 orders)\n"
    )


class Heard(io.StringIO):
    """Notices when a text is written."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self._awaited = awaited
        self.told = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._awaited in text:
            self.told.set()
        return written


def heard_by(out: io.StringIO) -> Console:
    return open_console(
        verbosity=Verbosity.NORMAL, color=Color.AUTO, output=Format.TEXT, stdout=out, stderr=None,
        environ={}, heartbeat_seconds=0.06, mask=lambda text: text.replace("hunter2", "***"),
    )  # fmt: skip


def test_a_command_that_runs_long_is_named_again_until_it_ends() -> None:
    out = Heard("still running after")
    console = heard_by(out)
    console(OrderStarted("WO-01", "Title", "b", COMMIT, 5))
    console(CommandStarted("WO-01", "verify", "pytest -q"))
    assert out.told.wait(60)
    console(CommandEnded("WO-01", "verify", "pytest -q", 0, 1.0))
    console.close()
    assert "  WO-01    verify    $ pytest -q  (still running after 0s)\n" in out.getvalue()
    assert out.getvalue().endswith("✓ WO-01    verify    pytest -q  (1.0s)\n")


def test_a_log_says_how_much_of_a_plan_has_arrived() -> None:
    out = Heard("WO-02")
    reply = '[{"id": "WO-01", "title": "First"}, {"id": "WO-02", "title": "A \\u001b[2Jhunter2", "c'
    with heard_by(out) as console:
        console(PlanStarted("spec.md", "01K", 5))
        console(ModelCallStarted("planner attempt 1", "gpt-5.2"))
        for character in reply:
            console(ModelTextArrived(Channel.TEXT, character))
        assert out.told.wait(60)
    line = r"  plan     ask       gpt-5\.2  \(still running after 0s; about \d+ tokens so far, now "
    assert re.search(rf"^{line}WO-02 A \*\*\*\)$", out.getvalue(), re.MULTILINE)


def test_a_log_says_how_far_a_batch_has_come() -> None:
    out = Heard("progress")
    with heard_by(out) as console:
        console(BatchStarted(3, "b", COMMIT))
        console(OrderStarted("WO-01", "Title", "b", COMMIT, 5))
        console(OrderEnded("WO-01", "PASS", 1, COMMIT, "b", 1.0, ("a.py",)))
        console(OrderStarted("WO-02", "Title", "b", COMMIT, 5))
        assert out.told.wait(60)
    assert "  run-all  progress  1 of 3 orders done, 1 under way  (0s)\n" in out.getvalue()


def test_closing_ends_every_thread_and_may_be_done_twice() -> None:
    before = set(threading.enumerate())
    seen = opened()
    seen.console(OrderStarted("WO-01", "Title", "b", COMMIT, 5))
    seen.console(ModelCallStarted("x", "m", "WO-01"))
    assert set(threading.enumerate()) > before
    seen.console.close()
    seen.console.close()
    assert set(threading.enumerate()) == before


def test_lines_of_several_threads_stay_whole() -> None:
    seen = opened()

    def work(name: str) -> None:
        for _ in range(200):
            seen.console(CommandEnded(name, "verify", name * 10, 0, 1.0))

    threads = [threading.Thread(target=work, args=(f"WO-{n:02d}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = seen.out.getvalue().splitlines()
    assert len(lines) == 1600
    assert set(lines) == {
        f"✓ WO-{n:02d}    verify    {f'WO-{n:02d}' * 10}  (1.0s)" for n in range(8)
    }


# Real processes: what a shell sees.

SCRIPT = """
import os, sys
from llmch.console import Color, Format, Verbosity, open_console
from shared.events.events import OrderStarted
from tests.llmch.answers import Answer
output = Format.JSON if "--json" in sys.argv else Format.TEXT
with open_console(verbosity=Verbosity.NORMAL, color=Color.AUTO, output=output,
                  stdout=sys.stdout, stderr=sys.stderr, environ=os.environ) as console:
    for number in range(2000):
        console(OrderStarted(f"WO-{number}", "na\\xefve \\u6f22\\u5b57 \\udc80", "b", "0" * 40, 5))
    try:
        console.show(Answer({"verdict": "PASS"}))
    except Exception as error:
        console.error(str(error), "", 1, "FAILED")
assert "rich" not in sys.modules, "rich was imported"
print("the end", file=sys.stderr)
"""


def run(command: str, script: str = SCRIPT, **environ: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(llmch.__file__).parents[1])
    variables: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "PYTHONPATH": root, **environ}
    shell = command.replace("CONSOLE", '"$0" -c "$1"')
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell, sys.executable, script],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def test_a_reader_that_goes_away_ends_the_output_and_not_the_run() -> None:
    done = run("CONSOLE | head -1")
    assert done.stdout.startswith("● WO-0     order     naïve 漢字 \\udc80")
    assert len(done.stdout.splitlines()) == 1
    assert (done.returncode, done.stderr) == (0, "the end\n")


def test_a_reader_of_the_document_that_goes_away_is_no_error() -> None:
    done = run("CONSOLE --json 2>/dev/null | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.rest
def test_closed_streams_and_full_disks_break_nothing() -> None:
    for where in (">&-", ">/dev/full", "2>&-", ">&- 2>&-"):
        done = run(f"CONSOLE {where}")
        assert done.returncode == 0, where
        assert done.stderr in ("", "the end\n"), where


def test_a_document_that_cannot_be_printed_is_an_error() -> None:
    done = run("CONSOLE --json >/dev/full")
    assert "error: the result could not be printed: No space left on device\n" in done.stderr


def test_marks_and_text_are_spelled_out_where_the_encoding_lacks_them() -> None:
    done = run("CONSOLE", PYTHONIOENCODING="ascii")
    assert done.stdout.startswith("* WO-0     order     na\\xefve \\u6f22\\u5b57 \\udc80")
    assert (done.returncode, done.stderr) == (0, "the end\n")


def test_an_old_locale_is_no_reason_to_fail() -> None:
    done = run("CONSOLE", LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "the end\n")
    assert done.stdout.isascii()


def test_a_pipe_gets_no_control_character_whatever_the_environment_says() -> None:
    done = run("CONSOLE", FORCE_COLOR="1", CLICOLOR_FORCE="1", TERM="xterm-256color")
    assert "\x1b" not in done.stdout
    assert all(line.isprintable() for line in done.stdout.splitlines())


def test_verbs_without_events_do_not_wait_for_what_renders_them() -> None:
    script = SCRIPT[: SCRIPT.index("    for")].replace(
        "from shared.events.events import OrderStarted", "from shared import LateModule"
    ).replace("from tests.llmch.answers import Answer", "") + (
        "    console.remark('text')\n"
        "    console.error('odd', '', 1, 'FAILED')\n"
        "late = [name for name, each in sys.modules.items() if type(each) is LateModule]\n"
        "ran = set(sys.modules).difference(late)\n"
        "assert not {'rich', 'shared.events.events', 'pydantic'} & ran\n"
    )
    done = run("CONSOLE", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "text\n", "error: odd\n")


def test_progress_that_a_slow_reader_missed_is_not_the_answer() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(reading), os.fdopen(writing, "w") as out:
        console = open_console(
            verbosity=Verbosity.NORMAL, color=Color.AUTO, output=Format.TEXT,
            stdout=out, stderr=None, environ={},
        )  # fmt: skip
        with contextlib.suppress(BlockingIOError):
            while os.write(writing, b"x" * 4096):
                pass
        console.remark("progress")
        with pytest.raises(CommandFailed, match="the result could not be printed: "):
            console.show(Answer({}, Remark(("lost",))))
        os.read(reading, 1 << 20)
        console.show(Answer({}, Remark(("whole",))))
        assert os.read(reading, 1 << 20).endswith(b"whole\n")


def test_a_result_that_is_lost_raises_an_error_with_its_own_words(
    tmp_path: Path,
) -> None:
    closed = (tmp_path / "out").open("w")
    closed.close()
    console = open_console(
        verbosity=Verbosity.NORMAL, color=Color.AUTO, output=Format.JSON,
        stdout=closed, stderr=None, environ={},
    )  # fmt: skip
    with pytest.raises(CommandFailed, match="the result could not be printed: "):
        console.show(Answer({}))
