"""What the factory contributes to `doctor`."""

from __future__ import annotations

import sys

from factory.health import check_interpreter
from shared.health import Health


def test_an_interpreter_that_was_named_has_to_be_there() -> None:
    found = check_interpreter("no-such-python")
    assert (found.health, found.detail) == (Health.BROKEN, "no-such-python was not found")
    assert "--python" in found.remedy


def test_without_a_name_commands_get_the_interpreter_that_runs_us() -> None:
    found = check_interpreter(None)
    assert found.health is Health.WELL
    assert sys.executable in found.detail
