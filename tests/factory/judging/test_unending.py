"""Why a command that was ended after its time probably never ends."""

from __future__ import annotations

import pytest

from factory.judging.run_checks import likely_cause


@pytest.mark.parametrize(
    "output",
    [
        "Watch Usage\n > Press f to run only failed tests.",
        "Watching for file changes...",
        " PASS  Waiting for file changes...\n       press h to show help, press q to quit",
        "[nodemon] 3.1.0\n[nodemon] to restart at any time, enter `rs`",
        "[12:00:00] Found 0 errors. Watching for file changes.",
    ],
)
def test_a_watcher_is_told_by_its_output(output: str) -> None:
    assert "watches for changes" in likely_cause(f"3 passed\n{output}\n")
    assert "--verify" in likely_cause(output)


@pytest.mark.parametrize(
    "output",
    [
        "Server is running at http://localhost:3000",
        "  ➜  Local:   http://localhost:5173/",
        "Listening on port 8080",
    ],
)
def test_a_server_is_told_by_its_output(output: str) -> None:
    assert "it serves" in likely_cause(output)


@pytest.mark.parametrize("output", ["", "collected 3 items\n\ntest_a.py .", "compiling the parser"])
def test_other_output_names_no_cause(output: str) -> None:
    assert likely_cause(output) == ""
