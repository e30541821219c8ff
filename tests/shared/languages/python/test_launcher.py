"""A command under the launcher does what it does without it, and shows its own end by a code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from shared.languages.python.second_look import launched_command

END = 77
_SCRIPT = """\
import sys
print(sys.argv, sys.path[0], sys.orig_argv[1:], __file__, __name__, sorted(globals()))
if __name__ == "__main__":
    sys.exit(sys.argv[1:] == ["fails"] and "no")
"""
_RAISES = """\
def f():
    try:
        1 / 0
    except ZeroDivisionError as error:
        raise KeyError("x") from error
"""


def ran(folder: Path, argv: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import sys; print(sys.argv, sys.path[0], sys.orig_argv[1:])", "a"),
        ("-c", "print(sorted(globals()))"),
        ("-c", "import sys; sys.exit(0)"),
        ("-c", "import sys; sys.exit('no')"),
        ("-c", "import sys; sys.exit(3)"),
        ("-c", "from raises import f; f()"),
        ("-c", "x ="),
        ("-c", "print(__spec__, __doc__, __package__)"),
        ("-c", "import os; os.fork() or os._exit(0); print(os.wait()[1])"),
        ("-c", "import os, sys; os.fork() or sys.exit(0); print(os.wait()[1])"),
        ("-c", "raise SystemExit"),
        ("-I", "-c", "import sys; print(sys.flags.isolated, sys.path)"),
        ("-O", "-W", "error", "-c", "assert 0"),
        ("script.py", "a", "-b"),
        ("script.py", "fails"),
        ("missing.py",),
        ("-m", "script", "a"),
        ("-m", "missing"),
    ],
)  # fmt: skip
def test_a_command_is_the_same_under_the_launcher(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "script.py").write_text(_SCRIPT)
    (tmp_path / "raises.py").write_text(_RAISES)
    argv = (sys.executable, *arguments)
    code, out, err = ran(tmp_path, argv)
    under = ran(tmp_path, launched_command((sys.executable, *arguments), END, ()))
    assert under == (code or END, out, err)


@pytest.mark.parametrize(
    "text",
    [
        "python", "python -V", "python -i -c x", "python - x", "python script", "bash x.py",
        "./x.py", "uv run python x.py", "python --help", "python -c", "/repo/bin/pytest",
    ],
)  # fmt: skip
def test_other_commands_are_run_as_they_are(text: str) -> None:
    assert launched_command(text.split(), END, ()) == ()


def test_a_test_has_to_get_to_its_last_statement_and_a_program_has_not() -> None:
    def is_strict(text: str, *tests: str) -> bool:
        return "strict" in launched_command(text.split(), END, tests)

    assert is_strict("python -c x")
    assert is_strict("env A=1 python3.11 tests/check.py")
    assert is_strict("timeout 5 python -m tests.check")
    assert is_strict("pytest -q")
    assert is_strict("python checks/words.py", "checks/words.py")
    assert not is_strict("python checks/words.py")
    assert not is_strict("python -m app")
