from __future__ import annotations

import ast

import pytest

from shared.languages.python.signatures import undefined_names


def undefined(stub: str, *known: str) -> list[tuple[str, int]]:
    return [*undefined_names(ast.parse(stub).body, frozenset(known))]


@pytest.mark.parametrize(
    "stub",
    [
        "from a import B\ndef f(b: B) -> 'B | None': ...",
        "import a.b\ndef f(b: a.b.C) -> None: ...",
        "def f(c: C) -> None: ...\nclass C: ...",
        "class C:\n    Inner = int\n    def f(self, x: Inner) -> C: ...",
        "from typing import Literal\ndef f(mode: Literal['read', 'write']) -> None: ...",
        "from typing import Annotated\nx: Annotated[int, 'metres', Gt(0)]",
        "T = TypeVar('T', bound='Later')\nclass Later: ...\ndef f(x: T) -> T: ...",
        "from a import *\ndef f(x: Anything) -> None: ...",
        "def f(x: int = UNKNOWN) -> str:\n    return helper(x)",
        "import sys\nif sys.version_info >= (3, 12):\n    from a import B\nx: B",
        "try:\n    from a import B\nexcept ImportError:\n    B = None\nx: B",
    ],
)
def test_what_the_stub_imports_or_defines_is_known(stub: str) -> None:
    assert undefined(stub) == []


@pytest.mark.parametrize(
    ("stub", "name", "line"),
    [
        ("def f(x: Maze) -> None: ...", "Maze", 1),
        ("x: int\ndef f() -> Optional[int]: ...", "Optional", 2),
        ("def f(x: 'list[Maze]') -> None: ...", "Maze", 1),
        ("class C(Base): ...", "Base", 1),
        ("\n@dataclass\nclass C: ...", "dataclass", 2),
        ("class C:\n    x: Cell", "Cell", 2),
        ("class C:\n    def m(self, *a: Cell, **k: Cell) -> None: ...", "Cell", 2),
        ("def f(x: np.ndarray) -> None: ...", "np", 1),
        ("if True:\n    def f(x: Maze) -> None: ...", "Maze", 2),
    ],
)
def test_what_it_does_not_is_told_with_its_line(stub: str, name: str, line: int) -> None:
    assert undefined(stub) == [(name, line)]


def test_a_name_is_told_once_and_what_the_file_has_already_is_known() -> None:
    stub = "def f(a: Maze, b: Maze) -> Maze: ..."
    assert undefined(stub) == [("Maze", 1)]
    assert undefined(stub, "Maze") == []
