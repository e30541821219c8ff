"""What a model is told of a command's output is the same wherever the same thing happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.judging.failure_brief import cut, select_lines, stable_excerpt
from factory.sandbox.visible_files import python_paths

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


def test_an_output_is_cut_at_line_ends() -> None:
    lines = [f"line {number} of many" for number in range(500)]
    kept = cut("\n".join(lines)).split("\n")
    assert {*kept} <= {*lines, "[... cut ...]"}
    assert (kept[0], kept[-1]) == (lines[0], lines[-1])
    assert kept.count("[... cut ...]") == 1


@given(
    st.lists(st.text(st.characters(exclude_characters="\n"), max_size=80), min_size=1),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))),
    st.integers(60, 800),
)
def test_selected_lines_are_whole_lines_within_the_limit(
    lines: list[str], places: list[tuple[int, int]], limit: int
) -> None:
    marked = [range(first, first + size) for first, size in places]
    text = "\n".join(lines)
    selected = select_lines(text, marked, limit)
    assert len(selected) <= limit
    if len(text) <= limit:
        assert selected == text
    elif any(number < len(lines) for each in marked for number in each):
        rest = iter(lines)
        kept = [line for line in selected.split("\n") if line != "[... cut ...]"]
        assert all(line in rest for line in kept), "in the order of the output"


def test_marked_lines_go_before_all_others() -> None:
    lines = [f"line {number} of many" for number in range(500)]
    selected = select_lines("\n".join(lines), [range(250, 253), range(100, 101)], 120)
    assert selected.split("\n") == [
        "[... cut ...]",
        lines[100],
        "[... cut ...]",
        *lines[250:253],
        "[... cut ...]",
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("\x1b[91merror\x1b[0m", "error"),
        ("--- FAIL: TestAdd (0.01s)", "--- FAIL: TestAdd (...s)"),
        ("FAIL\texample.org/m\t0.009s", "FAIL\texample.org/m\t...s"),
        ("duration_ms: 3.49", "duration_ms: ..."),
        ("# duration_ms 180.42", "# duration_ms ..."),
        (
            "thread 'a::b' (1857) panicked at src/lib.rs:1:2:",
            "thread 'a::b' panicked at src/lib.rs:1:2:",
        ),
        ("target/debug/deps/p-c93b59a92189d5d2", "target/debug/deps/p-..."),
    ],
)
def test_what_other_tools_print_anew_in_each_run_is_taken_out(said: str, told: str) -> None:
    assert stable_excerpt(said) == told


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
