import subprocess
import sys

import pytest

GOOD = "people Ada Bob\npaid Ada 10 for tea\n"
BAD = "people Ada Bob\ngave Ada 1\npaid Bob 0 for tea\n"


def run(*words, given=""):
    command = [sys.executable, "-m", "tally", *words]
    ended = subprocess.run(command, input=given, capture_output=True, text=True)
    return ended.returncode, ended.stdout, ended.stderr


# R-e3ef3b R-6787c3 R-7075ee R-8197a6
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("balance", "Ada: 5.00\nBob: -5.00\n"),
        ("settle", "Bob pays Ada 5.00\n"),
        ("summary", "entries: 1\nspent: 10.00\nAda paid 10.00\n"),
        ("check", "ok\n"),
    ],
)
def test_command(tmp_path, command, printed):
    (tmp_path / "journal").write_text(GOOD)
    assert run(command, str(tmp_path / "journal")) == (0, printed, "")
    assert run(command, "-", given=GOOD) == (0, printed, "")


# R-3db006 R-94803d
@pytest.mark.parametrize("command", ["balance", "settle", "summary", "check"])
def test_errors(command):
    code, printed, errors = run(command, "-", given=BAD)
    assert (code, printed) == (1, "")
    assert [each.split(":")[0] for each in errors.splitlines()] == ["line 2", "line 3"]


# R-2306d1
def test_unreadable(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path in (tmp_path, tmp_path / "none", tmp_path / "bytes"):
        assert run("check", str(path)) == (2, "", f"cannot read {path}\n")


# R-517beb
@pytest.mark.parametrize("words", [[], ["check"], ["gather", "-"], ["check", "-", "-"]])
def test_usage(words):
    code, printed, errors = run(*words)
    assert (code, printed) == (2, "")
    assert errors.startswith("usage: python -m tally")
