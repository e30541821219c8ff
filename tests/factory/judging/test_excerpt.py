"""What a model is told of a command's output is the same wherever the same thing happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.judging.excerpt import cut, stable_excerpt
from factory.sandbox.visible.interpreter import python_paths

TRACEBACK = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
    import app; app.main()
                ~~~~~~~~^^
  File "/w/repo/src/app.py", line 3, in main
    return 1 / 0
           ~~^~~
ZeroDivisionError: division by zero
"""


def test_a_traceback_is_told_as_every_python_would() -> None:
    assert (
        stable_excerpt(TRACEBACK, [("/w/repo/", "")])
        == """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "src/app.py", line 3, in main
    return 1 / 0
ZeroDivisionError: division by zero"""
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("1 failed, 2 passed in 0.53s", "1 failed, 2 passed in ...s"),
        ("<function f at 0x7f3a5c1e>", "<function f at 0x...>"),
        ("colour 0xff", "colour 0xff"),
        ("arrived in 3 steps", "arrived in 3 steps"),
        ("\n\n  text  \n\n", "text"),
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("", ""),
    ],
)
def test_what_differs_from_run_to_run_is_taken_out(said: str, told: str) -> None:
    assert stable_excerpt(said) == told


def test_the_longest_path_is_named_first() -> None:
    paths = {"/w/repo": ".", "/w/repo/": "", "/w/repo.private": "<private>"}
    said = "/w/repo/a /w/repo.private/b /w/repo"
    assert stable_excerpt(said, paths.items()) == "a <private>/b ."


def test_the_end_gets_three_quarters_of_what_is_cut() -> None:
    short = cut("a" * 5000 + "b" * 5000)
    assert len(short) == 2000
    assert short.count("a") == (2000 - 15) // 4
    assert short.count("b") == 2000 - 15 - short.count("a")
    assert "\n[... cut ...]\n" in short


def test_places_of_the_interpreter_are_named_but_no_common_prefix(tmp_path: Path) -> None:
    real = tmp_path / "pythons/3.11/bin/python3.11"
    real.parent.mkdir(parents=True)
    real.touch()
    link = tmp_path / "venv/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    names = python_paths(link)
    said = f"{link} {tmp_path}/pythons/3.11/lib/python3.11/json {tmp_path}/venv/bin/pytest"
    assert (
        stable_excerpt(said, names.items())
        == "python <python>/lib/python3.11/json <python>/bin/pytest"
    )


@pytest.mark.parametrize("python", ["/bin/python3", "/usr/bin/python3", "/usr/local/bin/python3"])
def test_an_interpreter_of_the_system_names_nothing_else(python: str) -> None:
    names = python_paths(Path(python))
    said = "/etc/hosts /usr/bin/env /usr/local/share/x"
    assert stable_excerpt(said, names.items()) == said
