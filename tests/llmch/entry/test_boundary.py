"""Whatever ends a verb becomes an exit code and a message."""

from __future__ import annotations

import io

import pytest

from llmch.console import Color, Console, Format, Verbosity, open_console
from llmch.entry.boundary import guarded, signals_as_exceptions
from shared.errors import ExitCode


class Faulty(io.StringIO):
    """Stands for a bug: the first text that is written to it raises what nobody expects."""

    fault: Exception | None = ZeroDivisionError("nothing is there")

    def write(self, text: str) -> int:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return super().write(text)


def console_with_a_bug(out: io.StringIO, err: io.StringIO) -> Console:
    return open_console(
        verbosity=Verbosity.NORMAL, color=Color.NEVER, output=Format.JSON, stdout=out, stderr=err,
        environ={},
    )  # fmt: skip


def test_a_bug_is_an_exit_code_and_a_message_and_no_traceback() -> None:
    out, err = Faulty(), io.StringIO()
    with console_with_a_bug(out, err) as console, signals_as_exceptions() as interruption:
        assert guarded(["explain", "E101"], console, interruption) is ExitCode.INTERNAL
    said = out.getvalue() + err.getvalue()
    assert "ZeroDivisionError: nothing is there" in said
    assert "this is a bug in llmch" in said
    assert "Traceback" not in said


def test_whoever_debugs_gets_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCH_DEBUG", "1")
    with (
        console_with_a_bug(Faulty(), io.StringIO()) as console,
        signals_as_exceptions() as interruption,
        pytest.raises(ZeroDivisionError),
    ):
        guarded(["explain", "E101"], console, interruption)
