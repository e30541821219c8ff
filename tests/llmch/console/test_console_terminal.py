"""The console on a real pseudo-terminal, its output read as a terminal would show it."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import llmch
from llmch.console.console import agrees, answer_to
from tests import processes

DEADLINE_SECONDS = 120.0
# With these, `make coverage` measures the process as well.
MEASURED = {name: each for name, each in os.environ.items() if name.startswith("COVERAGE_")}

# The child goes on with the next step when a line arrives on its standard input.
PRELUDE = """
import os, sys
from llmch.console import Color, Format, Verbosity, open_console
from shared.events.events import AttemptStarted, StageStarted
from shared.events.events import Noted
from shared.events.events import ModelCallStarted, ModelRetryScheduled, ModelTextArrived
from shared.events.events import CommandEnded, CommandStarted
from shared.events.events import BatchEnded, BatchStarted, OrderEnded, OrderStarted
from shared.events.events import PlanStarted
from tests.llmch.answers import Answer
def step():
    sys.stdin.readline()
console = open_console(verbosity=Verbosity(os.environ.get("VERBOSITY", "normal")),
                       color=Color.NEVER if os.environ.get("NEVER") else Color.AUTO,
                       output=Format.TEXT, stdout=sys.stdout, stderr=sys.stderr, environ=os.environ)
"""
ORDER = """
with console:
    console(BatchStarted(3, "b", "0" * 40))
    console(OrderStarted("WO-01", "Title", "b", "0" * 40, 5))
    console(AttemptStarted("WO-01", 2))
    console(StageStarted("WO-01", 2, "verify"))
    console(CommandStarted("WO-01", "verify", "pytest -q"))
    step()
    console(CommandEnded("WO-01", "verify", "pytest -q", 0, 1.0))
    console(ModelCallStarted("x", "gpt-5.1", "WO-01"))
    console(ModelTextArrived("reasoning", "\\x1b[31mthinking [bold]hard[/bold]\\x1b]0;t\\x07"))
    step()
    console(OrderEnded("WO-01", "PASS", 2, "a" * 40, "b", 1.0, ("a.py",)))
    console(BatchEnded("PASS", "b", "a" * 40, 3, 3, 1.0))
console.error("odd", "even", 1, "FAILED")
"""
LASTING = [
    "● run-all  start     3 orders on b  (from 0000000000)",
    "● WO-01    order     Title  (0000000000)",
    "✓ WO-01    verify    pytest -q  (1.0s)",
    "✓ WO-01    PASS      aaaaaaaaaa a.py  (2 attempts, 1.0s)",
    "✓ run-all  PASS      3 of 3 orders on b at aaaaaaaaaa  (1.0s)",
    "    $ llmch verify",
    "    $ git log --oneline b",
    "    $ git switch b",
    "    → `git merge b` takes them over; a run with --pr asks for review",
    "error: odd",
    "hint:  even",
]


@dataclass
class Terminal:
    """A program at work on a terminal of its own."""

    process: subprocess.Popen[bytes]
    master: int
    text: str = ""
    _pending: bytes = field(default=b"", repr=False)

    def read_until(self, pattern: str) -> str:
        """Return all output so far, once it holds the pattern in what is new."""
        start, deadline = len(self.text), time.monotonic() + DEADLINE_SECONDS
        while not re.search(pattern, self.text[start:]):
            assert self._read(deadline), f"no {pattern!r} in {self.text[start:][-500:]!r}"
        return self.text

    def read_all(self) -> str:
        """Return all output to the program's end."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self._read(deadline):
            pass
        assert self.process.wait(DEADLINE_SECONDS) == 0, self.text
        return self.text

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def resize(self, columns: int, lines: int = 24) -> None:
        set_size(self.master, columns, lines)
        self.process.send_signal(signal.SIGWINCH)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
        try:
            data = os.read(self.master, 65536) if ready else b""
        except OSError:  # the other end is closed
            data = b""
        self._pending += data
        whole = self._pending.decode(errors="ignore")
        self._pending = self._pending[len(whole.encode()) :]
        self.text += whole
        return bool(data)


