from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.acceptance_commands import analyse_command
from shared.languages.python.python_commands import pytest_paths, skips_none
from shared.languages.read_commands import CodeRun, ModuleRun, ProgramRun, ScriptRun, ShellCodeRun

WORDS = st.lists(
    st.sampled_from(
        ["python", "python3.12", "env", "bash", "sh", "pytest", "x.py", "'a b'", "a::b"]
    )
    | st.sampled_from(["-c", "-m", "-Ic", "-W", "-X", "--", "-", "-u", "-e", "-o", "+x", "-k"])
    | st.sampled_from(["A=b", "''", "|", "'", "\0"]),
    max_size=7,
)


@given(WORDS.map(" ".join) | st.text(max_size=30))
def test_any_text_is_read_as_a_command_or_has_a_problem(text: str) -> None:
    command = analyse_command(text)
    assert bool(command.problem) is not bool(command.argv)
    pytest_paths(command)


@pytest.mark.parametrize(
    ("text", "source", "flags"),
    [
        ("python -c 'a = 1' x y", "a = 1", ()),
        ("python3 -c'a = 1'", "a = 1", ()),
        ("/usr/bin/python3.12 -I -Bc 'a = 1'", "a = 1", ("-I", "-B")),
        ("python3.13t -OO -W error -Xdev -c 'a'", "a", ("-O", "-O", "-Werror", "-Xdev")),
        (
            "python --check-hash-based-pycs never -c 'a'",
            "a",
            ("--check-hash-based-pycs",),
        ),
        ("env A=b C= -u D python -c 'a'", "a", ()),
    ],
)
def test_the_code_of_any_interpreter_is_found_behind_its_flags(
    text: str, source: str, flags: tuple[str, ...]
) -> None:
    run = analyse_command(text).run
    assert isinstance(run, CodeRun)
    assert (run.code.source, run.flags, run.quoted) == (source, flags, True)


def test_what_env_sets_is_told_and_the_program_behind_it_named() -> None:
    command = analyse_command("/usr/bin/env -i A=b 'B=c d' bin/python x.py")
    assert command.program == "python"
    assert command.environment == (("A", "b"), ("B", "c d"))
    assert command.run == ScriptRun("x.py", (), ())


@pytest.mark.parametrize(
    "text", ["env", "env A=b", "env -C dir python -c a", "env -S 'python -c a'"]
)
def test_an_env_that_is_not_followed_is_itself_the_program(text: str) -> None:
    command = analyse_command(text)
    assert command.program == "env"
    assert isinstance(command.run, ProgramRun)


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("python -m pytest -q", ModuleRun("pytest", (), ("-q",))),
        ("python -Bmjson.tool x", ModuleRun("json.tool", ("-B",), ("x",))),
        ("python x.py -c a", ScriptRun("x.py", (), ("-c", "a"))),
        ("python -- -x.py", ScriptRun("-x.py", (), ())),
        ("python -u x.py", ScriptRun("x.py", ("-u",), ())),
        ("python -V", ProgramRun(("-V",))),
        ("python - x", ProgramRun(())),
        ("bash -eu -o pipefail x.sh a", ScriptRun("x.sh", ("-eu", "-o", "pipefail"), ("a",))),
        ("sh -c 'a; b' c", ShellCodeRun("a; b")),
        ("bash -lc 'a; b'", ShellCodeRun("a; b")),
        ("bash", ProgramRun(())),
        ("./x.sh a", ScriptRun("./x.sh", (), ("a",))),
        ("bin/x", ScriptRun("bin/x", (), ())),
        ("/bin/ls -l", ProgramRun(("-l",))),
        ("grep -c a b", ProgramRun(("-c", "a", "b"))),
        ("python2 -c 'print 1'", ProgramRun(("-c", "print 1"))),
        ("pythonic -c x", ProgramRun(("-c", "x"))),
    ],
)
def test_what_a_command_runs_is_told_by_kind(text: str, run: object) -> None:
    assert analyse_command(text).run == run


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("pytest", ()),
        ("pytest -q tests/test_a.py tests", ("tests/test_a.py", "tests")),
        ("python -m pytest -q tests/test_a.py::TestA::test_b[x-1]", ("tests/test_a.py",)),
        ("pytest -k 'a or b' -m slow -p no:cacheprovider --maxfail 1 tests", ("tests",)),
        ("pytest --tb=short -x tests", ("tests",)),
        ("python -m unittest tests", ()),
        ("grep pytest tests", ()),
    ],
)
def test_the_paths_a_pytest_command_names_are_found(text: str, paths: tuple[str, ...]) -> None:
    assert pytest_paths(analyse_command(text)) == paths


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a 'b", "unbalanced quote"),
        ("a\\", "escapes nothing"),
        ("'' a", "no program"),
        ("python -c", "without code"),
        ("python -c ''", "without code"),
        ("bash -c", "without code"),
        ("python -m", "without its value"),
        ("python -W", "without its value"),
        ("cat a\0", "NUL"),
        ("python -c 'a' b\0", "NUL"),
        ("cat " + "a" * 200_000, "over 131071 bytes"),
    ],
)
def test_a_command_that_cannot_be_started_says_why(text: str, words: str) -> None:
    command = analyse_command(text)
    assert command.problem is not None
    assert words in command.problem
    assert command.argv == ()


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("pytest -q tests/test_a.py", "def test_skips_blanks(): ...  # skips", True),
        ("pytest -q tests/test_a.py", "@pytest.mark.parametrize('n', [1])\n", True),
        ("pytest -q tests/test_a.py", "class T(unittest.TestCase): ...\nclass U: ...", True),
        ("pytest -q tests/test_a.py", "from tests.base import DbCase", False),
        ("pytest -q tests/test_a.py", "class T(DbCase): ...", False),
        ("pytest -q tests/test_a.py", "async def test_a(): ...", False),
        ("pytest -q tests/test_a.py", "@pytest.mark.slow\n", False),
        ("pytest -q tests/test_a.py", "class T:\n    @requires_docker\n", False),
        ("pytest -q tests/test_a.py", "@td.skip_if_no('scipy')\n", False),
        ("pytest -q tests/test_a.py tests/test_b.py", "", False),
        ("pytest", "", False),
        ("pytest tests", "", False),
        ("pytest tests/test_a.py", "@pytest.mark.skipif(x)", False),
        ("pytest tests/test_a.py", "unittest.SkipTest", False),
        ("python -m unittest tests.test_a.T.test_one", "", True),
        ("python -m unittest tests/test_a.py", "", True),
        ("python -m unittest tests.test_a tests.test_b", "", False),
        ("python -m unittest discover -s tests", "", False),
        ("python tests/test_a.py", "", False),
    ],
)
def test_a_command_skips_none_where_it_runs_only_files_that_skip_none(
    command: str, text: str, expected: bool
) -> None:
    found = [
        skips_none(analyse_command(command), {"tests/test_a.py": text}, {"conftest.py": loaded})
        for loaded in ("import pytest", "pytest.skip('without a database')")
    ]
    assert found == [expected, False]
