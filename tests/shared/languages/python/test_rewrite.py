from __future__ import annotations

import pytest

from shared.languages.python.python_source import check_rewrite

BODY = "\n".join(f"def f{n}(a, b):\n    return a * b + {n}\n" for n in range(10))
CLASS = "class Game:\n    def play(self): return 1\n    def undo(self): return 2\n    _x = 1\n"


def test_a_file_that_cannot_be_read_any_more_loses_all() -> None:
    deep = f"X = {'+'.join(['1'] * 300)}\ndef f(): ...\n"
    (found,) = check_rewrite("a.py", "def f(): ...\ndef g(): ...\n", deep)
    assert "cannot be read any more: it is nested too deep" in found.message
    assert not check_rewrite("a.py", deep, deep)


def lost(before: str, after: str, *changes: str, path: str = "a.py") -> list[str]:
    return [each.name for each in check_rewrite(path, before, after, changes)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): ...", "def f(a, b): ...\ndef g(): ..."),
        ("def f(): ...", "class f: ..."),
        ("def f(): ...", "from .b import f"),
        ("def f(): ...", "from .b import *"),
        ("def f(): ...", "if x:\n    def f(): ...\nelse:\n    f = None"),
        ("def f(): ...", "with x as f: pass"),
        ("def _f(): ...\n_x = 1", "x = 1"),
        ("import os\nfrom a import b", "x = 1"),
        ("__all__ = ['f']\ndef f(): ...\ndef g(): ...", "def f(): ..."),
        (CLASS, CLASS.replace("_x = 1", "y = 1")),
        (CLASS, "class Game(Base):\n    def play(self): ..."),
        ("x = (", "y = 1"),
        ("x = 1", "y = ("),
        ("", "x = 1"),
        ("def f(): ...\nif __name__ == '__main__':\n    args = 1\n    f(args)", "def f(): ..."),
        ("for f in x:\n    print(f)\nwith y as g:\n    pass", "x = 1"),
        ("try:\n    import a\nexcept ImportError:\n    a = None", "import a.b"),
        ("args = 1\nprint(args)", "def main(args): ...\nmain(1)"),
        ("args = 1\nfor each in args:\n    print(each)", "def main(args): ...\nmain(1)"),
    ],
)
def test_a_rewrite_that_keeps_all_public_names(before: str, after: str) -> None:
    assert lost(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("def f(): ...\nclass C: ...\nX = 1", "def g(): ...", ["f", "C", "X"]),
        ("def f(): ...", "_f = 1", ["f"]),
        (CLASS, CLASS.replace("undo", "redo"), ["Game.undo"]),
        (CLASS, "", ["Game"]),
        ("__all__ = ['_f']\ndef _f(): ...", "x = 1", ["_f"]),
        ("for f in x: pass\nf = 1", "x = 1", ["f"]),
        ("if __name__ != '__main__':\n    f = 1", "x = 1", ["f"]),
        ("if y:\n    f = 1\nelse:\n    f = 2", "x = 1", ["f"]),
        ("LIMIT = 1\nargs = 2\nprint(args)", "x = 1", ["LIMIT"]),
        ("debug = 1\n'''Says more.'''", "x = 1", ["debug"]),
        ("def f(): ...\napp = f()\napp.run()", "def f(): ...", ["app"]),
        ("import a\na.setup()\ndebug = 1", "x = 1", ["debug"]),
    ],
)
def test_one_that_loses_some(before: str, after: str, names: list[str]) -> None:
    assert lost(before, after) == names


@pytest.mark.parametrize("changes", [["f", "Game.undo"], ["f()", "Game"], ["a.f", "a.py:Game"]])
def test_a_loss_that_is_declared_is_none(changes: list[str]) -> None:
    assert lost(f"def f(): ...\n{CLASS}", "class Game:\n    def play(self): ...", *changes) == []


def test_what_a_package_passes_on_is_its_own() -> None:
    before = "from .core import run\nimport os"
    assert lost(before, "", path="p/__init__.py") == ["run"]
    assert lost(before, "", path="p/a.py") == []
    tried = "try:\n    from .core import run\nexcept ImportError:\n    run = None"
    assert lost(tried, "", path="p/__init__.py") == ["run"]


def test_tests_may_come_and_go() -> None:
    assert lost("def test_a(): ...", "def test_b(): ...", path="tests/test_a.py") == []


@pytest.mark.parametrize("path", ["a.py", "tests/test_a.py", "README.md"])
def test_no_file_may_shrink_by_more_than_half(path: str) -> None:
    names = [f"f{n}" for n in range(10)]
    short = "\n".join(BODY.splitlines()[:9])
    (found,) = (each for each in check_rewrite(path, BODY, short) if not each.name)
    assert found.message.startswith("shrinks to 3")
    most = "\n".join(BODY.splitlines()[:21]) + "\n" + "\n".join(f"{n} = 1" for n in names[7:])
    assert check_rewrite(path, BODY, most) == ()


def test_what_moves_elsewhere_or_is_given_up_does_not_count() -> None:
    names = [f"f{n}" for n in range(2, 10)]
    short = "\n".join(BODY.splitlines()[:6])
    assert lost(BODY, f"from .other import {', '.join(names)}\n{short}") == []
    assert lost(BODY, short, *names) == []


def test_a_short_file_may_change_as_it_likes() -> None:
    assert lost("# one\n# two\n# three\nx = 1\n", "x = 1\n") == []


@pytest.mark.parametrize("path", ["a.py", "NOTES.md"])
def test_a_file_that_is_named_itself_may_lose_anything(path: str) -> None:
    assert check_rewrite(path, BODY, "x = 1\n") != ()
    assert check_rewrite(path, BODY, "x = 1\n", [path]) == ()


def test_code_that_is_nested_too_deep_is_measured_as_text() -> None:
    deep = f"class A({'+'.join('1' * 900)}):\n    def f(self): ...\n"
    assert check_rewrite("a.py", deep, deep) == ()
