"""A person is asked once whether to run without a sandbox, and only where none works."""

from __future__ import annotations

import io
import os
import pty
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from factory.orders.task import RunOptions
from factory.sandbox.policy import Backend
from llmch.console import Color, Format, Verbosity, open_console
from llmch.entry.run_orders import with_consent
from shared.errors import SandboxUnavailable
from shared.settings.settings import SandboxSettings
from tests.harness import Factory


def read_until(terminal: int, words: str) -> str:
    """Return what was printed on a terminal, up to `words`, which may come in several pieces."""
    said = ""
    while words not in said and select.select([terminal], [], [], 60)[0]:
        said += os.read(terminal, 10_000).decode()
    return said


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> Iterator[int]:
    """Give this process a terminal at which a person types `answer`."""
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    with (
        os.fdopen(os.dup(theirs)) as typed,
        os.fdopen(theirs, "w") as shown,
        monkeypatch.context() as patched,
    ):
        patched.setattr(sys, "stdin", typed)
        patched.setattr(sys, "stderr", shown)
        yield ours
    os.close(ours)


def backends_tried(factory: Factory, backend: Backend) -> tuple[list[Backend], str]:
    """Return the sandboxes that were tried where none works, and what the console showed."""
    tried: list[Backend] = []

    def run(options: RunOptions) -> str:
        tried.append(Backend(options.settings.sandbox.backend))
        if tried[-1] is not Backend.OFF:
            raise SandboxUnavailable("no sandbox works here", "install bubblewrap")
        return "done"

    options = factory.options(sandbox=SandboxSettings(backend=backend))
    out = io.StringIO()
    with open_console(
        verbosity=Verbosity.NORMAL, color=Color.NEVER, output=Format.TEXT, stdout=out, stderr=None,
        environ={},
    ) as console:  # fmt: skip
        try:
            assert with_consent(run, options, console) == "done"
        except SandboxUnavailable as refused:
            assert refused.hint == "install bubblewrap"
    return tried, out.getvalue()


def test_who_agrees_runs_without_a_sandbox_and_is_warned(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "yes\n") as terminal:
        tried, shown = backends_tried(factory, Backend.AUTO)
        asked = read_until(terminal, "with your own rights")
    assert tried == [Backend.AUTO, Backend.OFF]
    assert "no sandbox works here" in asked and "with your own rights" in asked
    assert "commands run with your own rights, as you agreed" in shown


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"])
def test_any_other_answer_is_a_no(
    factory: Factory, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    with answering(monkeypatch, answer):
        tried, shown = backends_tried(factory, Backend.AUTO)
    assert (tried, shown) == ([Backend.AUTO], "")


def test_a_sandbox_that_was_named_is_not_given_up(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(monkeypatch, "yes\n"):
        assert backends_tried(factory, Backend.BWRAP) == ([Backend.BWRAP], "")


def test_where_nobody_is_there_nobody_is_asked(factory: Factory) -> None:
    assert backends_tried(factory, Backend.AUTO) == ([Backend.AUTO], "")
