"""The public names of Python modules, as a stub would list them."""

import ast
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.python.public_outline import module_outline


def names_of(source: str) -> str | None:
    lines = module_outline(textwrap.dedent(source))
    return None if lines is None else "\n".join(lines)


def test_functions_show_annotations_and_defaults() -> None:
    source = """
        async def fetch(url: str, /, *rest: int, retries: int = 3, **more: object) -> bytes:
            '''Doc.'''
            return b""
        def plain(a, b=None): pass
        def _private(): pass
    """
    assert names_of(source) == (
        "async def fetch(url: str, /, *rest: int, retries: int=3, **more: object) -> bytes: ...\n"
        "def plain(a, b=None): ..."
    )


def test_classes_show_fields_methods_and_how_they_are_made() -> None:
    source = """
        @dataclass(frozen=True)
        class Point(Base, metaclass=Meta):
            x: int
            y: int = 0
            ORIGIN = None
            _hidden: int = 1
            def __init__(self, x: int) -> None: self.x = x
            def __repr__(self) -> str: return ""
            @property
            def length(self) -> float: return 0.0
            class Inner:
                z: int
        class Empty(Exception):
            '''Nothing but a name.'''
        class _Private: pass
    """
    assert names_of(source) == textwrap.dedent("""\
        @dataclass(frozen=True)
        class Point(Base, metaclass=Meta):
            x: int
            y: int = 0
            ORIGIN = None
            def __init__(self, x: int) -> None: ...
            @property
            def length(self) -> float: ...
            class Inner:
                z: int
        class Empty(Exception): ...""")


def test_constants_show_short_values() -> None:
    source = f"""
        LIMIT: int = 10
        NAMES = ["a", "b"]
        TABLE: dict[str, int] = {dict.fromkeys("abcdefghijkl", 1)}
        bare: str
        _private = 1
        a = b = 2
        TEXT = "{"x" * 100}"
    """
    assert names_of(source) == (
        "LIMIT: int = 10\nNAMES = ['a', 'b']\nTABLE: dict[str, int] = ...\nbare: str\nTEXT = ..."
    )


def test_long_parts_are_cut_short() -> None:
    long = f"Literal[{', '.join(repr(str(i)) for i in range(100))}]"
    source = f"""
        @decorate({long})
        def f(a: {long}, b={list(range(100))}, *, c={list(range(100))}) -> {long}: pass
        class C({long}): pass
    """
    assert names_of(source) == (
        "@decorate(...)\ndef f(a: ..., b=..., *, c=...) -> ...: ...\nclass C(...): ..."
    )


def test_the_modules_own_list_of_names_decides() -> None:
    source = """
        __all__ = ["shown", "_too", "VALUE"]
        def shown(): ...
        def _too(): ...
        def hidden(): ...
        VALUE = 1
        OTHER = 2
    """
    assert names_of(source) == "def shown(): ...\ndef _too(): ...\nVALUE = 1"


def test_names_in_branches_are_found() -> None:
    source = """
        if sys.version_info >= (3, 12):
            def new(): ...
        elif x:
            def middle(): ...
        else:
            def old(): ...
        try:
            from a import b
        except ImportError:
            def fallback(): ...
        else:
            def third(): ...
        def outer():
            def inner(): ...
    """
    names = [line.split("(")[0] for line in (names_of(source) or "").splitlines()]
    assert names == ["def new", "def middle", "def old", "def fallback", "def third", "def outer"]


def test_a_package_shows_what_it_passes_on() -> None:
    source = "import os\nfrom typing import Any\nfrom .a import f, g as h, _p\nfrom . import b\n"
    assert module_outline(source, reexports=True) == ("from .a import f, g as h", "from . import b")
    assert module_outline(source) == ()


@pytest.mark.parametrize(
    "source", ["def (", "x = '\0'", "\ud800", "(" * 10_000, "1" + "+1" * 90_000]
)
def test_what_is_no_python_has_no_module_outline(source: str) -> None:
    assert module_outline(source) is None


def test_an_odd_escape_warns_nobody() -> None:
    assert module_outline("def f(x='\\d'): ...") == ("def f(x='\\\\d'): ...",)


@given(st.text(max_size=60) | st.text(st.sampled_from("def class:(),=\n *@x1[]\"'"), max_size=60))
def test_any_text_is_outlined_or_not(source: str) -> None:
    lines = module_outline(source)
    assert lines is None or all(isinstance(each, str) for each in lines)


def test_the_outline_of_every_module_here_is_python() -> None:
    root = Path(__file__).parents[4]
    for file in sorted(root.glob("planner/*.py")) + sorted(root.glob("shared/**/*.py")):
        lines = module_outline(file.read_text(encoding="utf-8"))
        assert lines is not None
        ast.parse("\n".join(lines))