def set_size(terminal: int, columns: int, lines: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@contextlib.contextmanager
def at_terminal(script: str, *, columns: int = 80, **environ: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    set_size(master, columns, 24)
    process = processes.start(
        [sys.executable, "-c", PRELUDE + script],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(llmch.__file__).parents[1]),
            "PYTHONIOENCODING": "utf-8",
            "TERM": "xterm-256color",
            **MEASURED,
            **environ,
        },
        stdin=subprocess.PIPE,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        os.close(master)


_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_TOKEN = re.compile(r"\r|\n|\x1b\[K|\x1b\[J|\x1b\[(\d*)A|[^\x1b\r\n]+|.", re.DOTALL)


def screen(output: str) -> list[str]:
    """Return the lines a terminal would show; anything but the sequences we use is a fault."""
    lines, row, column = [""], 0, 0
    for token in _TOKEN.finditer(_STYLE.sub("", output)):
        match token.group():
            case "\r":
                column = 0
            case "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            case "\x1b[K":
                lines[row] = lines[row][:column]
            case "\x1b[J":
                lines[row:] = [lines[row][:column]]
            case up if up.startswith("\x1b[") and up.endswith("A"):
                row = max(0, row - int(token.group(1) or 1))
            case text:
                assert "\x1b" not in text, repr(output[token.start() - 20 : token.end() + 20])
                lines[row] = (
                    lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
                )
                column += len(text)
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.rest
def test_the_region_shows_what_is_going_on_and_leaves_nothing_behind() -> None:
    with at_terminal(ORDER) as terminal:
        # The clock ticks while a command runs.
        terminal.read_until(r"(?s)verify\S*  1s.*1s, 0 of 3 orders done")
        running = screen(terminal.text)
        terminal.go_on()
        terminal.read_until(r"hard\[/bold\]")
        asking = screen(terminal.text)
        terminal.go_on()
        assert screen(terminal.read_all()) == LASTING
    assert running[2][2:] == "WO-01  attempt 2 of 5  verify  1s"
    assert running[3:] == ["  $ pytest -q", "  1s, 0 of 3 orders done"]
    assert asking[4:6] == [
        "  gpt-5.1  about 9 tokens of reasoning so far",
        "    │ thinking [bold]hard[/bold]",
    ]


def test_colour_is_used_sparingly_and_can_be_refused() -> None:
    outputs = {}
    refusals: dict[str, dict[str, Any]] = {
        "auto": {},
        "no": {"NO_COLOR": "1"},
        "never": {"NEVER": "1"},
    }
    for name, variables in refusals.items():
        with at_terminal(ORDER, **variables) as terminal:
            terminal.go_on()
            terminal.go_on()
            outputs[name] = terminal.read_all()
            assert screen(outputs[name]) == LASTING
    coloured = re.compile(r"\x1b\[[0-9;]*\b(3[0-7]|9[0-7])m")
    assert coloured.search(outputs["auto"])
    assert not coloured.search(outputs["no"])
    assert not coloured.search(outputs["never"])


def test_a_simple_terminal_gets_plain_lines() -> None:
    with at_terminal(ORDER, TERM="dumb") as terminal:
        terminal.go_on()
        terminal.go_on()
        output = terminal.read_all()
    assert "\x1b" not in output
    assert set(LASTING) < set(output.splitlines())


def test_a_narrow_terminal_folds_lines_and_cuts_the_region() -> None:
    with at_terminal(ORDER, columns=30) as terminal:
        terminal.read_until("attempt 2")
        lines = screen(terminal.text)
        terminal.go_on()
        terminal.go_on()
        terminal.read_all()
    assert lines[:3] == ["● run-all  start     3", "    orders on b  (from", "    0000000000)"]
    assert any("WO-01  attempt 2 of 5" in line for line in lines)
    assert max(map(len, lines)) <= 30


@pytest.mark.parametrize("columns", [1, 5, 12, 500])
def test_any_width_will_do(columns: int) -> None:
    with at_terminal(ORDER, columns=columns) as terminal:
        terminal.go_on()
        terminal.go_on()
        assert "even" in "".join(screen(terminal.read_all()))


def test_the_region_follows_the_window() -> None:
    with at_terminal(ORDER) as terminal:
        terminal.read_until(r"\$ pytest -q")
        terminal.resize(26, 3)
        terminal.read_until(r"attempt 2 of 5 …")
        terminal.resize(120)
        terminal.read_until("orders done")
        terminal.go_on()
        terminal.go_on()
        assert screen(terminal.read_all()) == LASTING


def test_exported_columns_do_not_stand_in_the_way_of_the_window() -> None:
    with at_terminal(ORDER, columns=120, COLUMNS="20", LINES="2") as terminal:
        terminal.go_on()
        terminal.go_on()
        assert screen(terminal.read_all()) == LASTING


def test_quiet_shows_no_region() -> None:
    with at_terminal(ORDER, VERBOSITY="quiet") as terminal:
        terminal.go_on()
        terminal.go_on()
        output = terminal.read_all()
    assert screen(output) == [LASTING[4], *LASTING[9:]]
    assert "\x1b[J" not in output


@pytest.mark.rest
def test_a_wait_for_the_model_is_counted_down() -> None:
    script = """
with console:
    console(PlanStarted("spec.md", "01K", 5))
    console(ModelCallStarted("x", "gpt-5.1"))
    console(ModelRetryScheduled("busy", 3.0, 1))
    step()
"""
    with at_terminal(script) as terminal:
        terminal.read_until("asking again in 3s")
        terminal.read_until("asking again in 2s")
        terminal.go_on()
        assert screen(terminal.read_all()) == [
            "● plan     spec      spec.md  (run 01K)",
            "↻ model    wait      busy; trying again in 3.0s  (retry 1)",
        ]


PLAN = """
REPLY = ('{"system_overview": "x", "work_orders": [{"id": "WO-01", "title": "The greeting"}, '
         '{"title": "The \\\\u001b[31mcommand\\\\u202e line", "id": "WO-02", "changes": ["a')
with console:
    console(PlanStarted("spec.md", "01K", 5))
    console(ModelCallStarted("planner attempt 1", "gpt-5.2"))
    console(ModelTextArrived("reasoning", "First a greeting."))
    step()
    console(ModelTextArrived("text", REPLY[:30]))
    step()
    for character in REPLY[30:]:
        console(ModelTextArrived("text", character))
    step()
"""


def test_the_orders_of_a_plan_are_shown_while_they_arrive() -> None:
    with at_terminal(PLAN) as terminal:
        terminal.read_until("First a greeting")
        terminal.go_on()
        terminal.read_until("system_overview")
        beginning = screen(terminal.text)
        terminal.go_on()
        terminal.read_until("changes")
        orders = screen(terminal.text)
        terminal.go_on()
        assert screen(terminal.read_all()) == ["● plan     spec      spec.md  (run 01K)"]
    assert beginning[2].startswith("  gpt-5.2  about 11 tokens so far")
    assert beginning[3] == '    │ {"system_overview": "x", "work_'[: len(beginning[3])]
    assert orders[3:5] == [
        "    │ WO-01  The greeting",
        "    │ WO-02  The command line: changes ...",
    ]


def test_each_reply_is_counted_for_its_own_order() -> None:
    script = """
with console:
    console(BatchStarted(9, "b", "0" * 40))
    for number in range(1, 7):
        console(OrderStarted(f"WO-0{number}", "Title", "b", "0" * 40, 5))
    console(ModelCallStarted("x", "small", "WO-01"))
    console(ModelCallStarted("x", "small", "WO-02"))
    console(ModelTextArrived("text", "a" * 40, "WO-01"))
    console(ModelTextArrived("text", "b" * 400, "WO-02"))
    console(CommandStarted("WO-03", "verify", "pytest -q"))
    step()
"""
    with at_terminal(script) as terminal:
        terminal.read_until(r"(?s)pytest -q.*2 more under way")
        lines = screen(terminal.text)
        terminal.go_on()
        terminal.read_all()
    assert [re.sub(r"^\S |  \d+s$", "", line) for line in lines[-9:-1]] == [
        "WO-01",
        "  small  about 10 tokens so far",
        f"    │ {'a' * 40}",
        "WO-02",
        "  small  about 100 tokens so far",
        "WO-03  verify",
        "  $ pytest -q",
        "WO-04",
    ]
    assert re.fullmatch(r"  \d+s, 0 of 9 orders done, 2 more under way", lines[-1])


def test_an_exception_takes_the_region_away() -> None:
    script = """
try:
    with console:
        console(OrderStarted("WO-01", "Title", "b", "0" * 40, 5))
        step()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    console.error("interrupted", "", 130, "INTERRUPTED")
"""
    with at_terminal(script) as terminal:
        terminal.read_until("0s")
        terminal.go_on()
        assert screen(terminal.read_all()) == [
            "● WO-01    order     Title  (b from 0000000000)",
            "error: interrupted",
        ]


def test_a_terminal_that_is_closed_does_not_end_the_run(tmp_path: Path) -> None:
    script = f"""
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with console:
    console(OrderStarted("WO-01", "Title", "b", "0" * 40, 5))
    step()
    for _ in range(100):
        console(Noted("nobody reads this"))
open({str(tmp_path / "done")!r}, "w").close()
"""
    with at_terminal(script) as terminal:
        terminal.read_until("Title")
        os.close(terminal.master)
        terminal.go_on()
        assert terminal.process.wait(DEADLINE_SECONDS) == 0
        terminal.master = os.open(os.devnull, os.O_RDONLY)
    assert (tmp_path / "done").exists()


def test_a_command_without_anything_to_show_does_not_import_what_a_terminal_needs() -> None:
    script = """
with console:
    console.show(Answer({}))
assert "rich" not in sys.modules
"""
    with at_terminal(script) as terminal:
        assert screen(terminal.read_all()) == []


@pytest.mark.parametrize("most", [100, 3])
def test_an_answer_may_have_any_bytes(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"caf\xe9\nyes\n"), encoding="utf-8", errors="strict")
    monkeypatch.setattr(sys, "stdin", typed)
    assert answer_to("? ", most) == ("caf\ufffd" if most == 100 else "yes")
    assert agrees("? ") is (most == 100)
    assert answer_to("? ", most) is None
