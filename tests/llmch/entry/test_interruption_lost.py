"""An interrupt that comes up where nothing can be raised is not lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from llmch.entry import boundary
from llmch.entry.boundary import guarded, open_console_for, run_verb, signals_as_exceptions

PATIENCE_SECONDS = 30


class InterruptedAsItGoes:
    """Stands for code that C calls: what is raised in it goes nowhere."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(1000))  # the signal is taken between two steps of Python


def test_an_interrupt_that_is_dropped_comes_up_again() -> None:
    with signals_as_exceptions() as interruption, pytest.raises(KeyboardInterrupt):
        InterruptedAsItGoes()
        threading.Event().wait(PATIENCE_SECONDS)
    assert interruption.asked


def test_it_comes_up_however_soon_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary, "_AGAIN_SECONDS", 0.0)
    started = time.monotonic()
    # One of some fifty comes up just before the main thread begins to wait.
    for _ in range(100):
        with signals_as_exceptions(), pytest.raises(KeyboardInterrupt):
            InterruptedAsItGoes()
            threading.Event().wait(PATIENCE_SECONDS)
    assert time.monotonic() - started < PATIENCE_SECONDS, "one came up after the wait only"


def test_what_else_is_dropped_is_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    with signals_as_exceptions():
        Failing()
    assert told == [ValueError]


def test_the_handlers_before_are_back_afterwards() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with signals_as_exceptions():
        pass
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_was_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals_as_exceptions():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_became_another_error_is_an_interrupt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unknown = ["explain", "E999"]
    assert run_verb(unknown) == 2
    with signals_as_exceptions() as interruption:
        with pytest.raises(KeyboardInterrupt):  # as a library does that turns it into its own
            InterruptedAsItGoes()
            threading.Event().wait(PATIENCE_SECONDS)
        assert guarded(unknown, open_console_for(unknown), interruption) == 130
    assert "interrupted" in capsys.readouterr().err
