from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.languages.language_tools import CheckerFailed, Diagnostic
from shared.languages.python.type_checker import FileBlocked, TypeChecker

MODULE = "def f(x: int) -> str: ..."


def check(checker: TypeChecker, module: str, code: str) -> list[tuple[str, int, int]]:
    found = checker.check({"a.pyi": module, "c/c.py": code}, ["c/c.py"])
    return [(each.code, each.line, each.column) for each in found]


def processes() -> set[int]:
    """Return the children of this process."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return {int(each) for each in path.read_text().split()}


def test_a_complaint_has_its_place_and_kind(checker: TypeChecker) -> None:
    found = checker.check({"a.pyi": MODULE, "c.py": "from a import f\nf('x')"}, ["c.py"])
    assert found == (
        Diagnostic(
            path="c.py",
            line=2,
            column=2,
            end_line=2,
            end_column=5,
            code="arg-type",
            message='Argument 1 to "f" has incompatible type "str"; expected "int"',
            hint="",
        ),
    )


def test_only_what_is_asked_about_is_told_and_nothing_where_nothing_is_asked(
    checker: TypeChecker,
) -> None:
    files = {"a.py": "x: int = 'wrong'", "c.py": "import a; a.y"}
    assert [each.path for each in checker.check(files, ["c.py"])] == ["c.py"]
    assert checker.check(files, []) == ()


def test_a_file_that_changes_within_a_second_and_keeps_its_size_is_read_again(
    checker: TypeChecker,
) -> None:
    for number in range(3):
        code = f"from a import f; f({number})"
        assert check(checker, "def f(x: int) -> str: ...", code) == []
        assert check(checker, "def f(x: str) -> str: ...", code) == [("arg-type", 1, 19)]


def test_a_file_that_goes_is_gone(checker: TypeChecker) -> None:
    code = "from p.q.a import f"
    assert checker.check({"p/q/a.pyi": MODULE, "c.py": code}, ["c.py"]) == ()
    (found,) = checker.check({"c.py": code}, ["c.py"])
    assert found.code == "import-not-found"
    assert checker.check({"p/q/a.pyi": MODULE, "c.py": f"{code} as g"}, ["c.py"]) == ()


def test_modules_are_found_from_the_roots_that_are_given(checker: TypeChecker) -> None:
    files = {"src/a.pyi": MODULE, "c.py": "from a import f; f('x')"}
    assert [each.code for each in checker.check(files, ["c.py"], ("", "src/"))] == ["arg-type"]
    assert [each.code for each in checker.check(files, ["c.py"])] == ["import-not-found"]
    files["c.py"] += "\n"
    assert [each.code for each in checker.check(files, ["c.py"], ("", "src/"))] == ["arg-type"]


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"a.pyi": "x = ("}, "a.pyi"),
        ({"types.py": ""}, "types.py"),
        ({"a.py": f"x = {'-' * 5000}1"}, "a.py"),
    ],
)
def test_a_file_that_blocks_the_checker_is_named(
    checker: TypeChecker, files: dict[str, str], path: str
) -> None:
    with pytest.raises(FileBlocked) as caught:
        checker.check({**files, "c.py": "import a, types"}, ["c.py"])
    assert caught.value.path == path
    assert caught.value.reason


def test_text_of_any_kind_is_no_crash(checker: TypeChecker) -> None:
    for text in ("\0", "\ud800", "\x0c\r", "é = 'é'\n# type: nothing [", "# mypy: strict\nx = 1"):
        try:
            checker.check({"c.py": text}, ["c.py"])
        except CheckerFailed as failed:
            assert failed.message


@pytest.mark.parametrize(
    "paths", [["a", "a/b.py"], ["a" * 300 + ".py"], ["c.py", "c.py/d.py"]], ids=str
)
def test_files_that_cannot_be_written_are_a_failure(checker: TypeChecker, paths: list[str]) -> None:
    with pytest.raises(CheckerFailed):
        checker.check(dict.fromkeys(paths, ""), [paths[0]])


def test_a_checker_that_is_killed_has_failed_and_starts_again() -> None:
    before = processes()
    with TypeChecker() as checker:
        assert check(checker, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]
        (child,) = processes() - before
        os.kill(child, signal.SIGKILL)
        with pytest.raises(CheckerFailed):
            check(checker, MODULE, "from a import f; f('y')")
        assert not checker.is_running
        assert check(checker, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]
    assert processes() == before


def test_a_question_that_was_answered_is_not_asked_again() -> None:
    before = processes()
    with TypeChecker() as checker:
        found = check(checker, MODULE, "from a import f; f('x')")
        (child,) = processes() - before
        os.kill(child, signal.SIGKILL)
        assert check(checker, MODULE, "from a import f; f('x')") == found
        with pytest.raises(CheckerFailed):
            check(checker, f"{MODULE}\n", "from a import f; f('x')")


def test_code_that_ends_the_process_is_a_failure() -> None:
    with TypeChecker() as checker, pytest.raises(CheckerFailed, match="died"):
        check(checker, "x: int", f"import a; y = {'+'.join(['a.x'] * 100_000)}")


def test_nothing_is_left_behind_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = processes()
    checker = TypeChecker()
    check(checker, MODULE, "import a")
    assert len(list(tmp_path.iterdir())) == 1
    checker.close()
    checker.close()
    assert list(tmp_path.iterdir()) == []
    assert processes() == before


def test_a_checker_that_has_begun_answers_the_first_question_and_not_the_empty_one() -> None:
    before = processes()
    with TypeChecker() as checker:
        checker.begin()
        begun = processes()
        assert len(begun - before) == 1
        assert check(checker, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]
        checker.begin()
        assert processes() == begun


def test_a_checker_that_died_after_it_had_begun_fails_one_question(no_process_left: None) -> None:
    before = processes()
    with TypeChecker() as checker:
        checker.begin()
        (begun,) = processes() - before
        os.kill(begun, signal.SIGKILL)
        with pytest.raises(CheckerFailed):
            check(checker, MODULE, "import a")
        assert check(checker, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]


def test_threads_take_turns_and_closing_ends_a_question_that_one_waits_for() -> None:
    checker = TypeChecker()
    with ThreadPoolExecutor(4) as threads:
        codes = [f"from a import f; f({each!r})" for each in (1, "x", 2, "y")]
        found = list(threads.map(lambda code: check(checker, MODULE, code), codes))
        assert [len(each) for each in found] == [0, 1, 0, 1]
        waiting = threads.submit(check, checker, MODULE, "import decimal, asyncio, email, http")
        checker.close()
        with contextlib.suppress(CheckerFailed):  # the answer may have been there already
            waiting.result()
    assert not checker.is_running
    with pytest.raises(CheckerFailed, match="ended with the run"):
        check(checker, MODULE, "import a")
    checker.begin()
    assert not checker.is_running


@pytest.mark.rest
def test_what_the_standard_library_comes_to_is_kept_and_no_code_in_question(
    own_surroundings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (own_surroundings / ".cache/llmch/types").unlink()  # it leads to what all tests have
    with TypeChecker() as first:
        check(first, "def a_name_in_question(x: int) -> str: ...", "import a")
    (kept,) = (own_surroundings / ".cache/llmch/types").iterdir()
    assert b"a_name_in_question" not in kept.read_bytes()
    whole = kept.read_bytes()
    with TypeChecker() as second:
        second.begin()
        assert list(tmp_path.glob("*/cache*/*"))
        assert check(second, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]
    assert kept.read_bytes() == whole
    kept.write_bytes(b"00\ndamaged")
    with TypeChecker() as third:
        assert check(third, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]
    assert len(kept.read_bytes()) > 100_000


@pytest.mark.rest
def test_without_a_place_to_keep_it_everything_is_read_anew(own_surroundings: Path) -> None:
    (own_surroundings / ".cache/llmch/types").unlink()
    (own_surroundings / ".cache/llmch/types").write_text("a file is in the way\n")
    with TypeChecker() as checker:
        assert check(checker, MODULE, "from a import f; f('x')") == [("arg-type", 1, 19)]
