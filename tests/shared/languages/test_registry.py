from __future__ import annotations

import pytest

from shared.languages.python.python_language import PYTHON, PythonConformance
from shared.languages.registry import LANGUAGES, language_of
from shared.work_order.work_order import Interface


def test_a_file_belongs_to_the_language_of_its_suffix() -> None:
    assert language_of("pkg/mod.py") is PYTHON
    assert language_of("pkg/mod.pyi") is PYTHON


@pytest.mark.parametrize("path", ["README.md", "py", ".py", "pkg/py", "a.pyc", "a.py.txt", ""])
def test_any_other_file_belongs_to_none(path: str) -> None:
    assert language_of(path) is None


def test_no_suffix_belongs_to_two_languages() -> None:
    suffixes = [suffix for each in LANGUAGES for suffix in each.suffixes]
    assert len(suffixes) == len(set(suffixes))


def test_a_language_opens_a_checker_that_starts_nothing_by_itself() -> None:
    assert not PythonConformance().open_checker().is_running


def test_a_language_builds_code_that_keeps_an_interface_and_does_nothing() -> None:
    stub = Interface(path="calc.py", stub="def add(a: int, b: int) -> int: ...\n")
    (source,) = PythonConformance().build_skeleton([stub], {}).values()
    names: dict[str, object] = {}
    exec(compile(source, "calc.py", "exec"), names)
    add = names["add"]
    assert callable(add)
    assert add(2, 3) == 0
